// Reading the request log by filters.
//
// The planner knows nothing about how the rows are spread, so the query says which index it wants:
// the one of the strongest filter, which with the time behind it also gives the order. What is not
// fast then is to find that two filters which let many rows pass each let none pass together.
#ifndef HOTEL_STORE_LOG_QUERY_H_
#define HOTEL_STORE_LOG_QUERY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "hotel/log_store.h"

#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"

namespace hotel::store {

/// Where a page begins: behind the first `offset` rows, or behind the row `behind`.
struct LogStart {
  std::size_t offset = 0;
  const LogEntry* behind = nullptr;  ///< with LogOrder::kNewestFirst only
};

absl::StatusOr<std::vector<LogEntry>> ReadLog(Connection& connection, const LogFilter& filter,
                                              const LogStart& start, std::size_t limit,
                                              LogOrder order);

struct LogCount {
  std::int64_t rows = 0;
  bool exact = true;
};
/// How many rows match, as LogPage::total says.
absl::StatusOr<LogCount> CountLog(Connection& connection, const LogFilter& filter);

/// True when the filter lets every row pass.
bool IsEmpty(const LogFilter& filter);

/// The newest row with that id.
absl::StatusOr<std::optional<LogEntry>> FindLogEntry(Connection& connection,
                                                     std::string_view request_id);

/// By name.
absl::StatusOr<std::vector<UsageTotal>> ReadTotals(Connection& connection, LogReader::Scope scope);

/// By provider id.
absl::StatusOr<std::vector<UsageSums>> ReadSums(Connection& connection, WallTime from);

/// By time.
absl::StatusOr<std::vector<UsagePoint>> ReadSeries(Connection& connection, WallTime from,
                                                   std::chrono::minutes step);

}  // namespace hotel::store

#endif  // HOTEL_STORE_LOG_QUERY_H_
