#include "libhotel/decide/group_sync.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "libhotel/base/strings.h"

namespace hotel::decide {
namespace {

constexpr std::size_t kFloor = 2;
constexpr std::size_t kMostName = 128;
constexpr std::size_t kMostMembers = 1000;
constexpr const char* kNeedTwo = "(need 2+ for failover)";

bool IsOn(const GroupState& group, const std::string& id) {
  const auto toggle = group.toggles.find(id);
  return toggle == group.toggles.end() || toggle->second;
}

bool IsGroupName(std::string_view name) {
  return !name.empty() && base::CountCharacters(name) <= kMostName && base::Trim(name) == name &&
         std::none_of(name.begin(), name.end(), base::IsAsciiControl);
}

class Sync {
 public:
  Sync(const std::vector<SyncProvider>& providers, const std::vector<Model>& models, WallTime now)
      : now_(now) {
    std::size_t rank = 0;
    for (const SyncProvider& provider : providers) {
      providers_.emplace(provider.id, std::pair{&provider, rank++});
    }
    for (const Model& model : models) {
      models_.emplace(model.id, &model);
      if (IsRoutable(model)) bases_[BaseModelName(model.model_id)].push_back(&model);
    }
    for (auto& [base, sharing] : bases_) {
      std::stable_sort(sharing.begin(), sharing.end(), [this](const Model* a, const Model* b) {
        if (a->model_id != b->model_id) return a->model_id < b->model_id;
        return RankOf(*a) < RankOf(*b);
      });
      if (sharing.size() > kMostMembers) sharing.resize(kMostMembers);
    }
  }

  SyncPlan Run(const std::vector<SyncGroup>& groups, SyncScope scope) {
    std::unordered_set<std::string_view> names;
    for (const SyncGroup& before : groups) {
      names.insert(before.display_model);
      SyncGroup after = before;
      Purge(&after);
      const bool stays =
          after.auto_created ? RefreshAuto(&after, scope) : (KeepFloor(&after, scope), true);
      if (!stays) {
        plan_.deleted.push_back(after.id);
      } else if (after != before) {
        plan_.written.push_back(std::move(after));
      }
    }
    if (scope == SyncScope::kAll) {
      for (const auto& [base, sharing] : bases_) {
        if (sharing.size() >= kFloor && IsGroupName(base) && names.count(base) == 0) {
          Create(base, sharing);
        }
      }
    }
    return std::move(plan_);
  }

 private:
  const SyncProvider* ProviderOf(const Model& model) const {
    const auto found = providers_.find(model.provider_id);
    return found == providers_.end() ? nullptr : found->second.first;
  }
  std::size_t RankOf(const Model& model) const { return providers_.at(model.provider_id).second; }
  bool IsRoutable(const Model& model) const {
    const SyncProvider* const provider = ProviderOf(model);
    return model.enabled && provider != nullptr && provider->enabled;
  }
  const Model* FindModel(const std::string& id) const {
    const auto found = models_.find(id);
    return found == models_.end() ? nullptr : found->second;
  }

  void Purge(GroupState* group) {
    GroupChanges::Purged purged{group->display_model, {}};
    const auto gone = [&](const std::string& id) {
      if (FindModel(id) != nullptr) return false;
      purged.pruned_model_ids.push_back(id);
      group->toggles.erase(id);
      return true;
    };
    group->members.erase(std::remove_if(group->members.begin(), group->members.end(), gone),
                         group->members.end());
    if (!purged.pruned_model_ids.empty()) plan_.report.purged.push_back(std::move(purged));
  }

  /// False when the group is to go.
  bool RefreshAuto(GroupState* group, SyncScope scope) {
    if (scope == SyncScope::kFloors) {
      if (group->members.size() >= kFloor) return true;
      ReportDeleted(*group, RoutableOf(*group));
      return false;
    }
    const auto found = bases_.find(group->display_model);
    const std::vector<const Model*> sharing =
        found == bases_.end() ? std::vector<const Model*>() : found->second;
    if (sharing.size() < kFloor) {
      ReportDeleted(*group, sharing);
      return false;
    }
    GroupChanges::Updated updated{group->display_model, {}, {}};
    std::unordered_set<std::string> wanted;
    for (const Model* model : sharing) wanted.insert(model->id);
    const auto left = [&](const std::string& id) {
      // What is wanted twice is wanted once: afterwards only newcomers are left in the set.
      if (wanted.erase(id) != 0) return false;
      updated.removed_model_ids.push_back(FindModel(id)->model_id);
      group->toggles.erase(id);
      return true;
    };
    group->members.erase(std::remove_if(group->members.begin(), group->members.end(), left),
                         group->members.end());
    for (const Model* model : sharing) {
      if (wanted.count(model->id) == 0) continue;
      group->members.push_back(model->id);
      updated.added_model_ids.push_back(model->model_id);
    }
    group->group_enabled = true;
    group->auto_disabled_at.reset();
    group->floor_disabled_at.reset();
    if (!updated.removed_model_ids.empty() || !updated.added_model_ids.empty()) {
      plan_.report.updated.push_back(std::move(updated));
    }
    return true;
  }

  std::vector<const Model*> RoutableOf(const GroupState& group) const {
    std::vector<const Model*> routable;
    for (const std::string& id : group.members) {
      const Model* const model = FindModel(id);
      if (model != nullptr && IsRoutable(*model)) routable.push_back(model);
    }
    return routable;
  }

  void ReportDeleted(const GroupState& group, const std::vector<const Model*>& left) {
    GroupChanges::Deleted deleted{group.display_model, {}, 0, {}};
    for (const Model* model : left) {
      const std::string& name = ProviderOf(*model)->name;
      auto& names = deleted.provider_names;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    deleted.provider_count = deleted.provider_names.size();
    deleted.reason = deleted.provider_count == 0 ? fmt::format("no enabled provider {}", kNeedTwo)
                                                 : fmt::format("only {} enabled provider {}",
                                                               deleted.provider_count, kNeedTwo);
    plan_.report.deleted.push_back(std::move(deleted));
  }

  void KeepFloor(SyncGroup* group, SyncScope scope) {
    if (group->declared) return;
    const std::vector<const Model*> routable = RoutableOf(*group);
    std::size_t effective = routable.size();
    if (group->group_enabled) {
      if (effective >= kFloor) return;
      group->group_enabled = false;
      (scope == SyncScope::kAll ? group->auto_disabled_at : group->floor_disabled_at) = now_;
      plan_.report.disabled.push_back({group->display_model, effective,
                                       fmt::format("fewer than 2 routable members {}", kNeedTwo)});
      return;
    }
    if (!group->auto_disabled_at && !group->floor_disabled_at) return;  // an operator's choice
    if (group->floor_disabled_at) {
      effective = static_cast<std::size_t>(
          std::count_if(routable.begin(), routable.end(),
                        [group](const Model* model) { return IsOn(*group, model->id); }));
    }
    if (effective < kFloor) return;
    // Toggles are a choice that the router honors, but with all of them off there is no group.
    if (std::none_of(group->members.begin(), group->members.end(),
                     [group](const std::string& id) { return IsOn(*group, id); })) {
      return;
    }
    group->group_enabled = true;
    group->auto_disabled_at.reset();
    group->floor_disabled_at.reset();
    plan_.report.enabled.push_back(
        {group->display_model, effective, "2 or more routable members again"});
  }

  void Create(const std::string& base, const std::vector<const Model*>& sharing) {
    SyncGroup group;
    group.display_model = base;
    group.auto_created = true;
    GroupChanges::Updated updated{base, {}, {}};
    for (const Model* model : sharing) {
      group.members.push_back(model->id);
      updated.added_model_ids.push_back(model->model_id);
    }
    plan_.written.push_back(std::move(group));
    plan_.report.updated.push_back(std::move(updated));
  }

  const WallTime now_;
  std::unordered_map<std::string, std::pair<const SyncProvider*, std::size_t>> providers_;
  std::unordered_map<std::string, const Model*> models_;
  std::map<std::string, std::vector<const Model*>> bases_;  // routable models, in order
  SyncPlan plan_;
};

}  // namespace

SyncPlan PlanGroupSync(const std::vector<SyncProvider>& providers, const std::vector<Model>& models,
                       const std::vector<SyncGroup>& groups, SyncScope scope, WallTime now) {
  return Sync(providers, models, now).Run(groups, scope);
}

}  // namespace hotel::decide
