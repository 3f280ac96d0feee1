// The directory that holds a sidecar's state.
#ifndef SERVER_DATA_DIR_H_
#define SERVER_DATA_DIR_H_

#include <optional>
#include <string>
#include <string_view>

#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/socket.h"

namespace hotel::server {

/// Creates the directory (mode 0700) if it is missing and takes its lock, `hotel.lock`, for as long
/// as the result lives. FailedPrecondition when another process holds it.
absl::StatusOr<Fd> LockDataDir(const std::string& dir);

/// What a run leaves in its lock file while it serves requests: it is still there after a run that
/// did not come to its end. `lock` is what LockDataDir gave.
bool HasRunMark(const Fd& lock);
/// A mark that cannot be written is left out: it only serves to tell.
void SetRunMark(const Fd& lock);
void ClearRunMark(const Fd& lock);

/// The first 4 KiB of a file that nobody else may read; nullopt when there is none.
/// FailedPrecondition when others can read it.
absl::StatusOr<std::optional<std::string>> ReadPrivateFile(const std::string& file);

/// Writes it whole or not at all, with mode 0600: a crash must not leave half a secret.
absl::Status WritePrivateFile(const std::string& file, std::string_view text);

/// 32 random bytes in hexadecimal digits.
absl::StatusOr<Secret> MakeSecret();

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
