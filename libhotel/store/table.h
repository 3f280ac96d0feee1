// A table whose rows are values: its columns are named once, and its statements follow from them.
//
// A table is a struct with the type `Row`, its name `kName`, and
//   template <typename R, typename Visit> static void Columns(R& row, Visit&& visit)
// which calls visit(name, member, When) for every column, `id` first; R is Row or const Row. A
// member is of a type that has ReadCell and CellOf here, or a wrapper around it that has them.
#ifndef HOTEL_STORE_TABLE_H_
#define HOTEL_STORE_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/time_text.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/read_rows.h"

namespace hotel::store {

/// When a column is written.
enum class When {
  kOnce,    ///< with the row
  kAlways,  ///< with every change of it
};

inline absl::Status ReadCell(const Statement& row, int column, std::string& value) {
  value = row.Text(column);
  return absl::OkStatus();
}
inline absl::Status ReadCell(const Statement& row, int column, bool& value) {
  value = row.Bool(column);
  return absl::OkStatus();
}
inline absl::Status ReadCell(const Statement& row, int column, int& value) {
  value = static_cast<int>(row.Integer(column));
  return absl::OkStatus();
}
inline absl::Status ReadCell(const Statement& row, int column, std::int64_t& value) {
  value = row.Integer(column);
  return absl::OkStatus();
}
inline absl::Status ReadCell(const Statement& row, int column, double& value) {
  value = row.Real(column);
  return absl::OkStatus();
}
inline absl::Status ReadCell(const Statement& row, int column, WallTime& value) {
  value = TimeAt(row, column);
  return absl::OkStatus();
}
inline absl::Status ReadCell(const Statement& row, int column, std::optional<WallTime>& value) {
  value = OptionalTimeAt(row, column);
  return absl::OkStatus();
}
template <typename T>
absl::Status ReadCell(const Statement& row, int column, std::optional<T>& value) {
  if (row.IsNull(column)) return absl::OkStatus();
  return ReadCell(row, column, value.emplace());
}

inline SqlValue CellOf(const std::string& value) { return value; }
inline SqlValue CellOf(bool value) { return std::int64_t{value}; }
inline SqlValue CellOf(int value) { return std::int64_t{value}; }
inline SqlValue CellOf(std::int64_t value) { return value; }
inline SqlValue CellOf(double value) { return value; }
inline SqlValue CellOf(WallTime value) { return base::FormatTime(value); }
template <typename T>
SqlValue CellOf(const std::optional<T>& value) {
  return value.has_value() ? CellOf(*value) : SqlValue(nullptr);
}

/// A time that must read, where TimeAt would pass over one that does not.
template <typename T>
struct StrictTime {
  T& value;
};
template <typename T>
StrictTime(T&) -> StrictTime<T>;
template <typename T>
absl::Status ReadCell(const Statement& row, int column, StrictTime<T> time) {
  if (!row.IsNull(column) && !base::ParseTime(row.Text(column))) {
    return absl::DataLossError("a time is not in RFC 3339 form");
  }
  return ReadCell(row, column, time.value);
}
template <typename T>
SqlValue CellOf(StrictTime<T> time) {
  return CellOf(time.value);
}

/// Reads the current row of SelectFrom. What does not decode is an error without a word on where it
/// stands; `row` then holds the columns before it.
template <typename Table>
absl::Status ReadRow(const Statement& statement, typename Table::Row* row) {
  int column = 0;
  absl::Status status;
  Table::Columns(*row, [&](std::string_view, auto&& member, When) {
    if (status.ok()) status = ReadCell(statement, column++, member);
  });
  return status;
}

/// The same for a table in which every cell decodes.
template <typename Table>
typename Table::Row RowAt(const Statement& statement) {
  typename Table::Row row;
  ReadRow<Table>(statement, &row).IgnoreError();
  return row;
}

/// "SELECT <columns> FROM <table> <rest>".
template <typename Table>
std::string SelectFrom(std::string_view rest) {
  std::string sql;
  const typename Table::Row row{};
  Table::Columns(row, [&](std::string_view name, auto&&, When) {
    sql.append(sql.empty() ? "SELECT " : ", ").append(name);
  });
  return sql.append(" FROM ").append(Table::kName).append(" ").append(rest);
}

template <typename Table>
absl::Status InsertRow(Connection& connection, const typename Table::Row& row) {
  std::string names;
  std::string marks;
  std::vector<SqlValue> cells;
  Table::Columns(row, [&](std::string_view name, auto&& member, When) {
    names.append(names.empty() ? "" : ", ").append(name);
    marks.append(marks.empty() ? "?" : ", ?");
    cells.push_back(CellOf(member));
  });
  return connection.RunList(
      fmt::format("INSERT INTO {} ({}) VALUES ({})", Table::kName, names, marks), cells);
}

/// Overwrites the row with that id, but for what is written once.
template <typename Table>
absl::Status UpdateRow(Connection& connection, const typename Table::Row& row) {
  std::string changes;
  std::vector<SqlValue> cells;
  SqlValue id = nullptr;
  Table::Columns(row, [&](std::string_view name, auto&& member, When when) {
    if (name == "id") id = CellOf(member);
    if (when == When::kOnce) return;
    changes.append(changes.empty() ? "" : ", ").append(name).append(" = ?");
    cells.push_back(CellOf(member));
  });
  cells.push_back(std::move(id));
  return connection.RunList(fmt::format("UPDATE {} SET {} WHERE id = ?", Table::kName, changes),
                            cells);
}

template <typename Table>
absl::Status DeleteRow(Connection& connection, std::string_view id) {
  return connection.Run(fmt::format("DELETE FROM {} WHERE id = ?", Table::kName), id);
}

}  // namespace hotel::store

#endif  // HOTEL_STORE_TABLE_H_
