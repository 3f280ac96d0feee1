// Encrypts provider keys for the database (decisions 9).
//
// Each key has a salt of its own; Argon2id over the master key and that salt gives the AES-256-GCM
// key. The provider's id is authenticated with the ciphertext, so that one row's ciphertext does
// not open in another row.
#ifndef HOTEL_STORE_KEY_CIPHER_H_
#define HOTEL_STORE_KEY_CIPHER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "hotel/types.h"

#include "absl/status/statusor.h"

namespace hotel::store {

/// The first byte of a ciphertext: fixes the derivation's parameters, so that they can be raised
/// later and old keys stay readable.
enum class KeyFormat : std::uint8_t {
  kStored = 1,     ///< Argon2id, 3 passes over 64 MiB, 1 lane (RFC 9106 asks for no less)
  kTransient = 2,  ///< Argon2id, 1 pass over 8 KiB: for databases in memory, which leave nothing to
                   ///< attack; not accepted where kStored is written
};

/// What the columns encrypted_key, key_nonce and key_salt hold.
struct SealedKey {
  std::string ciphertext;  ///< format byte, encrypted bytes, 16-byte tag
  std::string nonce;       ///< 12 random bytes
  std::string salt;        ///< 16 random bytes
  friend bool operator==(const SealedKey&, const SealedKey&) = default;
};

/// Immutable; thread-safe. Both operations take tens of milliseconds under kStored.
class KeyCipher {
 public:
  KeyCipher(Secret master_key, KeyFormat format);

  /// FailedPrecondition without a master key.
  absl::StatusOr<SealedKey> Seal(std::string_view provider_id, const Secret& key) const;

  /// FailedPrecondition without a master key or for a format this program does not read;
  /// PermissionDenied when the master key is not the one the key was sealed with or the record was
  /// altered; Unavailable when the system lacks memory.
  absl::StatusOr<Secret> Open(std::string_view provider_id, const SealedKey& sealed) const;

 private:
  Secret master_key_;
  KeyFormat format_;
};

}  // namespace hotel::store

#endif  // HOTEL_STORE_KEY_CIPHER_H_
