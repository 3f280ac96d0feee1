// What GET /health/ready says: whether requests can be served, and what of the sidecar's own is
// wrong. Providers are not looked at: their trouble is what the sidecar is for (facts e.2).
#ifndef SERVER_READINESS_H_
#define SERVER_READINESS_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "hotel/log_store.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "libhotel/base/mutex.h"
#include "libhotel/base/worker_pool.h"
#include "server/front.h"

namespace hotel::server {

/// Thread-safe.
class Readiness {
 public:
  /// How long an answer waits for a check.
  static constexpr Duration kLimit = std::chrono::seconds(2);

  enum class Phase { kStarting, kServing, kStopping };

  /// `storage` reads the database, on a thread of the readiness's own; `tell` hears of it when that
  /// begins to fail and when it works again. `log` must outlive this; null = none is kept.
  Readiness(std::function<absl::Status()> storage, std::function<void(const absl::Status&)> tell,
            const LogStore* log)
      : storage_(std::move(storage)), tell_(std::move(tell)), log_(log) {}

  /// 200 `ready` or `degraded`, 503 `not_ready`. Waits for the check that is running, or for a new
  /// one, until that has lasted kLimit.
  Reply Check(Phase phase);

 private:
  /// nullopt: it did not answer in time.
  std::optional<absl::Status> CheckStorage();
  void Run();

  const std::function<absl::Status()> storage_;
  const std::function<void(const absl::Status&)> tell_;
  const LogStore* const log_;

  base::Mutex mutex_;
  std::condition_variable checked_;
  std::optional<TimePoint> running_since_ HOTEL_GUARDED_BY(mutex_);
  std::uint64_t checks_ HOTEL_GUARDED_BY(mutex_) = 0;  // that have ended
  absl::Status last_ HOTEL_GUARDED_BY(mutex_);
  bool failing_ HOTEL_GUARDED_BY(mutex_) = false;

  base::WorkerPool worker_;  // last: its task uses the rest
};

}  // namespace hotel::server

#endif  // SERVER_READINESS_H_
