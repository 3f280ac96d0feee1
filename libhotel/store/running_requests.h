// Requests that have run for a while and have no row yet.
//
// They are noted in the table running_requests, by the thread that writes rows, so that after a
// crash the log says what was cut.
#ifndef HOTEL_STORE_RUNNING_REQUESTS_H_
#define HOTEL_STORE_RUNNING_REQUESTS_H_

#include <cstddef>
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
  /// Of two with one id the first is kept.
  void Add(const RequestRecord& record);
  /// True when the table may hold it.
  bool End(std::string_view request_id);

  /// Somebody is not noted.
  bool HasNew() const noexcept { return new_ > 0; }
  /// Who is not noted; they count as noted from here on.
  std::vector<LogRow> TakeNew();
  /// Those could not be noted.
  void PutBack(const std::vector<LogRow>& rows);

 private:
  struct Entry {
    LogRow row;
    bool noted;
  };
  std::unordered_map<std::string, Entry, base::StringHash, std::equal_to<>> entries_;
  std::size_t new_ = 0;
};

/// Notes them, in one transaction.
absl::Status InsertRunning(Connection& connection, const std::vector<LogRow>& rows);
absl::Status DeleteRunning(Connection& connection, std::string_view request_id);

/// What the process before left running, as records of requests that were cut.
absl::StatusOr<std::vector<RequestRecord>> ReadInterrupted(Connection& connection);

}  // namespace hotel::store

#endif  // HOTEL_STORE_RUNNING_REQUESTS_H_
