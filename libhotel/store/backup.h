// Copies of a database: taken while it is in use, checked, and put in its place.
#ifndef HOTEL_STORE_BACKUP_H_
#define HOTEL_STORE_BACKUP_H_

#include <cstdint>
#include <string>

#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hotel::store {

/// What a database file is.
struct DatabaseFacts {
  int version = 0;  ///< of the schema
  int newest = 0;   ///< the version this program brings it to
  std::int64_t bytes = 0;
};

/// Reads the file from end to end. InvalidArgument when there is no such file, DataLoss when it is
/// damaged, FailedPrecondition when it belongs to another program or to a later version of this
/// one. The file is not changed.
absl::StatusOr<DatabaseFacts> CheckDatabase(const std::string& path);

/// Whether the database at `path` can be read now: for the health check of whoever has it open.
/// Unavailable, or DataLoss for a damaged one.
absl::Status ProbeDatabase(const std::string& path, Duration busy_timeout);

struct BackupOptions {
  /// Without the rows of finished requests; their sums and all else are there.
  bool without_logs = false;
  Duration busy_timeout{};
};

/// Copies the database at `from`, as it is at one instant, to the new file `to` (mode 0600), which
/// needs nothing beside it. Others may write to `from` meanwhile. The copy is checked; it appears
/// under its name whole or not at all. AlreadyExists when there is a file `to`, otherwise as
/// CheckDatabase of `from`, and Unavailable when the disk refuses.
absl::StatusOr<DatabaseFacts> BackUpDatabase(const std::string& from, const std::string& to,
                                             const BackupOptions& options);

/// Puts a copy of the database `from` in the place of `to`, in one step. What was there is kept
/// beside it under the name `kept`; "" in the result when nothing was. Nobody may have `to` open.
/// Errors as CheckDatabase of `from`, and Unavailable when the disk refuses; then `to` is as it
/// was.
absl::StatusOr<std::string> RestoreDatabase(const std::string& from, const std::string& to,
                                            const std::string& kept);

}  // namespace hotel::store

#endif  // HOTEL_STORE_BACKUP_H_
