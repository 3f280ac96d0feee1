// Encrypts provider keys for the database (decisions 9).
//
// Argon2id over the master key and a salt gives a root; it takes a tenth of a second and more, so
// the keys of one database share a salt, and a process derives the root once. From the root and the
// provider's id comes an AES-256-GCM key of that provider's own (HKDF-Expand with SHA-256, RFC
// 5869). The id is authenticated with the ciphertext too, so that one row's ciphertext does not
// open in another row.
#ifndef HOTEL_STORE_KEY_CIPHER_H_
#define HOTEL_STORE_KEY_CIPHER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "hotel/types.h"

#include "absl/status/statusor.h"

namespace hotel::store {

/// The first byte of a ciphertext: fixes the derivation and its parameters, so that they can be
/// changed later and old keys stay readable.
enum class KeyFormat : std::uint8_t {
  kByKey = 1,      ///< read only: a salt for each key, and what Argon2id gives is the AES key
  kTransient = 2,  ///< Argon2id, 1 pass over 8 KiB: for databases in memory, which leave nothing to
                   ///< attack; not accepted where kStored is written
  kStored = 3,     ///< Argon2id, 3 passes over 64 MiB, 1 lane (RFC 9106 asks for no less)
};

/// What the columns encrypted_key, key_nonce and key_salt hold.
struct SealedKey {
  std::string ciphertext;  ///< format byte, encrypted bytes, 16-byte tag
  std::string nonce;       ///< 12 random bytes
  std::string salt;        ///< 16 random bytes, the same for the keys of a database
  friend bool operator==(const SealedKey&, const SealedKey&) = default;
};

/// Thread-safe. The first use of a salt takes long under kStored, every later one microseconds.
class KeyCipher {
 public:
  /// `format` is kStored or kTransient.
  KeyCipher(Secret master_key, KeyFormat format);
  ~KeyCipher();
  KeyCipher(KeyCipher&&) noexcept;

  /// FailedPrecondition without a master key.
  absl::StatusOr<SealedKey> Seal(std::string_view provider_id, const Secret& key) const;

  /// FailedPrecondition without a master key or for a format this program does not read;
  /// PermissionDenied when the master key is not the one the key was sealed with or the record was
  /// altered; Unavailable when the system lacks memory.
  absl::StatusOr<Secret> Open(std::string_view provider_id, const SealedKey& sealed) const;

  /// False for a key that Seal would write in another format today.
  bool IsCurrent(const SealedKey& sealed) const noexcept;

 private:
  class Roots;

  Secret master_key_;
  KeyFormat format_;
  std::unique_ptr<Roots> roots_;
};

}  // namespace hotel::store

#endif  // HOTEL_STORE_KEY_CIPHER_H_
