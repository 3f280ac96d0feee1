// One circuit as a function of (state, event, now). The shell in guard/ adds the lock and the map.
#ifndef HOTEL_DECIDE_BREAKER_CORE_H_
#define HOTEL_DECIDE_BREAKER_CORE_H_

#include <cstdint>
#include <optional>

#include "hotel/circuit_breaker.h"
#include "hotel/settings.h"
#include "hotel/types.h"

#include "libhotel/decide/circuit.h"
#include "libhotel/decide/cooldown.h"

namespace hotel::decide {

/// A transition worth telling.
enum class Transition { kNone, kOpened, kReopened, kHalfOpened, kClosed };

/// False: nothing is skipped and nothing is charged (switch off, or threshold 0: R54).
bool Enforced(const CircuitBreakerSettings& settings) noexcept;

/// When the cooldown of the circuit ends, if it refuses at `now`.
std::optional<TimePoint> BlockedUntil(const Circuit& circuit,
                                      const CircuitBreakerSettings& settings,
                                      TimePoint now) noexcept;

/// True when the circuit is half-open, by its cooldown or by its state, and as many probes are out
/// as may be.
bool ProbesBusy(const Circuit& circuit, const CircuitBreakerSettings& settings) noexcept;

/// What an admission did.
struct Admit {
  Transition transition = Transition::kNone;  ///< kHalfOpened when this request found it due
  bool probe = false;                         ///< the permit counts as a probe
};
/// Admits a request: an open circuit whose cooldown has passed becomes half-open. REQUIRES: the
/// circuit is neither blocked at `now` nor busy.
Admit AdmitRequest(Circuit& circuit, const CircuitBreakerSettings& settings,
                   TimePoint now) noexcept;

/// A report with all that bears on it.
struct Charge {
  std::uint64_t generation = 0;           ///< of the permit
  bool probe = false;                     ///< of the permit
  const CircuitReport* report = nullptr;  ///< lives as long as this value; never null
  bool limited = false;                   ///< a 429 that counts for the streak
  QuotaReading reading;                   ///< of the account, taken before the lock
};

struct Settled {
  BreakerEffect effect = BreakerEffect::kNoop;
  Transition transition = Transition::kNone;
  bool unstable = false;  ///< the third opening of the window, told once
};
/// Applies a report. One from an older generation notes its cause and changes no state.
Settled Settle(Circuit& circuit, const Charge& charge, const CircuitBreakerSettings& settings,
               TimePoint now, std::uint64_t* random);

/// As seen from outside: an open circuit past its cooldown is half-open.
CircuitState LogicalState(const Circuit& circuit, const CircuitBreakerSettings& settings,
                          TimePoint now) noexcept;

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_BREAKER_CORE_H_
