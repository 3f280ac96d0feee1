#include "libhotel/base/key_digest.h"

#include <openssl/evp.h>

namespace hotel::base {

KeyDigest KeyDigestOf(std::string_view key) {
  KeyDigest digest{};
  EVP_Digest(key.data(), key.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  return digest;
}

}  // namespace hotel::base
