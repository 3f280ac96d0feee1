// A provider's circuits as a row (facts d, "Status API").
#ifndef HOTEL_GUARD_CIRCUIT_VIEWS_H_
#define HOTEL_GUARD_CIRCUIT_VIEWS_H_

#include <vector>

#include "hotel/circuit_breaker.h"

namespace hotel::guard {

/// How degraded a state is: closed 0, half-open 1, open 2.
int StateRank(CircuitState state) noexcept;

/// The row of the circuits of one provider, in any order. `provider_open` is left false.
ProviderView MakeRow(std::vector<CircuitView> circuits);

}  // namespace hotel::guard

#endif  // HOTEL_GUARD_CIRCUIT_VIEWS_H_
