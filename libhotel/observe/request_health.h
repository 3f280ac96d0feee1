// The health window of a process: records in, sums out (R78, R82).
#ifndef HOTEL_OBSERVE_REQUEST_HEALTH_H_
#define HOTEL_OBSERVE_REQUEST_HEALTH_H_

#include <optional>
#include <string_view>

#include "hotel/clock.h"
#include "hotel/request_log.h"

#include "libhotel/base/mutex.h"
#include "libhotel/decide/health_window.h"

namespace hotel::observe {

/// What an attempt says about its provider; nullopt when it says nothing: nothing was sent, the
/// client left, another candidate won the race, the gateway itself was at fault. A deadline that
/// passed is an error. The text is `attempt`'s.
std::optional<decide::Outcome> OutcomeOf(const AttemptRecord& attempt);

/// Thread-safe. Only requests of clients are recorded, so probes of the gateway's own do not count.
class RequestHealth final : public RequestLog {
 public:
  /// `clock` must outlive it.
  explicit RequestHealth(const Clock* clock) : clock_(clock) {}

  void Record(const RequestRecord& record) override;

  /// As it looks now.
  decide::ProviderHealth Of(std::string_view provider_id) const;

 private:
  const Clock* const clock_;
  mutable base::Mutex mutex_;
  decide::HealthBoard board_ HOTEL_GUARDED_BY(mutex_);
};

}  // namespace hotel::observe

#endif  // HOTEL_OBSERVE_REQUEST_HEALTH_H_
