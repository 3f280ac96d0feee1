// What the tests of the request log share.
#ifndef HOTEL_TESTS_UNIT_STORE_LOG_FIXTURE_H_
#define HOTEL_TESTS_UNIT_STORE_LOG_FIXTURE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hotel/events.h"
#include "hotel/log_store.h"

#include "tests/unit/store/store_fixture.h"

namespace hotel::store {

using std::chrono::milliseconds;

/// Long enough for anything that happens at all.
inline constexpr Duration kLong = std::chrono::seconds(60);
inline constexpr char kAcme[] = "aaaaaaaa-0000-4000-8000-000000000001";
inline constexpr char kOther[] = "aaaaaaaa-0000-4000-8000-000000000002";

class EventList final : public EventSink {
 public:
  void OnEvent(const Event& event) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    events_.push_back(event);
  }
  int Count(const std::string& type) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    int count = 0;
    for (const Event& event : events_) count += event.type == type ? 1 : 0;
    return count;
  }
  /// The metadata `name` of all events of a type, added up.
  std::int64_t Sum(const std::string& type, const std::string& name) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::int64_t sum = 0;
    for (const Event& event : events_) {
      if (event.type != type) continue;
      for (const auto& [key, value] : event.metadata) {
        if (key == name) sum += std::get<std::int64_t>(value);
      }
    }
    return sum;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Event> events_;
};

inline LogStoreOptions LogOptions(const std::string& path) {
  LogStoreOptions options;
  options.path = path;
  options.flush_interval = milliseconds(1);
  options.retry_interval = milliseconds(1);
  options.busy_timeout = milliseconds(1);
  return options;
}

/// A served chat request, `after` the epoch of TestClock.
inline RequestRecord RecordOf(const std::string& id, milliseconds after = {}) {
  RequestRecord record;
  record.request_id = id;
  record.requested_model = "hotel/glm";
  record.resolved_model = "z-ai/glm";
  record.provider_id = kAcme;
  record.provider = "acme";
  record.key_name = "dev";
  record.status = 200;
  record.created_at = TestClock().wall + after;
  record.duration = milliseconds(1500);
  AttemptRecord attempt;
  attempt.attempt = 0;
  attempt.provider_id = kAcme;
  attempt.provider = "acme";
  attempt.model = "z-ai/glm";
  attempt.tries = 1;
  attempt.status = 200;
  attempt.duration = milliseconds(1400);
  attempt.breaker = BreakerEffect::kSuccess;
  record.attempts = {attempt};
  return record;
}

/// The request ids of a page, joined.
inline std::string IdsOf(const std::vector<LogEntry>& entries) {
  std::string ids;
  for (const LogEntry& entry : entries) ids += (ids.empty() ? "" : " ") + entry.request_id;
  return ids;
}

}  // namespace hotel::store

#endif  // HOTEL_TESTS_UNIT_STORE_LOG_FIXTURE_H_
