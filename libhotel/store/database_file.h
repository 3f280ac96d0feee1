// The database file before SQLite sees it: where it lives and who may read it.
#ifndef HOTEL_STORE_DATABASE_FILE_H_
#define HOTEL_STORE_DATABASE_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace hotel::store {

/// The path of a database without a file.
inline constexpr std::string_view kMemoryPath = ":memory:";

/// Creates the file with mode 0600 when it is missing, and its missing directories with mode 0700.
/// What exists keeps its mode. SQLite gives the -wal and -shm files the mode of the database.
/// InvalidArgument for an empty path, Unavailable when the system refuses.
absl::Status EnsureDatabaseFile(const std::string& path);

}  // namespace hotel::store

#endif  // HOTEL_STORE_DATABASE_FILE_H_
