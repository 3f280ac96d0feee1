#include "libhotel/store/key_ring.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hotel::store {

std::string ProxyName(std::string_view provider_id) { return std::string(provider_id) + "/proxy"; }

KeyRing::OpenedKey KeyRing::Open(const std::string& name, const std::optional<SealedKey>& sealed) {
  if (!sealed.has_value()) {
    entries_.erase(name);
    return {};
  }
  const auto found = entries_.find(name);
  if (found != entries_.end() && found->second.sealed == *sealed) return found->second.opened;

  absl::StatusOr<Secret> key = cipher_.Open(name, *sealed);
  OpenedKey opened;
  opened.state = key.ok() ? KeyState::kReady : KeyState::kUndecryptable;
  if (key.ok()) opened.key = *std::move(key);
  const bool lasting = key.ok() || absl::IsPermissionDenied(key.status()) ||
                       absl::IsFailedPrecondition(key.status());
  if (lasting) entries_.insert_or_assign(name, Entry{*sealed, opened});
  return opened;
}

absl::StatusOr<SealedKey> KeyRing::Seal(const std::string& name, const Secret& key) {
  absl::StatusOr<SealedKey> sealed = cipher_.Seal(name, key);
  if (sealed.ok()) {
    entries_.insert_or_assign(name, Entry{*sealed, OpenedKey{KeyState::kReady, key}});
  }
  return sealed;
}

void KeyRing::KeepOnly(const std::set<std::string_view>& provider_ids) {
  absl::erase_if(entries_, [&provider_ids](const auto& entry) {
    return provider_ids.find(std::string_view(entry.first).substr(0, entry.first.find('/'))) ==
           provider_ids.end();
  });
}

}  // namespace hotel::store
