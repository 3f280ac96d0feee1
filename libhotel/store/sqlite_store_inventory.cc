// SqliteStore: what discovery writes, and what changes of models mean for groups.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "hotel/discovery.h"
#include "hotel/failover_group.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/ids.h"
#include "libhotel/base/mutex.h"
#include "libhotel/decide/group_sync.h"
#include "libhotel/decide/inventory.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/group_rows.h"
#include "libhotel/store/model_rows.h"
#include "libhotel/store/provider_rows.h"
#include "libhotel/store/scan_rows.h"
#include "libhotel/store/sqlite_store.h"

namespace hotel::store {
absl::Status SqliteStore::ApplyGroupSync(Writer& writer, decide::SyncScope scope,
                                         GroupChanges* report) {
  Connection& connection = *writer.connection;
  auto provider_rows = ReadProviders(connection);
  if (!provider_rows.ok()) return provider_rows.status();
  auto models = ReadModels(connection);
  if (!models.ok()) return models.status();
  auto rows = ReadGroups(connection);
  if (!rows.ok()) return rows.status();

  std::vector<decide::SyncProvider> providers;
  for (const ProviderRow& row : *provider_rows)
    providers.push_back({row.id, row.name, row.enabled});
  std::vector<decide::SyncGroup> groups;
  std::unordered_map<std::string, const GroupRow*> row_by_id;
  for (const GroupRow& row : *rows) {
    groups.push_back({row, writer.declared_groups.count(row.display_model) != 0});
    row_by_id.emplace(row.id, &row);
  }
  const WallTime now = clock_->WallNow();
  decide::SyncPlan plan = decide::PlanGroupSync(providers, *models, groups, scope, now);
  for (const std::string& id : plan.deleted) {
    if (absl::Status status = DeleteGroup(connection, id); !status.ok()) return status;
  }
  for (const decide::SyncGroup& group : plan.written) {
    const bool is_new = group.id.empty();
    GroupRow row = is_new ? GroupRow{} : *row_by_id.at(group.id);
    static_cast<decide::GroupState&>(row) = group;
    row.updated_at = now;
    if (is_new) {
      row.id = base::NewUuid();
      row.created_at = now;
    }
    absl::Status status = is_new ? InsertGroup(connection, row) : UpdateGroup(connection, row);
    if (!status.ok()) return status;
  }
  *report = std::move(plan.report);
  return absl::OkStatus();
}

absl::Status SqliteStore::KeepFloors(Writer& writer) {
  GroupChanges ignored;
  return ApplyGroupSync(writer, decide::SyncScope::kFloors, &ignored);
}

absl::StatusOr<DiscoveryResult> SqliteStore::ApplyListing(const std::vector<ListedModel>& listing,
                                                          bool may_disable, ProviderScan* scan) {
  DiscoveryResult result;
  ProviderScan after = *scan;
  absl::Status status = Write([&](Writer& writer) -> absl::Status {
                          Connection& connection = *writer.connection;
                          auto provider = ReadProvider(connection, scan->provider_id);
                          if (!provider.ok()) return provider.status();
                          if (!provider->has_value()) {
                            return absl::NotFoundError("provider not found");
                          }
                          const ProviderRow& row = **provider;
                          if (row.fixed_models) {
                            return absl::FailedPreconditionError(
                                fmt::format("provider '{}' has a fixed list of models", row.name));
                          }
                          auto models = ReadModelsOf(connection, row.id);
                          if (!models.ok()) return models.status();
                          const WallTime now = clock_->WallNow();
                          decide::InventoryPlan plan =
                              decide::PlanInventory(row.id, *models, listing, may_disable, now);
                          for (Model& model : plan.added) {
                            model.id = base::NewUuid();
                            absl::Status written = InsertModel(connection, model, now);
                            if (!written.ok()) return written;
                          }
                          for (const Model& model : plan.changed) {
                            absl::Status written = store::UpdateModel(connection, model, now);
                            if (!written.ok()) return written;
                          }
                          after.checked_at = now;
                          after.succeeded_at = now;
                          after.last_error.clear();
                          after.stale = false;
                          if (!plan.suspect) {
                            after.suspect_scans = 0;
                          } else if (may_disable) {
                            ++after.suspect_scans;
                          }
                          absl::Status written = UpsertScan(connection, after);
                          if (!written.ok()) return written;
                          result.provider_id = row.id;
                          result.provider_name = row.name;
                          result.suspect = plan.suspect;
                          result.models_found = listing.size();
                          result.models = std::move(plan.report);
                          return ApplyGroupSync(writer, decide::SyncScope::kAll, &result.groups);
                        }).status();
  if (!status.ok()) return status;
  *scan = after;
  return result;
}

absl::StatusOr<InventoryStore::Pruned> SqliteStore::PruneModels(
    const std::vector<std::string>& provider_ids, WallTime before, std::size_t most) {
  Pruned pruned;
  absl::Status status = Write([&](Writer& writer) -> absl::Status {
                          auto models = ReadModels(*writer.connection);
                          if (!models.ok()) return models.status();
                          const auto ids = decide::PlanPruning(*models, provider_ids, before, most);
                          if (ids.empty()) return absl::OkStatus();
                          for (const std::string& id : ids) {
                            absl::Status deleted = store::DeleteModel(*writer.connection, id);
                            if (!deleted.ok()) return deleted;
                          }
                          pruned.models = ids.size();
                          return ApplyGroupSync(writer, decide::SyncScope::kAll, &pruned.groups);
                        }).status();
  if (!status.ok()) return status;
  return pruned;
}

absl::StatusOr<GroupChanges> SqliteStore::SyncGroups() {
  GroupChanges report;
  absl::Status status = Write([&](Writer& writer) {
                          return ApplyGroupSync(writer, decide::SyncScope::kAll, &report);
                        }).status();
  if (!status.ok()) return status;
  return report;
}

// Scans are no part of the snapshot: writing them does not build a new one.
absl::StatusOr<std::vector<ProviderScan>> SqliteStore::ReadScans() {
  base::MutexLock lock(&writer_mutex_);
  return ReadScanRows(*writer_.connection);
}

absl::Status SqliteStore::WriteScans(const std::vector<ProviderScan>& scans) {
  base::MutexLock lock(&writer_mutex_);
  Connection& connection = *writer_.connection;
  absl::StatusOr<Transaction> transaction = Transaction::Begin(&connection);
  if (!transaction.ok()) return transaction.status();
  for (const ProviderScan& scan : scans) {
    if (absl::Status status = UpsertScan(connection, scan); !status.ok()) return status;
  }
  return transaction->Commit();
}

}  // namespace hotel::store
