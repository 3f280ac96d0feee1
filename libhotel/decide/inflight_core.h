// One provider's in-flight window as a function of (state, event, settings, now) (facts e). The
// shell in guard/ adds the locks, the map and the lines of waiters.
#ifndef HOTEL_DECIDE_INFLIGHT_CORE_H_
#define HOTEL_DECIDE_INFLIGHT_CORE_H_

#include "hotel/inflight_limiter.h"
#include "hotel/settings.h"
#include "hotel/types.h"

namespace hotel::decide {

/// State of one provider. Plain data, guarded by its owner.
struct Window {
  int limit = 0;  ///< learned; 0 = uncapped
  int inflight = 0;
  int good_runs = 0;  ///< clean ends in a row since the window last changed
  TimePoint last_cut{};
};

/// The learned limit that holds at `now`: 0 while the learner is off and once the window is
/// forgotten.
int LearnedLimit(const Window& window, const InflightLimiterSettings& settings,
                 TimePoint now) noexcept;

/// The smaller one of the learned limit and the operator's ceiling, of those that are set; 0 =
/// uncapped.
int EffectiveLimit(const Window& window, int max_in_flight, const InflightLimiterSettings& settings,
                   TimePoint now) noexcept;

/// False: the provider is busy.
bool Admits(const Window& window, int max_in_flight, const InflightLimiterSettings& settings,
            TimePoint now) noexcept;

/// One more is in flight. REQUIRES: Admits.
void Admit(Window& window, const InflightLimiterSettings& settings, TimePoint now) noexcept;

/// One less is in flight.
void Release(Window& window, SlotEnd end, const InflightLimiterSettings& settings,
             TimePoint now) noexcept;

/// A saturated 429 whose own slot is released already: the window becomes what is in flight, at
/// least 1, if that is less than it was. It is forgotten no sooner than forget_after behind
/// now + retry_after.
void Cut(Window& window, Duration retry_after, const InflightLimiterSettings& settings,
         TimePoint now) noexcept;

/// An answer that says nothing remains, its own slot still out: like a cut, but only if it lowers.
void Hint(Window& window, const InflightLimiterSettings& settings, TimePoint now) noexcept;

/// True when the state is that of a provider never seen.
bool Idle(const Window& window, const InflightLimiterSettings& settings, TimePoint now) noexcept;

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_INFLIGHT_CORE_H_
