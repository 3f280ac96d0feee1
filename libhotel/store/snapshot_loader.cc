#include "libhotel/store/snapshot_loader.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "hotel/failover_group.h"

#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/group_rows.h"
#include "libhotel/store/key_ring.h"
#include "libhotel/store/model_rows.h"
#include "libhotel/store/provider_rows.h"

namespace hotel::store {

absl::StatusOr<std::shared_ptr<const GroupSnapshot>> LoadSnapshot(Connection& connection,
                                                                  KeyRing& keys,
                                                                  std::uint64_t generation) {
  absl::StatusOr<std::vector<ProviderRow>> provider_rows = ReadProviders(connection);
  if (!provider_rows.ok()) return provider_rows.status();
  absl::StatusOr<std::vector<Model>> models = ReadModels(connection);
  if (!models.ok()) return models.status();
  absl::StatusOr<std::vector<GroupRow>> group_rows = ReadGroups(connection);
  if (!group_rows.ok()) return group_rows.status();

  std::set<std::string_view> provider_ids;
  std::vector<std::shared_ptr<const Provider>> providers;
  for (const ProviderRow& row : *provider_rows) {
    provider_ids.insert(row.id);
    KeyRing::OpenedKey opened = keys.Open(row.id, row.key);
    auto provider = std::make_shared<Provider>();
    provider->id = row.id;
    provider->name = row.name;
    provider->routing_name = row.routing_name;
    provider->type = row.type;
    provider->base_url = row.base_url;
    provider->enabled = row.enabled;
    provider->key_state = opened.state;
    provider->api_key = std::move(opened.key);
    provider->fixed_models = row.fixed_models;
    provider->max_in_flight = static_cast<int>(row.max_in_flight.value_or(0));
    provider->autodiscovery_enabled = row.autodiscovery_enabled;
    provider->created_at = row.created_at;
    provider->updated_at = row.updated_at;
    TransportOptions transport{row.ca_file, {}, row.unix_socket, row.http2};
    if (row.proxy.has_value()) {
      KeyRing::OpenedKey proxy = keys.Open(ProxyName(row.id), row.proxy);
      // Nobody who set a proxy wants the provider contacted without it.
      if (proxy.state != KeyState::kReady) provider->key_state = KeyState::kUndecryptable;
      transport.proxy = std::move(proxy.key);
    }
    if (!transport.IsDefault()) {
      provider->transport = std::make_shared<const TransportOptions>(std::move(transport));
    }
    providers.push_back(std::move(provider));
  }
  keys.KeepOnly(provider_ids);

  std::vector<FailoverGroup> groups;
  for (GroupRow& row : *group_rows) groups.push_back(ToFailoverGroup(std::move(row)));
  return std::make_shared<const GroupSnapshot>(generation, std::move(providers), *std::move(models),
                                               std::move(groups));
}

}  // namespace hotel::store
