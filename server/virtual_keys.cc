#include "server/virtual_keys.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "libhotel/base/strings.h"

namespace hotel::server {
namespace {

/// The value of a field that occurs exactly once.
std::optional<std::string_view> Single(const HeaderList& headers, std::string_view name,
                                       bool* repeated) {
  std::optional<std::string_view> found;
  for (const auto& header : headers) {
    if (!base::EqualsIgnoreCase(header.name, name)) continue;
    *repeated = found.has_value();
    found = header.value;
  }
  return found;
}

}  // namespace

VirtualKeys::VirtualKeys(const std::vector<settings::VirtualKeySpec>& keys) {
  entries_.reserve(keys.size());
  for (const auto& key : keys) entries_.push_back({Sha256(key.key.Reveal()), key.name});
}

VirtualKeys::Digest VirtualKeys::Sha256(std::string_view text) {
  Digest digest{};
  EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  return digest;
}

std::optional<std::string> VirtualKeys::Find(std::string_view key) const {
  const Digest digest = Sha256(key);
  const Entry* match = nullptr;
  for (const auto& entry : entries_) {
    const bool same = CRYPTO_memcmp(digest.data(), entry.digest.data(), digest.size()) == 0;
    match = same ? &entry : match;
  }
  if (match == nullptr || key.empty()) return std::nullopt;
  return match->name;
}

std::string_view PresentedKey(const HeaderList& headers) {
  bool repeated = false;
  if (const auto authorization = Single(headers, "authorization", &repeated)) {
    constexpr std::string_view kScheme = "bearer ";
    if (repeated || !base::EqualsIgnoreCase(authorization->substr(0, kScheme.size()), kScheme)) {
      return {};
    }
    return base::Trim(authorization->substr(kScheme.size()));
  }
  const auto key = Single(headers, "x-api-key", &repeated);
  return key && !repeated ? *key : std::string_view();
}

}  // namespace hotel::server
