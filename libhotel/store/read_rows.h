// Rows of a query as values.
#ifndef HOTEL_STORE_READ_ROWS_H_
#define HOTEL_STORE_READ_ROWS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hotel/types.h"

#include "absl/status/statusor.h"
#include "libhotel/base/time_text.h"
#include "libhotel/store/connection.h"

namespace hotel::store {

/// A time that does not read, in a file that was edited by hand, is no reason to refuse the file.
inline WallTime TimeAt(const Statement& statement, int column) {
  return base::ParseTime(statement.Text(column)).value_or(WallTime{});
}

inline std::optional<WallTime> OptionalTimeAt(const Statement& statement, int column) {
  if (statement.IsNull(column)) return std::nullopt;
  return base::ParseTime(statement.Text(column));
}

/// NULL for none.
inline std::optional<std::string> TimeText(std::optional<WallTime> time) {
  if (!time.has_value()) return std::nullopt;
  return base::FormatTime(*time);
}

/// What a function that reads a row makes of it: T, or StatusOr<T> where a row may not decode.
template <typename T>
struct RowType {
  using type = T;
};
template <typename T>
struct RowType<absl::StatusOr<T>> {
  using type = T;
};
template <typename Read>
using RowOf = typename RowType<Read>::type;

/// Every row there is, or the first one's error that does not decode.
template <typename Read>
absl::StatusOr<std::vector<RowOf<Read>>> ReadAll(absl::StatusOr<Statement> statement,
                                                 Read (*row_of)(const Statement&)) {
  if (!statement.ok()) return statement.status();
  std::vector<RowOf<Read>> rows;
  for (;;) {
    absl::StatusOr<bool> more = statement->Step();
    if (!more.ok()) return more.status();
    if (!*more) return rows;
    absl::StatusOr<RowOf<Read>> row = row_of(*statement);
    if (!row.ok()) return row.status();
    rows.push_back(*std::move(row));
  }
}

/// The first row; nullopt when there is none.
template <typename Read>
absl::StatusOr<std::optional<RowOf<Read>>> ReadOne(absl::StatusOr<Statement> statement,
                                                   Read (*row_of)(const Statement&)) {
  auto rows = ReadAll(std::move(statement), row_of);
  if (!rows.ok()) return rows.status();
  if (rows->empty()) return std::optional<RowOf<Read>>();
  return std::optional<RowOf<Read>>(std::move(rows->front()));
}

}  // namespace hotel::store

#endif  // HOTEL_STORE_READ_ROWS_H_
