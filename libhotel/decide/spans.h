// Arithmetic on configured spans. Settings may hold any of them; a product or a sum that leaves the
// clock's range means "never".
#ifndef HOTEL_DECIDE_SPANS_H_
#define HOTEL_DECIDE_SPANS_H_

#include "hotel/types.h"

namespace hotel::decide {

/// `span` * `factor`, at most Duration::max(); 0 when either is not positive.
constexpr Duration Times(Duration span, int factor) noexcept {
  if (factor <= 0 || span <= Duration::zero()) return Duration::zero();
  return span > Duration::max() / factor ? Duration::max() : span * factor;
}

/// `a` + `b`, at most Duration::max(). REQUIRES: b >= 0.
constexpr Duration Plus(Duration a, Duration b) noexcept {
  return a > Duration::max() - b ? Duration::max() : a + b;
}

/// `start` + `span`, at most TimePoint::max(). REQUIRES: span >= 0.
constexpr TimePoint After(TimePoint start, Duration span) noexcept {
  return TimePoint(Plus(start.time_since_epoch(), span));
}

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_SPANS_H_
