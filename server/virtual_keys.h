// Who may call /v1: the virtual keys of the configuration.
#ifndef SERVER_VIRTUAL_KEYS_H_
#define SERVER_VIRTUAL_KEYS_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/types.h"

#include "libhotel/settings/config.h"

namespace hotel::server {

/// Holds digests only. Immutable, so thread-safe.
class VirtualKeys {
 public:
  explicit VirtualKeys(const std::vector<settings::VirtualKeySpec>& keys);

  bool empty() const noexcept { return entries_.empty(); }

  /// The name of the presented key; nullopt when there is no such key. Takes the same time for
  /// every key of one length, known or not.
  std::optional<std::string> Find(std::string_view key) const;

 private:
  using Digest = std::array<unsigned char, 32>;
  struct Entry {
    Digest digest;
    std::string name;
  };
  static Digest Sha256(std::string_view text);
  std::vector<Entry> entries_;
};

/// The credential of a request: `Authorization: Bearer`, else `x-api-key`. Empty when there is none
/// or when it is ambiguous (two of the same field, another scheme).
std::string_view PresentedKey(const HeaderList& headers);

}  // namespace hotel::server

#endif  // SERVER_VIRTUAL_KEYS_H_
