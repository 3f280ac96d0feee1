// The directory that holds a sidecar's state.
#ifndef SERVER_DATA_DIR_H_
#define SERVER_DATA_DIR_H_

#include <string>

#include "hotel/types.h"

#include "absl/status/statusor.h"
#include "server/socket.h"

namespace hotel::server {

/// Creates the directory (mode 0700) if it is missing and takes its lock, `hotel.lock`, for as long
/// as the result lives. FailedPrecondition when another process holds it.
absl::StatusOr<Fd> LockDataDir(const std::string& dir);

/// The secret behind the encryption of provider keys.
struct MasterKey {
  Secret key;
  std::string file;  ///< where it is kept; empty = it came from the environment
  bool created = false;
};
/// `from_env` when it is not empty; otherwise what the file `master-key` in `dir` holds, which is
/// made (32 random bytes as hex, mode 0600) when it is missing. The lock must be held.
absl::StatusOr<MasterKey> LoadMasterKey(const std::string& dir, std::string from_env);

}  // namespace hotel::server

#endif  // SERVER_DATA_DIR_H_
