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

/// Every row there is.
template <typename T>
absl::StatusOr<std::vector<T>> ReadAll(absl::StatusOr<Statement> statement,
                                       T (*row_of)(const Statement&)) {
  if (!statement.ok()) return statement.status();
  std::vector<T> rows;
  for (;;) {
    absl::StatusOr<bool> more = statement->Step();
    if (!more.ok()) return more.status();
    if (!*more) return rows;
    rows.push_back(row_of(*statement));
  }
}

/// The first row; nullopt when there is none.
template <typename T>
absl::StatusOr<std::optional<T>> ReadOne(absl::StatusOr<Statement> statement,
                                         T (*row_of)(const Statement&)) {
  absl::StatusOr<std::vector<T>> rows = ReadAll(std::move(statement), row_of);
  if (!rows.ok()) return rows.status();
  return rows->empty() ? std::optional<T>() : std::optional<T>(std::move(rows->front()));
}

}  // namespace hotel::store

#endif  // HOTEL_STORE_READ_ROWS_H_
