// The rules a failover group obeys (seed 000, "Validation Rules", "API Reference"). Pure: what a
// rule needs to know about models is handed in.
#ifndef HOTEL_STORE_GROUP_RULES_H_
#define HOTEL_STORE_GROUP_RULES_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/failover_group.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/store/group_rows.h"

namespace hotel::store {

/// The most members a group may have: a request walks all of them at worst.
inline constexpr std::size_t kMaxGroupEntries = 1000;
/// The most toggles in one update, and the most that are kept for ids that are no members.
inline constexpr std::size_t kMaxToggles = 100;

/// Known models by UUID, and whether each is routable (it and its provider are enabled).
using ModelStates = std::map<std::string, bool>;

/// Trimmed and lower-cased; InvalidArgument unless 1-128 bytes of plain text are left.
absl::StatusOr<std::string> NormalizeGroupName(std::string_view display_model);

/// UUIDs lower-cased; InvalidArgument naming `what` and the id for a malformed or repeated one.
absl::StatusOr<std::vector<std::string>> NormalizeIds(const std::vector<std::string>& ids,
                                                      std::string_view what);

/// InvalidArgument naming `what` and the first of `ids` that `models` lacks.
absl::Status CheckKnown(const std::vector<std::string>& ids, const ModelStates& models,
                        std::string_view what);

/// A new, enabled group; id and times are left to the caller, as are unknown members and the
/// uniqueness of the name.
absl::StatusOr<GroupRow> BuildGroup(const NewFailoverGroup& group);

/// `patch` applied to `row`, by the rules that need nothing but the two.
absl::StatusOr<GroupRow> ApplyPatch(GroupRow row, const FailoverGroupPatch& patch);

/// The rules of a change from `before` to `after` that depend on models: members that join are
/// known (members that stay may have lost their model), and a group that is switched on has two
/// routable members. `models` covers the members of `after`.
absl::Status CheckChange(const GroupRow& before, const GroupRow& after, const ModelStates& models);

/// What a change of toggles or members says about the group as a whole: one that is switched off
/// together with toggles that leave fewer than two routable entries was switched off by them
/// (`floor_disabled_at`), and one that was not switched off by an operator is switched on again
/// when two are routable (seed 000, "Manage Providers").
void ApplyFloor(const GroupRow& before, const FailoverGroupPatch& patch, const ModelStates& models,
                WallTime now, GroupRow* after);

}  // namespace hotel::store

#endif  // HOTEL_STORE_GROUP_RULES_H_
