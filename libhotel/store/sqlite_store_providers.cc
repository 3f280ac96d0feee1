// SqliteStore: providers and models.
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "hotel/failover_group.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/ids.h"
#include "libhotel/base/strings.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/key_ring.h"
#include "libhotel/store/model_rows.h"
#include "libhotel/store/provider_rows.h"
#include "libhotel/store/provider_rules.h"
#include "libhotel/store/sqlite_store.h"

namespace hotel::store {
namespace {

absl::Status ProviderNotFound() { return absl::NotFoundError("provider not found"); }

/// AlreadyExists when another provider than `id` goes by that name in routing form.
absl::Status CheckNameFree(Connection& connection, std::string_view id, std::string_view name) {
  absl::StatusOr<std::optional<ProviderRow>> holder =
      ReadProviderByRoutingName(connection, RoutingName(name));
  if (!holder.ok()) return holder.status();
  if (!holder->has_value() || (*holder)->id == id) return absl::OkStatus();
  return absl::AlreadyExistsError(fmt::format(
      "a provider named '{}' already exists; choose a different name", (*holder)->name));
}

/// The stored form of the secret `wanted`: the one that is there when it opens to the same.
absl::StatusOr<std::optional<SealedKey>> SealIfChanged(KeyRing& keys, const std::string& name,
                                                       const std::optional<SealedKey>& stored,
                                                       const Secret& wanted) {
  if (wanted.empty()) return std::optional<SealedKey>();
  const KeyRing::OpenedKey opened = keys.Open(name, stored);
  if (opened.state == KeyState::kReady && opened.key == wanted) return stored;
  absl::StatusOr<SealedKey> sealed = keys.Seal(name, wanted);
  if (!sealed.ok()) return sealed.status();
  return std::optional<SealedKey>(*std::move(sealed));
}

}  // namespace

absl::StatusOr<std::string> SqliteStore::UpsertProvider(const ProviderSpec& spec) {
  absl::StatusOr<ProviderSpec> normalized = NormalizeProvider(spec);
  if (!normalized.ok()) return normalized.status();
  std::string id;
  auto snapshot = Write([&](Writer& writer) { return ApplyProvider(writer, *normalized, &id); });
  if (!snapshot.ok()) return snapshot.status();
  return id;
}

absl::StatusOr<std::string> SqliteStore::CreateProvider(const ProviderSpec& spec) {
  absl::StatusOr<ProviderSpec> normalized = NormalizeProvider(spec);
  if (!normalized.ok()) return normalized.status();
  std::string id;
  auto snapshot = Write([&](Writer& writer) {
    absl::Status status = CheckNameFree(*writer.connection, "", normalized->name);
    return status.ok() ? ApplyProvider(writer, *normalized, &id) : status;
  });
  if (!snapshot.ok()) return snapshot.status();
  return id;
}

absl::Status SqliteStore::UpdateProvider(std::string_view provider_id, const ProviderPatch& patch) {
  const std::string id = base::Lower(provider_id);
  return Write([&](Writer& writer) { return ApplyProviderPatch(writer, id, patch); }).status();
}

absl::Status SqliteStore::ApplyProviderPatch(Writer& writer, const std::string& id,
                                             const ProviderPatch& patch) {
  Connection& connection = *writer.connection;
  absl::StatusOr<std::optional<ProviderRow>> before = ReadProvider(connection, id);
  if (!before.ok()) return before.status();
  if (!before->has_value()) return ProviderNotFound();
  ProviderRow after = **before;
  ProviderSpec spec;
  spec.name = patch.name.value_or(after.name);
  spec.type = patch.type.value_or(after.type);
  spec.base_url = patch.base_url.value_or(after.base_url);
  spec.api_key = patch.api_key.value_or(Secret());
  spec.max_in_flight =
      patch.max_in_flight.value_or(static_cast<int>(after.max_in_flight.value_or(0)));
  if (patch.models) spec.models = *patch.models;
  absl::StatusOr<ProviderSpec> normalized = NormalizeProvider(spec);
  if (!normalized.ok()) return normalized.status();
  absl::Status status = CheckNameFree(connection, id, normalized->name);
  if (!status.ok()) return status;
  after.name = normalized->name;
  after.routing_name = RoutingName(normalized->name);
  after.type = normalized->type;
  after.base_url = normalized->base_url;
  after.enabled = patch.enabled.value_or(after.enabled);
  after.autodiscovery_enabled = patch.autodiscovery_enabled.value_or(after.autodiscovery_enabled);
  after.max_in_flight = std::nullopt;
  if (normalized->max_in_flight != 0) after.max_in_flight = normalized->max_in_flight;
  if (patch.api_key) {
    absl::StatusOr<std::optional<SealedKey>> key =
        SealIfChanged(writer.keys, id, after.key, normalized->api_key);
    if (!key.ok()) return key.status();
    after.key = *std::move(key);
  }
  if (patch.models) after.fixed_models = normalized->models.has_value();
  if (after != **before) {
    status = store::UpdateProvider(connection, after, clock_->WallNow());
    if (!status.ok()) return status;
  }
  if (patch.models) {
    status = ApplyModelList(writer, id, (*before)->fixed_models, normalized->models);
    if (!status.ok()) return status;
  }
  const bool routes_differ = patch.models || after.enabled != (*before)->enabled;
  return routes_differ ? KeepFloors(writer) : absl::OkStatus();
}

absl::Status SqliteStore::ApplyModelList(Writer& writer, const std::string& provider_id,
                                         bool was_fixed,
                                         const std::optional<std::vector<std::string>>& models) {
  if (models.has_value()) return ApplyFixedModels(writer, provider_id, *models);
  // Without its list, nothing says any more that the models outside of it are not to be used.
  return was_fixed ? EnableAllModels(writer, provider_id) : absl::OkStatus();
}

absl::Status SqliteStore::ApplyProvider(Writer& writer, const ProviderSpec& spec, std::string* id) {
  Connection& connection = *writer.connection;
  const WallTime now = clock_->WallNow();
  const std::string routing_name = RoutingName(spec.name);
  absl::StatusOr<std::optional<ProviderRow>> before =
      ReadProviderByRoutingName(connection, routing_name);
  if (!before.ok()) return before.status();
  ProviderRow after = before->value_or(ProviderRow{});
  if (!before->has_value()) after.id = base::NewUuid();
  after.name = spec.name;
  after.routing_name = routing_name;
  after.type = spec.type;
  after.base_url = spec.base_url;
  after.enabled = spec.enabled;
  after.autodiscovery_enabled = spec.autodiscovery_enabled;
  after.fixed_models = spec.models.has_value();
  absl::StatusOr<std::optional<SealedKey>> key =
      SealIfChanged(writer.keys, after.id, after.key, spec.api_key);
  if (!key.ok()) return key.status();
  after.key = *std::move(key);
  after.ca_file = spec.transport.ca_file;
  after.unix_socket = spec.transport.unix_socket;
  after.http2 = spec.transport.http2;
  after.max_in_flight = std::nullopt;
  if (spec.max_in_flight != 0) after.max_in_flight = spec.max_in_flight;
  absl::StatusOr<std::optional<SealedKey>> proxy =
      SealIfChanged(writer.keys, ProxyName(after.id), after.proxy, spec.transport.proxy);
  if (!proxy.ok()) return proxy.status();
  after.proxy = *std::move(proxy);

  absl::Status status;
  if (!before->has_value()) {
    status = InsertProvider(connection, after, now);
  } else if (after != **before) {
    status = store::UpdateProvider(connection, after, now);
  }
  if (!status.ok()) return status;
  *id = after.id;
  status =
      ApplyModelList(writer, after.id, before->has_value() && (*before)->fixed_models, spec.models);
  // A new provider is in no group.
  return status.ok() && before->has_value() ? KeepFloors(writer) : status;
}

absl::Status SqliteStore::ApplyFixedModels(Writer& writer, const std::string& provider_id,
                                           const std::vector<std::string>& model_ids) {
  Connection& connection = *writer.connection;
  const WallTime now = clock_->WallNow();
  absl::StatusOr<std::vector<Model>> existing = ReadModelsOf(connection, provider_id);
  if (!existing.ok()) return existing.status();
  const std::set<std::string> listed(model_ids.begin(), model_ids.end());
  std::set<std::string> present;
  for (const Model& model : *existing) {
    present.insert(model.model_id);
    const bool enabled = listed.count(model.model_id) != 0;
    if (model.enabled == enabled) continue;
    absl::Status status = UpdateModelEnabled(connection, model.id, enabled, false, now);
    if (!status.ok()) return status;
  }
  for (const std::string& model_id : model_ids) {
    if (present.count(model_id) != 0) continue;
    Model model;
    model.id = base::NewUuid();
    model.provider_id = provider_id;
    model.model_id = model_id;
    absl::Status status = InsertModel(connection, model, now);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status SqliteStore::EnableAllModels(Writer& writer, const std::string& provider_id) {
  absl::StatusOr<std::vector<Model>> models = ReadModelsOf(*writer.connection, provider_id);
  if (!models.ok()) return models.status();
  for (const Model& model : *models) {
    if (model.enabled || model.disabled_manually) continue;
    absl::Status status =
        UpdateModelEnabled(*writer.connection, model.id, true, false, clock_->WallNow());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status SqliteStore::SetProviderEnabled(std::string_view provider_id, bool enabled) {
  const std::string id = base::Lower(provider_id);
  return Write([&](Writer& writer) -> absl::Status {
           absl::StatusOr<std::optional<ProviderRow>> row = ReadProvider(*writer.connection, id);
           if (!row.ok()) return row.status();
           if (!row->has_value()) return ProviderNotFound();
           if ((*row)->enabled == enabled) return absl::OkStatus();
           (*row)->enabled = enabled;
           absl::Status status =
               store::UpdateProvider(*writer.connection, **row, clock_->WallNow());
           return status.ok() ? KeepFloors(writer) : status;
         })
      .status();
}

absl::Status SqliteStore::DeleteProvider(std::string_view provider_id) {
  const std::string id = base::Lower(provider_id);
  return Write([&](Writer& writer) -> absl::Status {
           absl::Status status = store::DeleteProvider(*writer.connection, id);
           return status.ok() ? KeepFloors(writer) : status;
         })
      .status();
}

}  // namespace hotel::store
