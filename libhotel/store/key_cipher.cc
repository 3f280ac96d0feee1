#include "libhotel/store/key_cipher.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <argon2.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/mutex.h"

namespace hotel::store {
namespace {

constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kTagBytes = 16;

struct Derivation {
  std::uint32_t passes;
  std::uint32_t memory_kib;
};

constexpr Derivation DerivationOf(KeyFormat format) {
  return format == KeyFormat::kTransient ? Derivation{1, 8} : Derivation{3, 64 * 1024};
}

/// 256 bits of key that are wiped when they go.
struct DerivedKey {
  std::array<unsigned char, 32> bytes{};
  DerivedKey() = default;
  DerivedKey(const DerivedKey&) = delete;
  DerivedKey& operator=(const DerivedKey&) = delete;
  ~DerivedKey() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
};

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* Bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

bool FillRandom(std::string& bytes, std::size_t size) {
  bytes.resize(size);
  return RAND_bytes(Bytes(bytes), static_cast<int>(size)) == 1;
}

absl::Status Derive(const Secret& master_key, const std::string& salt, KeyFormat format,
                    DerivedKey& out) {
  const Derivation derivation = DerivationOf(format);
  const std::string_view password = master_key.Reveal();
  const int code = argon2id_hash_raw(derivation.passes, derivation.memory_kib, 1, password.data(),
                                     password.size(), salt.data(), salt.size(), out.bytes.data(),
                                     out.bytes.size());
  if (code == ARGON2_OK) return absl::OkStatus();
  return absl::UnavailableError(std::string("deriving the encryption key failed: ") +
                                argon2_error_message(code));
}

/// The key of one provider: HKDF-Expand of one block (RFC 5869, 2.3).
absl::Status Expand(const DerivedKey& root, std::string_view provider_id, DerivedKey& out) {
  std::string info = "libhotel provider key ";
  info.append(provider_id);
  info.push_back(1);
  unsigned int size = 0;
  const bool done =
      HMAC(EVP_sha256(), root.bytes.data(), static_cast<int>(root.bytes.size()),
           Bytes(std::string_view(info)), info.size(), out.bytes.data(), &size) != nullptr &&
      size == out.bytes.size();
  return done ? absl::OkStatus() : absl::InternalError("deriving the encryption key failed");
}

/// The bytes that are authenticated but not encrypted.
std::string AssociatedData(KeyFormat format, std::string_view provider_id) {
  std::string data(1, static_cast<char>(format));
  data.append(provider_id);
  return data;
}

using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

absl::Status NoRandom() { return absl::UnavailableError("the system's random source failed"); }

absl::Status NoMasterKey(const char* consequence) {
  return absl::FailedPreconditionError(std::string("set MASTER_KEY ") + consequence);
}

}  // namespace

/// What Argon2id gave, by salt.
class KeyCipher::Roots {
 public:
  /// The salt that new keys are sealed with: that of the keys that are there.
  absl::StatusOr<std::string> Salt() {
    base::MutexLock lock(&mutex_);
    if (salt_.empty() && !FillRandom(salt_, kSaltBytes)) {
      salt_.clear();
      return NoRandom();
    }
    return salt_;
  }
  void Adopt(const std::string& salt) {
    base::MutexLock lock(&mutex_);
    if (salt_.empty()) salt_ = salt;
  }

  /// The key of `provider_id`. Whoever comes while a root is derived waits for it.
  absl::Status DeriveFor(std::string_view provider_id, const Secret& master_key,
                         const std::string& salt, KeyFormat format, DerivedKey& out) {
    base::MutexLock lock(&mutex_);
    auto found = roots_.find(salt);
    if (found == roots_.end()) {
      // One salt is the rule; many come of a file that was put together by hand.
      if (roots_.size() >= kMostRoots) roots_.clear();
      auto root = std::make_unique<DerivedKey>();
      if (absl::Status status = Derive(master_key, salt, format, *root); !status.ok()) {
        return status;
      }
      found = roots_.emplace(salt, std::move(root)).first;
    }
    return Expand(*found->second, provider_id, out);
  }

 private:
  static constexpr std::size_t kMostRoots = 64;

  base::Mutex mutex_;
  std::string salt_ HOTEL_GUARDED_BY(mutex_);
  std::map<std::string, std::unique_ptr<DerivedKey>> roots_ HOTEL_GUARDED_BY(mutex_);
};

KeyCipher::KeyCipher(Secret master_key, KeyFormat format)
    : master_key_(std::move(master_key)), format_(format), roots_(std::make_unique<Roots>()) {}

KeyCipher::~KeyCipher() = default;
KeyCipher::KeyCipher(KeyCipher&&) noexcept = default;

absl::StatusOr<SealedKey> KeyCipher::Seal(std::string_view provider_id, const Secret& key) const {
  if (master_key_.empty())
    return NoMasterKey("to store provider keys: they are encrypted under it");
  SealedKey sealed;
  if (!FillRandom(sealed.nonce, kNonceBytes)) return NoRandom();
  absl::StatusOr<std::string> salt = roots_->Salt();
  if (!salt.ok()) return salt.status();
  sealed.salt = *std::move(salt);
  DerivedKey derived;
  absl::Status status = roots_->DeriveFor(provider_id, master_key_, sealed.salt, format_, derived);
  if (!status.ok()) return status;

  const std::string associated = AssociatedData(format_, provider_id);
  const std::string_view plain = key.Reveal();
  sealed.ciphertext.resize(1 + plain.size() + kTagBytes);
  sealed.ciphertext[0] = static_cast<char>(format_);
  unsigned char* out = Bytes(sealed.ciphertext) + 1;
  const Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  int length = 0;
  const bool done =
      context != nullptr &&
      EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, derived.bytes.data(),
                         Bytes(sealed.nonce)) == 1 &&
      EVP_EncryptUpdate(context.get(), nullptr, &length, Bytes(std::string_view(associated)),
                        static_cast<int>(associated.size())) == 1 &&
      EVP_EncryptUpdate(context.get(), out, &length, Bytes(plain),
                        static_cast<int>(plain.size())) == 1 &&
      EVP_EncryptFinal_ex(context.get(), out + length, &length) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, out + plain.size()) == 1;
  if (!done) return absl::InternalError("encrypting the provider key failed");
  return sealed;
}

absl::StatusOr<Secret> KeyCipher::Open(std::string_view provider_id,
                                       const SealedKey& sealed) const {
  if (master_key_.empty())
    return NoMasterKey("to the one the stored provider keys were sealed with");
  const std::string_view whole = sealed.ciphertext;
  const KeyFormat format = whole.empty() ? KeyFormat() : static_cast<KeyFormat>(whole[0]);
  const bool by_key = format == KeyFormat::kByKey && format_ == KeyFormat::kStored;
  if (whole.size() < 1 + kTagBytes || sealed.nonce.size() != kNonceBytes ||
      sealed.salt.size() != kSaltBytes || (format != format_ && !by_key)) {
    return absl::FailedPreconditionError("the provider key is stored in an unknown format");
  }
  DerivedKey derived;
  absl::Status status =
      by_key ? Derive(master_key_, sealed.salt, format, derived)
             : roots_->DeriveFor(provider_id, master_key_, sealed.salt, format, derived);
  if (!status.ok()) return status;

  const std::string associated = AssociatedData(format, provider_id);
  const std::string_view body = whole.substr(1, whole.size() - 1 - kTagBytes);
  std::string tag(whole.substr(whole.size() - kTagBytes));
  std::string plain(body.size(), '\0');
  const Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  int length = 0;
  const bool ready =
      context != nullptr &&
      EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, derived.bytes.data(),
                         Bytes(std::string_view(sealed.nonce))) == 1 &&
      EVP_DecryptUpdate(context.get(), nullptr, &length, Bytes(std::string_view(associated)),
                        static_cast<int>(associated.size())) == 1 &&
      EVP_DecryptUpdate(context.get(), Bytes(plain), &length, Bytes(body),
                        static_cast<int>(body.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1;
  const bool authentic =
      ready && EVP_DecryptFinal_ex(context.get(), Bytes(plain) + length, &length) == 1;
  // Copied, then wiped: moving a short string would leave its bytes behind in `plain`.
  Secret key;
  if (authentic) key = Secret(plain);
  OPENSSL_cleanse(plain.data(), plain.size());
  if (!ready) return absl::InternalError("decrypting the provider key failed");
  if (!authentic) {
    return absl::PermissionDeniedError(
        "the stored provider key does not open: MASTER_KEY is not the one it was sealed with, or "
        "the "
        "record was altered");
  }
  if (!by_key) roots_->Adopt(sealed.salt);
  return key;
}

bool KeyCipher::IsCurrent(const SealedKey& sealed) const noexcept {
  return !sealed.ciphertext.empty() && static_cast<KeyFormat>(sealed.ciphertext[0]) == format_;
}

}  // namespace hotel::store
