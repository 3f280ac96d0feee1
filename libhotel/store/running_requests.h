// Requests that have begun and have no row yet.
//
// Those that run for a while are noted in the table running_requests, by the thread that writes
// rows, so that after a crash the log says what was cut. Most requests end before they are looked
// at and never touch the disk for it.
#ifndef HOTEL_STORE_RUNNING_REQUESTS_H_
#define HOTEL_STORE_RUNNING_REQUESTS_H_

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hotel/request_log.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/string_hash.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/log_row.h"

namespace hotel::store {

/// Who runs. Not thread-safe; as large as there are requests.
class RunningRequests {
 public:
  using Steady = std::chrono::steady_clock;

  /// Of two with one id the first is kept.
  void Begin(const RequestRecord& record, Steady::time_point now);
  /// True when the table may hold it.
  bool End(std::string_view request_id);

  /// What began before `began` and is not noted; it counts as noted from here on.
  std::vector<LogRow> TakeLongRunning(Steady::time_point began);
  /// Those could not be noted.
  void PutBack(const std::vector<LogRow>& rows);

 private:
  struct Entry {
    LogRow row;
    Steady::time_point began;
    bool noted;
  };
  std::unordered_map<std::string, Entry, base::StringHash, std::equal_to<>> entries_;
};

/// Notes them, in one transaction.
absl::Status InsertRunning(Connection& connection, const std::vector<LogRow>& rows);
absl::Status DeleteRunning(Connection& connection, std::string_view request_id);

/// What the process before left running, as records of requests that were cut.
absl::StatusOr<std::vector<RequestRecord>> ReadInterrupted(Connection& connection);

}  // namespace hotel::store

#endif  // HOTEL_STORE_RUNNING_REQUESTS_H_
