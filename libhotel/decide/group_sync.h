// Which failover groups the models there are call for (seed 000, "Auto-Generation", "Self-Heal on
// Discovery"; decisions 10, "Pruning").
#ifndef HOTEL_DECIDE_GROUP_SYNC_H_
#define HOTEL_DECIDE_GROUP_SYNC_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hotel/discovery.h"
#include "hotel/failover_group.h"
#include "hotel/types.h"

namespace hotel::decide {

/// What a sync reads and writes of a group. No member twice.
struct GroupState {
  std::string id;  ///< "" = a new one
  std::string display_model;
  std::vector<std::string> members;     ///< UUIDs of models in order of priority
  std::map<std::string, bool> toggles;  ///< an id without one is on; may name ids of no members
  bool group_enabled = true;
  bool auto_created = false;
  std::optional<WallTime> auto_disabled_at;
  std::optional<WallTime> floor_disabled_at;

  friend bool operator==(const GroupState&, const GroupState&) = default;
};

struct SyncGroup : GroupState {
  /// It stands in the configuration file: only entries without a model leave it.
  bool declared = false;

  friend bool operator==(const SyncGroup&, const SyncGroup&) = default;
};

/// Providers as far as groups depend on them, oldest first.
struct SyncProvider {
  std::string id;
  std::string name;
  bool enabled = true;
};

enum class SyncScope {
  kAll,     ///< auto groups are made, brought up to date and deleted too
  kFloors,  ///< what an operator switched on, off or deleted tells on the groups there are
};

struct SyncPlan {
  std::vector<SyncGroup> written;    ///< new and changed ones
  std::vector<std::string> deleted;  ///< ids
  GroupChanges report;
};

/// In this order:
/// - entries whose model row is gone leave their group (`purged`);
/// - kAll: where two or more enabled models of enabled providers share a base name, the auto group
///   of that name is made or brought up to date: its order and toggles are kept, it is enabled. A
///   group of that name that was not made this way is left alone;
/// - an auto group of a name with fewer models (kAll), or of fewer than two members, is deleted;
/// - any other group is switched off when fewer than two of its members are routable (model and
///   provider enabled, toggles ignored), with `auto_disabled_at` under kAll and `floor_disabled_at`
///   under kFloors, and on again when two are and no operator had switched it off. Where a cascade
///   of toggles had done it, they count.
SyncPlan PlanGroupSync(const std::vector<SyncProvider>& providers, const std::vector<Model>& models,
                       const std::vector<SyncGroup>& groups, SyncScope scope, WallTime now);

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_GROUP_SYNC_H_
