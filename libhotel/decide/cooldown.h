// How long an open circuit refuses: base, backoff and pin, the longest in force (facts d).
#ifndef HOTEL_DECIDE_COOLDOWN_H_
#define HOTEL_DECIDE_COOLDOWN_H_

#include <cstdint>
#include <optional>

#include "hotel/circuit_breaker.h"
#include "hotel/quota_advisor.h"
#include "hotel/settings.h"
#include "hotel/types.h"

#include "libhotel/decide/circuit.h"

namespace hotel::decide {

/// The cooldown in force by the settings of this moment.
struct Cooldown {
  Duration span{};
  bool pinned = false;           ///< the pin is in force: without it the wait would be shorter
  bool backed_off = false;       ///< the backoff is in force, perhaps behind a longer pin
  bool backoff_governs = false;  ///< the backoff is the span
};
Cooldown CooldownInForce(const Circuit& circuit, const CircuitBreakerSettings& settings) noexcept;

/// True for the pins that speak for all models of a provider.
bool AccountWide(PinSource source) noexcept;

/// What the failed probes so far earn: the base doubled once per probe up to the ceiling, which is
/// the pins' one from the third opening in a row by a 429 on. 0 = nothing.
Duration EarnedBackoff(const Circuit& circuit, const CircuitBreakerSettings& settings) noexcept;

/// What is known about how long a quota is spent.
struct QuotaEvidence {
  QuotaReading reading;         ///< of the account; goes before the hint
  std::optional<PinHint> hint;  ///< of the refusal
};
/// The pin an opening at `now` gets: the evidence cut at the ceiling, none when that is no longer
/// than the cooldown without it, else up to a twentieth longer. `random` drives the jitter.
Pin DrawPin(const QuotaEvidence& evidence, const Circuit& circuit,
            const CircuitBreakerSettings& settings, TimePoint now, std::uint64_t* random) noexcept;

/// A pin of `span` by a reading, with the jitter of DrawPin.
Pin AdvisedPin(const QuotaReading& reading, Duration span, std::uint64_t* random) noexcept;

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_COOLDOWN_H_
