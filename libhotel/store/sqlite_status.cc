#include "libhotel/store/sqlite_status.h"

#include <string_view>

#include <fmt/core.h>
#include <sqlite3.h>

#include "absl/status/status.h"

namespace hotel::store {

absl::Status SqliteStatus(int code, std::string_view detail, std::string_view path) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(fmt::format(
          "the database {} is locked by another program: try again, or stop that program", path));
    case SQLITE_FULL:
      return absl::UnavailableError(fmt::format(
          "the disk that holds the database {} is full: free space, then try again", path));
    case SQLITE_IOERR:
      return absl::UnavailableError(fmt::format(
          "reading or writing the database {} failed ({}): check the disk, then try again", path,
          detail));
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return absl::UnavailableError(
          fmt::format("the database {} cannot be opened for writing ({}): check the owner and the "
                      "permissions of "
                      "the file and its directory",
                      path, detail));
    case SQLITE_NOMEM:
      return absl::UnavailableError(fmt::format("no memory left to work on the database {}", path));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(
          fmt::format("{} is damaged or no SQLite database ({}): move it away or restore a backup",
                      path, detail));
    default:
      return absl::InternalError(fmt::format("database {}: {} (code {})", path, detail, code));
  }
}

}  // namespace hotel::store
