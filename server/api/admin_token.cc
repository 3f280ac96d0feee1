#include "server/api/admin_token.h"

#include <utility>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "absl/status/status.h"
#include "libhotel/base/strings.h"
#include "server/data_dir.h"

namespace hotel::server::api {
AdminToken::AdminToken(std::string_view token) {
  EVP_Digest(token.data(), token.size(), digest_.data(), nullptr, EVP_sha256(), nullptr);
}

std::optional<AdminToken> AdminToken::FromHex(std::string_view hex) {
  AdminToken token;
  if (hex.size() != 2 * token.digest_.size()) return std::nullopt;
  for (std::size_t i = 0; i < token.digest_.size(); ++i) {
    const int high = base::HexDigit(hex[2 * i]);
    const int low = base::HexDigit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    token.digest_[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return token;
}

std::string AdminToken::Hex() const {
  std::string text;
  for (const unsigned char byte : digest_) text += fmt::format("{:02x}", byte);
  return text;
}

bool AdminToken::Matches(std::string_view token) const {
  const AdminToken presented(token);
  const bool same = CRYPTO_memcmp(presented.digest_.data(), digest_.data(), digest_.size()) == 0;
  return same && !token.empty();
}

absl::StatusOr<LoadedToken> LoadAdminToken(const std::string& dir, const std::string& from_env) {
  if (!from_env.empty()) return LoadedToken{AdminToken(from_env), Secret()};
  const std::string file = dir + "/admin-token";
  auto text = ReadPrivateFile(file);
  if (!text.ok()) return text.status();
  if (text->has_value()) {
    if (const auto token = AdminToken::FromHex(base::Trim(**text))) {
      return LoadedToken{*token, Secret()};
    }
    return absl::FailedPreconditionError(
        fmt::format("{} holds no digest of a token; delete it to have a new token made", file));
  }
  auto made = MakeSecret();
  if (!made.ok()) return made.status();
  const AdminToken token(made->Reveal());
  if (absl::Status written = WritePrivateFile(file, token.Hex() + "\n"); !written.ok()) {
    return absl::Status(written.code(),
                        fmt::format("{}; set ADMIN_TOKEN in the environment instead",
                                    std::string(written.message())));
  }
  return LoadedToken{token, *std::move(made)};
}

}  // namespace hotel::server::api
