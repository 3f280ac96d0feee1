// SQLite result codes as statuses a caller can act on.
#ifndef HOTEL_STORE_SQLITE_STATUS_H_
#define HOTEL_STORE_SQLITE_STATUS_H_

#include <string_view>

#include "absl/status/status.h"

namespace hotel::store {

/// The status for a failed call. `code` is a (possibly extended) result code other than OK, ROW and
/// DONE, `detail` SQLite's own text, `path` the database file. Unavailable where trying again later
/// can help (locked, full, read-only, I/O error), DataLoss for a damaged file; the message says
/// what to do. Values bound to a statement never occur in it.
absl::Status SqliteStatus(int code, std::string_view detail, std::string_view path);

}  // namespace hotel::store

#endif  // HOTEL_STORE_SQLITE_STATUS_H_
