// The providers' secrets in plain text, so that a change of a group derives no key again.
#ifndef HOTEL_STORE_KEY_RING_H_
#define HOTEL_STORE_KEY_RING_H_

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "hotel/failover_group.h"
#include "hotel/types.h"

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "libhotel/base/string_hash.h"
#include "libhotel/store/key_cipher.h"

namespace hotel::store {

/// The name under which a provider's proxy is sealed: its id alone is that of the key, so that the
/// one never opens as the other.
std::string ProxyName(std::string_view provider_id);

/// A cipher with a memory: one opened secret per name, valid for one ciphertext. Names are provider
/// ids and what ProxyName makes of them. Not thread-safe.
class KeyRing {
 public:
  struct OpenedKey {
    KeyState state = KeyState::kKeyless;
    Secret key;  ///< set when the state is kReady
  };

  explicit KeyRing(KeyCipher cipher) : cipher_(std::move(cipher)) {}

  /// The key behind `sealed`, decrypted at most once per ciphertext. A failure that may pass (no
  /// memory) is tried again at the next call.
  OpenedKey Open(const std::string& name, const std::optional<SealedKey>& sealed);

  /// False for a key that Seal would write in another format today.
  bool IsCurrent(const SealedKey& sealed) const noexcept { return cipher_.IsCurrent(sealed); }

  /// Encrypts `key` under that name and remembers both forms. Errors as KeyCipher::Seal.
  absl::StatusOr<SealedKey> Seal(const std::string& name, const Secret& key);

  /// Forgets the secrets of every provider that is not in `provider_ids`.
  void KeepOnly(const std::set<std::string_view>& provider_ids);

 private:
  struct Entry {
    SealedKey sealed;
    OpenedKey opened;
  };
  KeyCipher cipher_;
  absl::flat_hash_map<std::string, Entry, base::StringHash, base::StringEqual> entries_;
};

}  // namespace hotel::store

#endif  // HOTEL_STORE_KEY_RING_H_
