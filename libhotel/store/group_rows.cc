#include "libhotel/store/group_rows.h"

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
#include "libhotel/base/time_text.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/group_json.h"
#include "libhotel/store/read_rows.h"

namespace hotel::store {
namespace {

constexpr const char kSelect[] =
    "SELECT id, display_model, display_name, description, priority_order, entry_enabled,"
    " group_enabled, auto_created, auto_disabled_at, floor_disabled_at, created_at, updated_at"
    " FROM model_failover_groups ";

absl::Status Damaged(const GroupRow& row, std::string_view what) {
  return absl::DataLossError(
      fmt::format("failover group '{}' in the database: {}: correct or delete the row",
                  row.display_model, what));
}

absl::StatusOr<GroupRow> ReadRow(const Statement& statement) {
  GroupRow row;
  row.id = statement.Text(0);
  row.display_model = statement.Text(1);
  row.display_name = statement.Text(2);
  row.description = statement.Text(3);
  auto members = DecodeIds(statement.Text(4));
  auto toggles = DecodeToggles(statement.Text(5));
  for (const absl::Status& status : {members.status(), toggles.status()}) {
    if (!status.ok()) return Damaged(row, std::string(status.message()));
  }
  row.members = *std::move(members);
  row.toggles = *std::move(toggles);
  row.group_enabled = statement.Bool(6);
  row.auto_created = statement.Bool(7);
  bool times_ok = true;
  const auto read_time = [&](int column) -> std::optional<WallTime> {
    if (statement.IsNull(column)) return std::nullopt;
    std::optional<WallTime> time = base::ParseTime(statement.Text(column));
    times_ok = times_ok && time.has_value();
    return time;
  };
  row.auto_disabled_at = read_time(8);
  row.floor_disabled_at = read_time(9);
  row.created_at = read_time(10).value_or(WallTime{});
  row.updated_at = read_time(11).value_or(WallTime{});
  if (!times_ok) return Damaged(row, "a time is not in RFC 3339 form");
  return row;
}

absl::StatusOr<std::optional<GroupRow>> ReadOne(absl::StatusOr<Statement> statement) {
  if (!statement.ok()) return statement.status();
  absl::StatusOr<bool> found = statement->Step();
  if (!found.ok()) return found.status();
  if (!*found) return std::optional<GroupRow>();
  absl::StatusOr<GroupRow> row = ReadRow(*statement);
  if (!row.ok()) return row.status();
  return std::optional<GroupRow>(*std::move(row));
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
  absl::StatusOr<Statement> statement = connection.Query(std::string(kSelect) + "ORDER BY rowid");
  if (!statement.ok()) return statement.status();
  std::vector<GroupRow> rows;
  for (;;) {
    absl::StatusOr<bool> more = statement->Step();
    if (!more.ok()) return more.status();
    if (!*more) return rows;
    absl::StatusOr<GroupRow> row = ReadRow(*statement);
    if (!row.ok()) return row.status();
    rows.push_back(*std::move(row));
  }
}

absl::StatusOr<std::optional<GroupRow>> ReadGroup(Connection& connection, std::string_view id) {
  return ReadOne(connection.Query(std::string(kSelect) + "WHERE id = ?", id));
}

absl::StatusOr<std::optional<GroupRow>> ReadGroupByName(Connection& connection,
                                                        std::string_view display_model) {
  return ReadOne(connection.Query(std::string(kSelect) + "WHERE display_model = ?", display_model));
}

absl::Status InsertGroup(Connection& connection, const GroupRow& row) {
  return connection.Run(
      "INSERT INTO model_failover_groups (display_model, display_name, description, priority_order,"
      " entry_enabled, group_enabled, auto_created, auto_disabled_at, floor_disabled_at, "
      "created_at,"
      " updated_at, id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      row.display_model, row.display_name, row.description, EncodeIds(row.members),
      EncodeToggles(row.toggles), row.group_enabled, row.auto_created,
      TimeText(row.auto_disabled_at), TimeText(row.floor_disabled_at),
      base::FormatTime(row.created_at), base::FormatTime(row.updated_at), row.id);
}

absl::Status UpdateGroup(Connection& connection, const GroupRow& row) {
  return connection.Run(
      "UPDATE model_failover_groups SET display_model = ?, display_name = ?, description = ?,"
      " priority_order = ?, entry_enabled = ?, group_enabled = ?, auto_created = ?,"
      " auto_disabled_at = ?, floor_disabled_at = ?, created_at = ?, updated_at = ? WHERE id = ?",
      row.display_model, row.display_name, row.description, EncodeIds(row.members),
      EncodeToggles(row.toggles), row.group_enabled, row.auto_created,
      TimeText(row.auto_disabled_at), TimeText(row.floor_disabled_at),
      base::FormatTime(row.created_at), base::FormatTime(row.updated_at), row.id);
}

absl::Status DeleteGroup(Connection& connection, std::string_view id) {
  return connection.Run("DELETE FROM model_failover_groups WHERE id = ?", id);
}

}  // namespace hotel::store
