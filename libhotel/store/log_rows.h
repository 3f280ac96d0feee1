// Tables request_logs, request_attempts and request_totals: writing and purging.
#ifndef HOTEL_STORE_LOG_ROWS_H_
#define HOTEL_STORE_LOG_ROWS_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/log_row.h"

namespace hotel::store {

/// Writes rows through statements that are prepared once.
class LogInserter {
 public:
  /// `connection` must outlive the inserter.
  static absl::StatusOr<LogInserter> Prepare(Connection* connection);

  /// Writes all of them and adds up the totals, in one transaction.
  absl::Status Insert(const std::vector<LogRow>& rows);

 private:
  LogInserter(Connection* connection, Statement row, Statement attempt, Statement total,
              Statement minute)
      : connection_(connection),
        row_(std::move(row)),
        attempt_(std::move(attempt)),
        total_(std::move(total)),
        minute_(std::move(minute)) {}

  absl::Status InsertRow(const LogRow& row);
  absl::Status InsertAttempts(const LogRow& row);
  absl::Status AddTotals(const std::vector<LogRow>& rows);
  absl::Status AddMinutes(const std::vector<LogRow>& rows);

  Connection* connection_;
  Statement row_;
  Statement attempt_;
  Statement total_;
  Statement minute_;
};

/// Deletes some thousand rows of requests that came before `before`, with what belongs to them, in
/// one transaction; nullopt = of all. Returns how many: 0 when none is left.
absl::StatusOr<std::int64_t> DeleteSome(Connection& connection, std::optional<WallTime> before);

/// Deletes the sums of minutes that ended before `before`.
absl::Status DeleteMinutes(Connection& connection, WallTime before);

}  // namespace hotel::store

#endif  // HOTEL_STORE_LOG_ROWS_H_
