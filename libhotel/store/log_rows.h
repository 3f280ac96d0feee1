// Tables request_logs, request_attempts and request_totals: writing and purging.
#ifndef HOTEL_STORE_LOG_ROWS_H_
#define HOTEL_STORE_LOG_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hotel/request_log.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"

namespace hotel::store {

/// A copy of `record` whose texts are cut to what a row may hold: clients choose model names and
/// ids.
RequestRecord ForLog(const RequestRecord& record);

/// The trail as LogEntry::attempts describes it.
std::string EncodeAttempts(const std::vector<AttemptRecord>& attempts);

/// Writes records through statements that are prepared once.
class LogInserter {
 public:
  /// `connection` must outlive the inserter.
  static absl::StatusOr<LogInserter> Prepare(Connection* connection);

  /// Writes all of them and adds up the totals, in one transaction.
  absl::Status Insert(const std::vector<RequestRecord>& records);

 private:
  LogInserter(Connection* connection, Statement row, Statement attempt, Statement total,
              Statement minute)
      : connection_(connection),
        row_(std::move(row)),
        attempt_(std::move(attempt)),
        total_(std::move(total)),
        minute_(std::move(minute)) {}

  struct Total {
    std::int64_t requests = 0;
    std::int64_t tokens = 0;
    std::int64_t first = 0;
    std::int64_t last = 0;
  };
  using Totals = std::map<std::pair<std::string, std::string>, Total>;  // by scope and name

  absl::Status InsertRow(const RequestRecord& record);
  absl::Status InsertAttempts(const RequestRecord& record);
  absl::Status AddTotals(const Totals& totals);
  absl::Status AddMinutes(const std::vector<RequestRecord>& records);

  Connection* connection_;
  Statement row_;
  Statement attempt_;
  Statement total_;
  Statement minute_;
};

/// Deletes up to `limit` of the oldest rows of requests that came before `before`, with what
/// belongs to them, in one transaction; nullopt = of all. Returns how many.
absl::StatusOr<std::int64_t> DeleteOldest(Connection& connection, std::optional<WallTime> before,
                                          std::size_t limit);

/// Deletes the sums of minutes that ended before `before`.
absl::Status DeleteMinutes(Connection& connection, WallTime before);

}  // namespace hotel::store

#endif  // HOTEL_STORE_LOG_ROWS_H_
