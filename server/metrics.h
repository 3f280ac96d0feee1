// What happened, in numbers: the page under /metrics.
#ifndef SERVER_METRICS_H_
#define SERVER_METRICS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "hotel/events.h"
#include "hotel/hotel.h"
#include "hotel/log_store.h"
#include "hotel/request_log.h"

#include "libhotel/base/mutex.h"

namespace hotel::server {

class MetricSeries;

/// Requests that were refused before it was known who asks.
struct RefusedCallers {
  std::atomic<std::uint64_t> key = 0;      ///< no known virtual key
  std::atomic<std::uint64_t> address = 0;  ///< too many from one address
};

/// Counts records and events. Thread-safe. A record costs a look-up and a few additions; a page
/// that is being written holds up no record but the first of a new series.
class Metrics final : public RequestLog, public EventSink {
 public:
  Metrics();
  ~Metrics() override;

  void Record(const RequestRecord& record) override;
  void OnEvent(const Event& event) override;

  /// The page, with what `hotel`, `log` and `callers` say at this moment; null = they are not
  /// there. Not on a loop: it takes milliseconds when there are thousands of series.
  std::string Page(Hotel* hotel, const LogStore* log,
                   const RefusedCallers* callers = nullptr) const;

 private:
  base::Mutex mutex_;
  /// Made and looked up under the lock; collected without it.
  const std::unique_ptr<MetricSeries> series_;
};

}  // namespace hotel::server

#endif  // SERVER_METRICS_H_
