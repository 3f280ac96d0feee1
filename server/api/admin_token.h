// The secret that opens the admin API.
#ifndef SERVER_API_ADMIN_TOKEN_H_
#define SERVER_API_ADMIN_TOKEN_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "hotel/types.h"

#include "absl/status/statusor.h"

namespace hotel::server::api {

/// Holds a digest of the token, never the token. Immutable, so thread-safe.
class AdminToken {
 public:
  explicit AdminToken(std::string_view token);
  /// Of the digest in hexadecimal digits; nullopt when it is none.
  static std::optional<AdminToken> FromHex(std::string_view hex);

  std::string Hex() const;
  /// Takes the same time for every token of one length, right or wrong. "" is never right.
  bool Matches(std::string_view token) const;

 private:
  using Digest = std::array<unsigned char, 32>;
  AdminToken() = default;
  Digest digest_{};
};

struct LoadedToken {
  AdminToken token;
  /// The token itself when it was made just now: to be shown, once.
  Secret created;
};

/// `from_env` when it is not empty; otherwise the one whose SHA-256 digest the file `admin-token`
/// in `dir` holds, which is made (mode 0600) when it is missing. The directory's lock must be held.
absl::StatusOr<LoadedToken> LoadAdminToken(const std::string& dir, const std::string& from_env);

}  // namespace hotel::server::api

#endif  // SERVER_API_ADMIN_TOKEN_H_
