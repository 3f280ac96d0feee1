// The words of what happens to circuits (facts d, "Events" and "Log lines").
#ifndef HOTEL_GUARD_CIRCUIT_EVENTS_H_
#define HOTEL_GUARD_CIRCUIT_EVENTS_H_

#include <string>

#include "hotel/circuit_breaker.h"
#include "hotel/clock.h"
#include "hotel/events.h"
#include "hotel/types.h"

#include "libhotel/decide/circuit.h"
#include "libhotel/decide/cooldown.h"

namespace hotel::guard {

/// What happened to a circuit, with all that is said about it: taken under the lock, told after it.
struct CircuitTale {
  enum class Kind {
    kOpened,
    kReopened,
    kSeeded,  ///< opened by a quota reading
    kHalfOpened,
    kClosed,
    kRetargeted,
    kReleased,
    kReset,
  };
  Kind kind = Kind::kOpened;
  CircuitKey key;
  decide::Circuit circuit;      ///< just behind the change; of kReset just before it
  decide::Cooldown cooldown;    ///< of `circuit`
  CircuitState state{};         ///< of `circuit`, as seen from outside
  bool whole_provider = false;  ///< the one circuit of its provider
  bool provider_open = false;   ///< the provider is skipped for all its models
  bool exhausted = false;       ///< an exhaustion opened it, not the threshold
  bool unstable = false;        ///< the third opening within a day
  TimePoint now{};
};

/// Says it to the log (OnNote), and as an event where it is one: openings, closings, and the third
/// opening within a day. `clock` dates the retry; null = the system's.
void TellTale(const CircuitTale& tale, const Clock* clock, EventSink* sink);

/// "45s", "4m", "1h", "1h30m": hours, minutes and seconds that are not 0, rounded to seconds.
std::string ShortSpan(Duration span);

}  // namespace hotel::guard

#endif  // HOTEL_GUARD_CIRCUIT_EVENTS_H_
