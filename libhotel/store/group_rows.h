// Table model_failover_groups.
#ifndef HOTEL_STORE_GROUP_ROWS_H_
#define HOTEL_STORE_GROUP_ROWS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/failover_group.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/decide/group_sync.h"
#include "libhotel/store/connection.h"

namespace hotel::store {

/// One row, decoded.
struct GroupRow : decide::GroupState {
  std::string display_name;
  std::string description;
  WallTime created_at{};
  WallTime updated_at{};

  /// A member without a toggle is on.
  bool EntryEnabled(const std::string& model_uuid) const;
  friend bool operator==(const GroupRow&, const GroupRow&) = default;
};

/// The public form of a row.
FailoverGroup ToFailoverGroup(GroupRow row);

/// All groups, oldest first. DataLoss when a column does not decode.
absl::StatusOr<std::vector<GroupRow>> ReadGroups(Connection& connection);
/// nullopt when there is none.
absl::StatusOr<std::optional<GroupRow>> ReadGroup(Connection& connection, std::string_view id);
absl::StatusOr<std::optional<GroupRow>> ReadGroupByName(Connection& connection,
                                                        std::string_view display_model);
absl::Status InsertGroup(Connection& connection, const GroupRow& row);
/// Overwrites the row with that id.
absl::Status UpdateGroup(Connection& connection, const GroupRow& row);
absl::Status DeleteGroup(Connection& connection, std::string_view id);

}  // namespace hotel::store

#endif  // HOTEL_STORE_GROUP_ROWS_H_
