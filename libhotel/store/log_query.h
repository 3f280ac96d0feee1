// Reading the request log and its sums.
#ifndef HOTEL_STORE_LOG_QUERY_H_
#define HOTEL_STORE_LOG_QUERY_H_

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "hotel/log_store.h"

#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/log_scan.h"

namespace hotel::store {

/// A page of the log with the count that the wish asks for.
absl::StatusOr<LogPage> ReadLog(Connection& connection, const LogWish& wish);

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
