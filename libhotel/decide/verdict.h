// What an attempt's end means: its verdict, whether another candidate may help, its error kind.
#ifndef HOTEL_DECIDE_VERDICT_H_
#define HOTEL_DECIDE_VERDICT_H_

#include <cstdint>

#include "hotel/circuit_breaker.h"
#include "hotel/settings.h"
#include "hotel/types.h"
#include "libhotel/decide/attempt_machine.h"

namespace hotel::decide {

/// The verdict pipeline of decisions, section 4, for an end that was seen.
CircuitReport JudgeEnd(const AttemptEnd& end, const CircuitBreakerSettings& settings);
/// The same for an attempt that a clock ended while the client still waited.
CircuitReport JudgeTimeout(TimeoutKind kind);

/// May the next candidate be asked (facts a, "Failover?")? Only before the commit.
bool FailsOver(const AttemptEnd& end, const FailoverSettings& settings) noexcept;

/// The error kind of the attempt's trail entry; kNone for a served answer.
ErrorKind KindOf(const AttemptEnd& end) noexcept;

/// min(initial * 2^(contacted-1), max) + [0, initial): the pause before the next candidate when
/// `contacted` >= 1 were asked. Advances `random`.
Duration FailoverBackoff(const FailoverSettings& settings, int contacted,
                         std::uint64_t* random) noexcept;

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_VERDICT_H_
