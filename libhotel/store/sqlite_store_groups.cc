// SqliteStore: failover groups.
#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "hotel/failover_group.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/ids.h"
#include "libhotel/base/strings.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/group_rows.h"
#include "libhotel/store/group_rules.h"
#include "libhotel/store/model_rows.h"
#include "libhotel/store/sqlite_store.h"
#include "libhotel/store/text_rules.h"

namespace hotel::store {
namespace {

absl::Status GroupNotFound() { return absl::NotFoundError("failover group not found"); }

absl::StatusOr<std::string> NormalizeGroupId(std::string_view group_id) {
  if (base::IsUuid(group_id)) return base::Lower(group_id);
  return absl::InvalidArgumentError("invalid failover group id: " + Quoted(group_id));
}

/// AlreadyExists with `advice` when another group than `id` bears the name.
absl::Status CheckNameFree(Connection& connection, const GroupRow& row, std::string_view advice) {
  absl::StatusOr<std::optional<GroupRow>> holder = ReadGroupByName(connection, row.display_model);
  if (!holder.ok()) return holder.status();
  if (!holder->has_value() || (*holder)->id == row.id) return absl::OkStatus();
  return absl::AlreadyExistsError(
      fmt::format("A failover group for '{}' already exists{}", row.display_model, advice));
}

absl::Status CheckMembersKnown(Connection& connection, const std::vector<std::string>& ids) {
  absl::StatusOr<ModelStates> models = ReadRoutable(connection, ids);
  if (!models.ok()) return models.status();
  return CheckKnown(ids, *models, "entry_id");
}

}  // namespace

absl::StatusOr<FailoverGroup> SqliteStore::Get(std::string_view group_id) const {
  absl::StatusOr<std::string> id = NormalizeGroupId(group_id);
  if (!id.ok()) return id.status();
  const auto snapshot = Snapshot();
  const FailoverGroup* group = snapshot->FindGroupById(*id);
  if (group == nullptr) return GroupNotFound();
  return *group;
}

absl::StatusOr<FailoverGroup> SqliteStore::WriteGroup(const std::string& group_id,
                                                      const Change& change) {
  auto snapshot = Write(change);
  if (!snapshot.ok()) return snapshot.status();
  const FailoverGroup* group = (*snapshot)->FindGroupById(group_id);
  assert(group != nullptr && "the snapshot shows what the change wrote");
  return *group;
}

absl::StatusOr<FailoverGroup> SqliteStore::Create(const NewFailoverGroup& group) {
  absl::StatusOr<GroupRow> row = BuildGroup(group);
  if (!row.ok()) return row.status();
  row->id = base::NewUuid();
  row->created_at = row->updated_at = clock_->WallNow();
  return WriteGroup(row->id, [&row](Writer& writer) {
    Connection& connection = *writer.connection;
    absl::Status status = CheckMembersKnown(connection, row->members);
    if (status.ok()) {
      status = CheckNameFree(connection, *row,
                             " (auto-created from shared model). Edit the existing group instead.");
    }
    return status.ok() ? InsertGroup(connection, *row) : status;
  });
}

absl::StatusOr<FailoverGroup> SqliteStore::Update(std::string_view group_id,
                                                  const FailoverGroupPatch& patch) {
  absl::StatusOr<std::string> id = NormalizeGroupId(group_id);
  if (!id.ok()) return id.status();
  return WriteGroup(*id, [&](Writer& writer) -> absl::Status {
    Connection& connection = *writer.connection;
    absl::StatusOr<std::optional<GroupRow>> before = ReadGroup(connection, *id);
    if (!before.ok()) return before.status();
    if (!before->has_value()) return GroupNotFound();
    absl::StatusOr<GroupRow> after = ApplyPatch(**before, patch);
    if (!after.ok()) return after.status();
    absl::StatusOr<ModelStates> models = ReadRoutable(connection, after->members);
    if (!models.ok()) return models.status();
    ApplyFloor(**before, patch, *models, clock_->WallNow(), &*after);
    absl::Status status = CheckChange(**before, *after, *models);
    if (status.ok()) status = CheckNameFree(connection, *after, ". Choose a different name.");
    if (!status.ok() || *after == **before) return status;
    after->updated_at = clock_->WallNow();
    return UpdateGroup(connection, *after);
  });
}

absl::Status SqliteStore::Delete(std::string_view group_id) {
  absl::StatusOr<std::string> id = NormalizeGroupId(group_id);
  if (!id.ok()) return id.status();
  return Write([&id](Writer& writer) { return DeleteGroup(*writer.connection, *id); }).status();
}

absl::StatusOr<std::string> SqliteStore::UpsertGroup(std::string_view display_model,
                                                     const std::vector<std::string>& model_uuids) {
  absl::StatusOr<std::string> name = NormalizeGroupName(display_model);
  if (!name.ok()) return name.status();
  if (model_uuids.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("failover group '{}' needs at least one member", *name));
  }
  absl::StatusOr<std::vector<std::string>> ids = NormalizeIds(model_uuids, "entry_id");
  if (!ids.ok()) return ids.status();
  std::string group_id;
  absl::Status status = Write([&](Writer& writer) -> absl::Status {
                          Connection& connection = *writer.connection;
                          absl::Status known = CheckMembersKnown(connection, *ids);
                          if (!known.ok()) return known;
                          absl::StatusOr<std::optional<GroupRow>> before =
                              ReadGroupByName(connection, *name);
                          if (!before.ok()) return before.status();
                          writer.declared_groups.insert(*name);
                          GroupRow after = before->value_or(GroupRow{});
                          after.display_model = *name;
                          after.members = *ids;
                          after.toggles.clear();
                          after.group_enabled = true;
                          after.auto_created = false;
                          after.auto_disabled_at.reset();
                          after.floor_disabled_at.reset();
                          if (before->has_value()) {
                            group_id = after.id;
                            if (after == **before) return absl::OkStatus();
                            after.updated_at = clock_->WallNow();
                            return UpdateGroup(connection, after);
                          }
                          group_id = after.id = base::NewUuid();
                          after.created_at = after.updated_at = clock_->WallNow();
                          return InsertGroup(connection, after);
                        }).status();
  if (!status.ok()) return status;
  return group_id;
}

}  // namespace hotel::store
