// Which rows of the request log match a filter, from the columns of its segments.
#ifndef HOTEL_STORE_LOG_SCAN_H_
#define HOTEL_STORE_LOG_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "hotel/log_store.h"

#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"

namespace hotel::store {

/// Where a row stands in the order of the log.
struct LogPlace {
  std::int64_t at = 0;  ///< arrival of the request, in milliseconds since 1970
  std::int64_t seq = 0;
};

struct LogWish {
  const LogFilter* filter = nullptr;
  LogOrder order = LogOrder::kNewestFirst;
  std::size_t offset = 0;
  std::size_t limit = 0;
  std::optional<LogPlace> behind;  ///< rows that come after this one in that order
  std::int64_t count_up_to = 0;    ///< rows that match are counted so far; 0 = not at all
};

struct LogMatches {
  std::vector<LogPlace> places;  ///< the page, in order
  std::int64_t count = 0;
  bool exact = true;  ///< otherwise more match than were counted
};

/// The connection must be in a transaction: what is in a segment and what is in none has to be of
/// one moment. DataLoss for columns that do not read.
absl::StatusOr<LogMatches> ScanLog(Connection& connection, const LogWish& wish);

/// Number of the newest row with that id; nullopt when there is none. As ScanLog.
absl::StatusOr<std::optional<std::int64_t>> FindRow(Connection& connection,
                                                    std::string_view request_id);

}  // namespace hotel::store

#endif  // HOTEL_STORE_LOG_SCAN_H_
