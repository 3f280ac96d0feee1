#include "libhotel/store/group_rows.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "hotel/failover_group.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/group_json.h"
#include "libhotel/store/read_rows.h"
#include "libhotel/store/table.h"

namespace hotel::store {
namespace {

template <typename T>
struct IdsText {
  T& ids;
};
template <typename T>
IdsText(T&) -> IdsText<T>;
absl::Status ReadCell(const Statement& row, int column, IdsText<std::vector<std::string>> text) {
  auto ids = DecodeIds(row.Text(column));
  if (ids.ok()) text.ids = *std::move(ids);
  return ids.status();
}
SqlValue CellOf(IdsText<const std::vector<std::string>> text) { return EncodeIds(text.ids); }

template <typename T>
struct TogglesText {
  T& toggles;
};
template <typename T>
TogglesText(T&) -> TogglesText<T>;
absl::Status ReadCell(const Statement& row, int column,
                      TogglesText<std::map<std::string, bool>> text) {
  auto toggles = DecodeToggles(row.Text(column));
  if (toggles.ok()) text.toggles = *std::move(toggles);
  return toggles.status();
}
SqlValue CellOf(TogglesText<const std::map<std::string, bool>> text) {
  return EncodeToggles(text.toggles);
}

struct GroupTable {
  using Row = GroupRow;
  static constexpr std::string_view kName = "model_failover_groups";
  template <typename R, typename Visit>
  static void Columns(R& row, Visit&& visit) {
    visit("id", row.id, When::kOnce);
    visit("display_model", row.display_model, When::kAlways);
    visit("display_name", row.display_name, When::kAlways);
    visit("description", row.description, When::kAlways);
    visit("priority_order", IdsText{row.members}, When::kAlways);
    visit("entry_enabled", TogglesText{row.toggles}, When::kAlways);
    visit("group_enabled", row.group_enabled, When::kAlways);
    visit("auto_created", row.auto_created, When::kAlways);
    visit("auto_disabled_at", StrictTime{row.auto_disabled_at}, When::kAlways);
    visit("floor_disabled_at", StrictTime{row.floor_disabled_at}, When::kAlways);
    visit("created_at", StrictTime{row.created_at}, When::kOnce);
    visit("updated_at", StrictTime{row.updated_at}, When::kAlways);
  }
};

absl::StatusOr<GroupRow> GroupOf(const Statement& statement) {
  GroupRow row;
  const absl::Status read = ReadRow<GroupTable>(statement, &row);
  if (read.ok()) return row;
  return absl::DataLossError(
      fmt::format("failover group '{}' in the database: {}: correct or delete the row",
                  row.display_model, std::string(read.message())));
}

}  // namespace

bool GroupRow::EntryEnabled(const std::string& model_uuid) const {
  const auto toggle = toggles.find(model_uuid);
  return toggle == toggles.end() || toggle->second;
}

FailoverGroup ToFailoverGroup(GroupRow row) {
  FailoverGroup group;
  for (const std::string& id : row.members) {
    group.entries.push_back(GroupEntry{id, row.EntryEnabled(id)});
  }
  group.id = std::move(row.id);
  group.display_model = std::move(row.display_model);
  group.display_name = std::move(row.display_name);
  group.description = std::move(row.description);
  group.group_enabled = row.group_enabled;
  group.auto_created = row.auto_created;
  group.auto_disabled_at = row.auto_disabled_at;
  group.floor_disabled_at = row.floor_disabled_at;
  group.created_at = row.created_at;
  group.updated_at = row.updated_at;
  return group;
}

absl::StatusOr<std::vector<GroupRow>> ReadGroups(Connection& connection) {
  return ReadAll(connection.Query(SelectFrom<GroupTable>("ORDER BY rowid")), &GroupOf);
}

absl::StatusOr<std::optional<GroupRow>> ReadGroup(Connection& connection, std::string_view id) {
  return ReadOne(connection.Query(SelectFrom<GroupTable>("WHERE id = ?"), id), &GroupOf);
}

absl::StatusOr<std::optional<GroupRow>> ReadGroupByName(Connection& connection,
                                                        std::string_view display_model) {
  return ReadOne(connection.Query(SelectFrom<GroupTable>("WHERE display_model = ?"), display_model),
                 &GroupOf);
}

absl::Status InsertGroup(Connection& connection, const GroupRow& row) {
  return InsertRow<GroupTable>(connection, row);
}

absl::Status UpdateGroup(Connection& connection, const GroupRow& row) {
  return UpdateRow<GroupTable>(connection, row);
}

absl::Status DeleteGroup(Connection& connection, std::string_view id) {
  return DeleteRow<GroupTable>(connection, id);
}

}  // namespace hotel::store
