#include "libhotel/store/key_secret.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "absl/status/status.h"
#include "libhotel/base/strings.h"

namespace hotel::store {
namespace {

constexpr std::string_view kPrefix = "sk-";
constexpr std::size_t kRandomBytes = 16;
/// Below it, seven characters would be too much of the key.
constexpr std::size_t kShort = 16;
constexpr std::size_t kHead = 3;
constexpr std::size_t kTail = 4;

template <typename Bytes>
std::string Hex(const Bytes& bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

absl::StatusOr<Secret> NewKeySecret() {
  std::array<unsigned char, kRandomBytes> random{};
  if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1) {
    return absl::UnavailableError("the system's random source failed");
  }
  Secret secret(std::string(kPrefix) + Hex(random));
  OPENSSL_cleanse(random.data(), random.size());
  return secret;
}

std::string DigestText(const KeyDigest& digest) { return Hex(digest); }

std::optional<KeyDigest> ParseDigest(std::string_view text) {
  KeyDigest digest{};
  if (text.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const int byte = base::HexNumber(text.substr(2 * i, 2));
    if (byte < 0) return std::nullopt;
    digest[i] = static_cast<unsigned char>(byte);
  }
  return digest;
}

std::string KeyPreview(std::string_view key) {
  const bool plain =
      std::all_of(key.begin(), key.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (key.size() < kShort || !plain) return "...";
  return fmt::format("{}...{}", key.substr(0, kHead), key.substr(key.size() - kTail));
}

}  // namespace hotel::store
