// One circuit as a function of (state, event, now). The shell in guard/ adds the lock and the map.
#ifndef HOTEL_DECIDE_BREAKER_CORE_H_
#define HOTEL_DECIDE_BREAKER_CORE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "hotel/circuit_breaker.h"
#include "hotel/settings.h"
#include "hotel/types.h"

namespace hotel::decide {

/// State of one (provider, model). Plain data, guarded by its owner.
struct Circuit {
  CircuitState state = CircuitState::kClosed;
  int consecutive_fails = 0;
  TimePoint opened_at{};
  /// Grows at every transition to open, half-open and closed; permits carry it.
  std::uint64_t generation = 1;
  std::string last_cause;
  int last_status = 0;
  std::optional<TimePoint> last_at;
};

/// A transition worth telling.
enum class Transition { kNone, kOpened, kReopened, kHalfOpened, kClosed };

/// False: nothing is skipped and nothing is charged (switch off, or threshold 0: R47).
bool Enforced(const CircuitBreakerSettings& settings) noexcept;

/// When the circuit lets a request pass again, if it refuses at `now`.
std::optional<TimePoint> BlockedUntil(const Circuit& circuit,
                                      const CircuitBreakerSettings& settings,
                                      TimePoint now) noexcept;

/// An open circuit whose cooldown has passed becomes half-open; REQUIRES: not blocked at `now`.
Transition Admit(Circuit& circuit, const CircuitBreakerSettings& settings, TimePoint now) noexcept;

struct Settled {
  BreakerEffect effect = BreakerEffect::kNoop;
  Transition transition = Transition::kNone;
};
/// Applies the report of a permit of `generation`. A report from an older generation notes its
/// cause and changes no state.
Settled Settle(Circuit& circuit, std::uint64_t generation, const CircuitReport& report,
               const CircuitBreakerSettings& settings, TimePoint now);

/// As seen from outside: an open circuit past its cooldown is half-open.
CircuitState LogicalState(const Circuit& circuit, const CircuitBreakerSettings& settings,
                          TimePoint now) noexcept;

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_BREAKER_CORE_H_
