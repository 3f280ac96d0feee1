#include "libhotel/store/database_file.h"

#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/status/status.h"

namespace hotel::store {
namespace {

absl::Status SystemError(const char* what, const std::string& path, int error) {
  return absl::UnavailableError(
      fmt::format("cannot create {} {}: {}", what, path, std::generic_category().message(error)));
}

absl::Status EnsureDirectories(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string directory = path.substr(0, slash);
    if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
      const int error = errno;
      struct stat info;
      // A read-only or foreign parent may refuse even for a directory that is already there.
      if (stat(directory.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) continue;
      return SystemError("the directory", directory, error);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status EnsureDatabaseFile(const std::string& path) {
  if (path.empty()) return absl::InvalidArgumentError("the database has no path");
  absl::Status directories = EnsureDirectories(path);
  if (!directories.ok()) return directories;
  // O_EXCL: an existing database is never opened and closed here, which would drop the locks that
  // this process holds on it through another connection.
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file >= 0) {
    close(file);
    return absl::OkStatus();
  }
  return errno == EEXIST ? absl::OkStatus() : SystemError("the database", path, errno);
}

}  // namespace hotel::store
