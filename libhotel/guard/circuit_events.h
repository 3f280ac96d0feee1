// The words of circuit transitions (facts d, "Events").
#ifndef HOTEL_GUARD_CIRCUIT_EVENTS_H_
#define HOTEL_GUARD_CIRCUIT_EVENTS_H_

#include "hotel/circuit_breaker.h"
#include "hotel/events.h"
#include "hotel/settings.h"

#include "libhotel/decide/breaker_core.h"

namespace hotel::guard {

/// `circuit_breaker.open` (warning). `circuit` is the state just behind the transition.
Event OpenedEvent(const CircuitKey& key, const decide::Circuit& circuit,
                  const CircuitBreakerSettings& settings);

/// `circuit_breaker.closed` (success).
Event ClosedEvent(const CircuitKey& key, const decide::Circuit& circuit);

}  // namespace hotel::guard

#endif  // HOTEL_GUARD_CIRCUIT_EVENTS_H_
