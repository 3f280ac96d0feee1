// Where time comes from. Decisions never read a clock: they are handed an instant.
#ifndef HOTEL_CLOCK_H_
#define HOTEL_CLOCK_H_

#include "hotel/types.h"

namespace hotel {

/// A source of time. Implementations are thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  /// Monotonic: never goes back. Called often; must not block.
  virtual TimePoint Now() const noexcept = 0;

  /// Civil time, for stamps in records. May jump.
  virtual WallTime WallNow() const noexcept = 0;
};

}  // namespace hotel

#endif  // HOTEL_CLOCK_H_
