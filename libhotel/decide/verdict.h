// What an attempt's end means: its verdict, whether another candidate may help, its error kind.
#ifndef HOTEL_DECIDE_VERDICT_H_
#define HOTEL_DECIDE_VERDICT_H_

#include <cstdint>

#include "hotel/circuit_breaker.h"
#include "hotel/settings.h"
#include "hotel/types.h"

#include "libhotel/decide/attempt_types.h"

namespace hotel::decide {

/// `end` with the labels that a provider can make wrong put right: statuses that HTTP does not know
/// (1xx, 600 and up) are a protocol error, a hidden error without an error status is a 502, and an
/// error event before the commit is a hidden error.
AttemptEnd Normalized(AttemptEnd end, bool committed) noexcept;

/// The verdict pipeline of decisions, section 4, for an end that was seen. REQUIRES: normalized. A
/// status that is named exactly in one breaker list and by its class in another belongs to the
/// first.
/// `took` is the attempt's time as slow_call_threshold counts it: a good answer above the threshold
/// is charged (step 7). `fails_over`: the request may go on behind it; a 429 that neither fails
/// over nor is charged by its status is not looked into (step 4).
CircuitReport JudgeEnd(const AttemptEnd& end, const CircuitBreakerSettings& settings,
                       Duration took = Duration::zero(), bool fails_over = true);
/// The same for an attempt that a clock ended while the client still waited. `status` is that of
/// the response head, 0 if none came.
CircuitReport JudgeTimeout(TimeoutKind kind, bool committed, int status);

/// May the next candidate be asked (facts a, "Failover?")? Only before the commit. REQUIRES:
/// normalized.
bool FailsOver(const AttemptEnd& end, const FailoverSettings& settings) noexcept;

/// A refusal of what the client sent: the provider's own words may be forwarded (facts g). Every
/// other refusal is about credentials, plan or health and is told in the gateway's words.
bool IsPayloadStatus(int status) noexcept;

/// A 3xx: never followed and never passed on (decisions, 10).
constexpr bool IsRedirect(int status) noexcept { return status >= 300 && status <= 399; }

/// The terminal answer of a request whose last contacted attempt ended like this before the commit.
/// `attempt` and `contacted` are left to the caller. REQUIRES: normalized, not served.
Finish FailureAnswer(const AttemptEnd& end, FailoverSettings::ErrorBody error_body,
                     TimePoint now) noexcept;
Finish FailureAnswer(TimeoutKind kind) noexcept;

/// The error kind of the attempt's trail entry; kNone for a served answer.
ErrorKind KindOf(const AttemptEnd& end) noexcept;
ErrorKind KindOf(TimeoutKind kind) noexcept;

/// min(initial * 2^(contacted-1), max) + [0, initial): the pause before the next candidate when
/// `contacted` >= 1 were asked. Advances `random`.
Duration FailoverBackoff(const FailoverSettings& settings, int contacted,
                         std::uint64_t* random) noexcept;

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_VERDICT_H_
