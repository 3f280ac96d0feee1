#include "server/keys.h"

#include <utility>

#include <fmt/format.h>

#include "libhotel/guard/limit_headers.h"
#include "server/api/throttle.h"
#include "server/presented_key.h"

namespace hotel::server {

absl::StatusOr<std::unique_ptr<Keys>> Keys::Open(const std::string& database, const Clock* clock) {
  KeyStoreOptions options;
  options.path = database;
  auto store = OpenKeyStore(options, clock);
  if (!store.ok()) return store.status();
  auto gate = MakeKeyGate(store->get());
  if (!gate.ok()) return gate.status();
  return std::unique_ptr<Keys>(new Keys(*std::move(store), *std::move(gate)));
}

absl::Status Keys::ApplyFile(const std::vector<settings::VirtualKeySpec>& keys,
                             const GroupSnapshot& providers) {
  std::vector<FileKey> entries;
  for (const settings::VirtualKeySpec& key : keys) {
    FileKey entry{{key.name, true, key.limits}, key.key, key.place};
    if (key.allowed_providers) {
      std::vector<std::string> ids;
      for (const std::string& name : *key.allowed_providers) {
        const auto provider = providers.FindProvider(name);
        if (provider == nullptr) {
          return absl::InvalidArgumentError(
              fmt::format("{}: \"{}\" allows the provider \"{}\", which is not known", entry.place,
                          key.name, name));
        }
        ids.push_back(provider->id);
      }
      entry.spec.limits.providers = std::make_shared<const std::vector<std::string>>(ids);
    }
    entries.push_back(std::move(entry));
  }
  return store_->ApplyFile(entries);
}

const VirtualKey* Keys::Find(const KeySnapshot& keys, const HeaderList& headers) {
  return keys.FindKey(PresentedKey(headers));
}

std::optional<HeaderList> Keys::RefuseAddress(const std::string& peer,
                                              const ClientLimitSettings& limits, TimePoint now) {
  const decide::BucketRate rate{static_cast<double>(limits.ip_rps),
                                static_cast<double>(limits.ip_burst)};
  if (!limits.enabled || !limits.ip_enabled || !rate.limits()) {
    if (addresses_.size() != 0) addresses_.Clear();
    return std::nullopt;
  }
  const auto decision = addresses_.Ask(api::ThrottleKey(peer), rate, now);
  if (decision.admitted) return std::nullopt;
  return guard::LimitHeaders(rate.per_second, rate.burst, decision.available, "ip", decision.wait);
}

}  // namespace hotel::server
