#include "libhotel/store/group_rules.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "hotel/failover_group.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/ids.h"
#include "libhotel/base/lower_case.h"
#include "libhotel/base/strings.h"
#include "libhotel/store/group_rows.h"
#include "libhotel/store/text_rules.h"

namespace hotel::store {
namespace {

constexpr std::size_t kFloor = 2;
constexpr std::size_t kMaxName = 128;
constexpr std::size_t kMaxLabel = 128;
constexpr std::size_t kMaxDescription = 500;

absl::Status CheckLabels(const GroupRow& row) {
  absl::Status status = CheckCharacters("display_name", row.display_name, 0, kMaxLabel);
  if (!status.ok()) return status;
  return CheckCharacters("description", row.description, 0, kMaxDescription, Lines::kMany);
}

/// Members whose model, provider and toggle are on.
std::size_t CountRoutable(const GroupRow& row, const ModelStates& models) {
  std::size_t routable = 0;
  for (const std::string& id : row.members) {
    const auto state = models.find(id);
    if (state != models.end() && state->second && row.EntryEnabled(id)) ++routable;
  }
  return routable;
}

bool IsMember(const GroupRow& row, const std::string& id) {
  return std::find(row.members.begin(), row.members.end(), id) != row.members.end();
}

/// Replaces the members. The toggles of those that leave go with them; toggles set ahead of time
/// for ids that never were members stay.
absl::Status ReplaceMembers(GroupRow& row, const std::vector<std::string>& order) {
  if (order.empty()) return absl::InvalidArgumentError("priority_order must not be empty");
  absl::StatusOr<std::vector<std::string>> ids = NormalizeIds(order, "priority_order entry");
  if (!ids.ok()) return ids.status();
  const std::vector<std::string> before = std::exchange(row.members, *std::move(ids));
  const std::set<std::string> members(row.members.begin(), row.members.end());
  for (const std::string& id : before) {
    if (members.find(id) == members.end()) row.toggles.erase(id);
  }
  return absl::OkStatus();
}

absl::Status SetToggles(GroupRow& row, const std::vector<std::pair<std::string, bool>>& toggles) {
  const absl::Status too_many = absl::InvalidArgumentError(
      fmt::format("entry_enabled holds at most {} entries", kMaxToggles));
  if (toggles.size() > kMaxToggles) return too_many;
  for (const auto& [id, enabled] : toggles) {
    if (!base::IsUuid(id)) {
      return absl::InvalidArgumentError("invalid entry_enabled entry: " + Quoted(id));
    }
    row.toggles.insert_or_assign(base::Lower(id), enabled);
  }
  const std::set<std::string> members(row.members.begin(), row.members.end());
  std::size_t strangers = 0;
  for (const auto& [id, enabled] : row.toggles) strangers += members.count(id) == 0 ? 1 : 0;
  return strangers > kMaxToggles ? too_many : absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> NormalizeGroupName(std::string_view display_model) {
  const std::string_view trimmed = base::Trim(display_model);
  absl::Status status = CheckCharacters("display_model", trimmed, 1, kMaxName);
  if (!status.ok()) return status;
  return base::LowerCase(trimmed);
}

absl::StatusOr<std::vector<std::string>> NormalizeIds(const std::vector<std::string>& ids,
                                                      std::string_view what) {
  if (ids.size() > kMaxGroupEntries) {
    return absl::InvalidArgumentError(
        fmt::format("a failover group holds at most {} entries", kMaxGroupEntries));
  }
  std::vector<std::string> result;
  std::set<std::string> seen;
  for (const std::string& id : ids) {
    if (!base::IsUuid(id)) {
      return absl::InvalidArgumentError(fmt::format("invalid {}: {}", what, Quoted(id)));
    }
    result.push_back(base::Lower(id));
    if (!seen.insert(result.back()).second) {
      return absl::InvalidArgumentError(fmt::format("duplicate {}: {}", what, id));
    }
  }
  return result;
}

absl::Status CheckKnown(const std::vector<std::string>& ids, const ModelStates& models,
                        std::string_view what) {
  for (const std::string& id : ids) {
    if (models.find(id) == models.end()) {
      return absl::InvalidArgumentError(fmt::format("unknown {}: {}", what, id));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<GroupRow> BuildGroup(const NewFailoverGroup& group) {
  absl::StatusOr<std::string> name = NormalizeGroupName(group.display_model);
  if (!name.ok()) return name.status();
  GroupRow row;
  row.display_model = *std::move(name);
  row.display_name = group.display_name;
  row.description = group.description;
  absl::Status labels = CheckLabels(row);
  if (!labels.ok()) return labels;
  if (group.entry_ids.size() < 2) {
    return absl::InvalidArgumentError("at least 2 entries required for failover group");
  }
  absl::StatusOr<std::vector<std::string>> ids = NormalizeIds(group.entry_ids, "entry_id");
  if (!ids.ok()) return ids.status();
  row.members = *std::move(ids);
  return row;
}

absl::StatusOr<GroupRow> ApplyPatch(GroupRow row, const FailoverGroupPatch& patch) {
  if (patch.display_model.has_value()) {
    absl::StatusOr<std::string> name = NormalizeGroupName(*patch.display_model);
    if (!name.ok()) return name.status();
    // The rules of auto groups are about the name their models share: a sync would delete this one.
    if (*name != row.display_model) row.auto_created = false;
    row.display_model = *std::move(name);
  }
  if (patch.display_name.has_value()) row.display_name = *patch.display_name;
  if (patch.description.has_value()) row.description = *patch.description;
  absl::Status status = CheckLabels(row);
  if (status.ok() && patch.priority_order.has_value()) {
    status = ReplaceMembers(row, *patch.priority_order);
  }
  if (status.ok() && patch.entry_enabled.has_value()) {
    status = SetToggles(row, *patch.entry_enabled);
  }
  if (!status.ok()) return status;
  if (patch.group_enabled.has_value()) {
    row.group_enabled = *patch.group_enabled;
    // An operator chose the state: it is no longer the work of a sync or a cascade.
    row.auto_disabled_at.reset();
    row.floor_disabled_at.reset();
  }
  const bool any_enabled =
      std::any_of(row.members.begin(), row.members.end(),
                  [&row](const std::string& id) { return row.EntryEnabled(id); });
  if (row.group_enabled && !any_enabled) {
    return absl::InvalidArgumentError(
        "at least one entry must be enabled for an active failover group");
  }
  return row;
}

absl::Status CheckChange(const GroupRow& before, const GroupRow& after, const ModelStates& models) {
  std::vector<std::string> joining;
  for (const std::string& id : after.members) {
    if (!IsMember(before, id)) joining.push_back(id);
  }
  absl::Status known = CheckKnown(joining, models, "priority_order entry");
  if (!known.ok()) return known;
  if (!before.group_enabled && after.group_enabled && CountRoutable(after, models) < kFloor) {
    return absl::InvalidArgumentError(
        "a failover group needs at least 2 enabled members (model and provider enabled) to be "
        "active");
  }
  return absl::OkStatus();
}

void ApplyFloor(const GroupRow& before, const FailoverGroupPatch& patch, const ModelStates& models,
                WallTime now, GroupRow* after) {
  if (!patch.entry_enabled && !patch.priority_order) return;
  const bool enough = CountRoutable(*after, models) >= kFloor;
  if (patch.group_enabled) {
    const bool by_cascade = patch.entry_enabled && !*patch.group_enabled && before.group_enabled;
    if (by_cascade && !enough) after->floor_disabled_at = now;
    return;
  }
  if (after->group_enabled || !enough) return;
  if (!after->auto_disabled_at && !after->floor_disabled_at) return;
  after->group_enabled = true;
  after->auto_disabled_at.reset();
  after->floor_disabled_at.reset();
}

}  // namespace hotel::store
