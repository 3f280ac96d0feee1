// The SQLite store behind hotel::OpenSqliteStore.
//
// Reads are answered from the published snapshot and never touch the disk. Writes are serialized;
// each is one transaction. The next snapshot is built inside that transaction, so that nothing can
// fail between the commit and its publication: a write that reports an error has changed neither
// the database nor the snapshot. What another process writes into the same file becomes visible
// with the next change made here.
#ifndef HOTEL_STORE_SQLITE_STORE_H_
#define HOTEL_STORE_SQLITE_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotel/clock.h"
#include "hotel/defaults.h"
#include "hotel/discovery.h"
#include "hotel/failover_group.h"
#include "hotel/live_settings.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/mutex.h"
#include "libhotel/decide/group_sync.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/key_cipher.h"
#include "libhotel/store/key_ring.h"

namespace hotel::store {

class SqliteStore final : public Store {
 public:
  /// As hotel::OpenSqliteStore, with the format keys are sealed in.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(const StoreOptions& options,
                                                           const Clock* clock,
                                                           KeyFormat key_format);

  std::shared_ptr<const GroupSnapshot> Snapshot() const noexcept override;

  absl::StatusOr<FailoverGroup> Get(std::string_view group_id) const override;
  absl::StatusOr<FailoverGroup> Create(const NewFailoverGroup& group) override;
  absl::StatusOr<FailoverGroup> Update(std::string_view group_id,
                                       const FailoverGroupPatch& patch) override;
  absl::Status Delete(std::string_view group_id) override;

  absl::StatusOr<std::string> UpsertProvider(const ProviderSpec& spec) override;
  absl::StatusOr<std::string> CreateProvider(const ProviderSpec& spec) override;
  absl::Status UpdateProvider(std::string_view provider_id, const ProviderPatch& patch) override;
  absl::StatusOr<std::string> EnsureModel(std::string_view provider_id,
                                          std::string_view model_id) override;
  absl::StatusOr<std::string> UpsertGroup(std::string_view display_model,
                                          const std::vector<std::string>& model_uuids) override;
  absl::Status SetProviderEnabled(std::string_view provider_id, bool enabled) override;
  absl::Status SetModelEnabled(std::string_view model_uuid, bool enabled) override;
  absl::Status UpdateModel(std::string_view model_uuid, const ModelPatch& patch) override;
  absl::Status DeleteModel(std::string_view model_uuid) override;
  absl::StatusOr<std::size_t> DeleteModels(const std::vector<std::string>& model_uuids) override;
  absl::Status DeleteProvider(std::string_view provider_id) override;

  absl::StatusOr<std::vector<StoredSetting>> ReadSettings() override;
  absl::Status WriteSettings(const std::vector<StoredSetting>& put,
                             const std::vector<std::string>& erase) override;

  absl::StatusOr<DiscoveryResult> ApplyListing(const std::vector<ListedModel>& listing,
                                               bool may_disable, ProviderScan* scan) override;
  absl::StatusOr<Pruned> PruneModels(const std::vector<std::string>& provider_ids, WallTime before,
                                     std::size_t most) override;
  absl::StatusOr<GroupChanges> SyncGroups() override;
  absl::StatusOr<std::vector<ProviderScan>> ReadScans() override;
  absl::Status WriteScans(const std::vector<ProviderScan>& scans) override;

 private:
  /// What a write works with; all of it belongs to the writer's lock.
  struct Writer {
    std::unique_ptr<Connection> connection;
    KeyRing keys;
    /// Groups that UpsertGroup wrote: the file's, which syncs neither switch off nor on.
    std::set<std::string> declared_groups;
    /// SQLite's `data_version` when the snapshot was built: moves when another process commits.
    std::int64_t data_version = 0;
  };
  using Change = std::function<absl::Status(Writer&)>;

  SqliteStore(Writer writer, const Clock* clock, std::shared_ptr<const GroupSnapshot> snapshot);

  /// Runs `change` as one transaction and publishes the result, unless nothing is new. Returns the
  /// snapshot that is current then; it shows the database as `change` left it.
  absl::StatusOr<std::shared_ptr<const GroupSnapshot>> Write(const Change& change)
      HOTEL_EXCLUDES(writer_mutex_);
  void Publish(std::shared_ptr<const GroupSnapshot> next);
  /// As Write, for a change that succeeds only where the group exists afterwards; returns it.
  absl::StatusOr<FailoverGroup> WriteGroup(const std::string& group_id, const Change& change);

  absl::Status ApplyProvider(Writer& writer, const ProviderSpec& spec, std::string* id);
  absl::Status ApplyProviderPatch(Writer& writer, const std::string& id,
                                  const ProviderPatch& patch);
  /// Brings the models of a provider in line with its list; nullopt = it has none any more.
  absl::Status ApplyModelList(Writer& writer, const std::string& provider_id, bool was_fixed,
                              const std::optional<std::vector<std::string>>& models);
  absl::Status ApplyFixedModels(Writer& writer, const std::string& provider_id,
                                const std::vector<std::string>& model_ids);
  absl::Status EnableAllModels(Writer& writer, const std::string& provider_id);
  absl::Status ApplyGroupSync(Writer& writer, decide::SyncScope scope, GroupChanges* report);
  /// What a change of models means for the groups there are.
  absl::Status KeepFloors(Writer& writer);

  const Clock* const clock_;
  base::Mutex writer_mutex_;
  Writer writer_ HOTEL_GUARDED_BY(writer_mutex_);
  mutable base::Mutex snapshot_mutex_;  // held for a pointer copy; taken after writer_mutex_
  std::shared_ptr<const GroupSnapshot> snapshot_ HOTEL_GUARDED_BY(snapshot_mutex_);
};

}  // namespace hotel::store

#endif  // HOTEL_STORE_SQLITE_STORE_H_
