// Whether a try that failed is made once more at the same candidate, and when.
#ifndef HOTEL_DECIDE_RETRY_H_
#define HOTEL_DECIDE_RETRY_H_

#include <cstdint>
#include <optional>

#include "hotel/settings.h"
#include "hotel/types.h"

#include "libhotel/decide/attempt_types.h"

namespace hotel::decide {

/// The failure is one of those that are repeated. Of transport failures (`on_transport`): those
/// that are safe to repeat (facts a, "Transport error ...": nothing of the request had left, or the
/// connection was interrupted behind it), or every failure of the connection (R6); never a timeout,
/// broken HTTP or our own lack of descriptors. Of refusals, real or hidden: the listed statuses,
/// but not a spent account, which no repeat can help. A stream is repeated as `streaming` says, of
/// transport failures only behind those that are safe to repeat, and only while no byte of its body
/// came; a whole answer also when it was cut. How many tries were made is not looked at. REQUIRES:
/// normalized, before the commit.
bool Repeatable(const AttemptEnd& end, bool streaming, const RetrySettings& settings) noexcept;

/// The wait before the `n`-th repeat, n >= 1: initial * factor^(n-1), at most max; then up to
/// jitter_factor of it more or less, at most max again. Advances `random` when there is jitter.
Duration RetryBackoff(const RetrySettings& settings, int n, std::uint64_t* random) noexcept;

/// The same, and at least what the provider asked for under `retry_after: floor`; nullopt when that
/// exceeds max_backoff: then nothing is repeated.
std::optional<Duration> RetryWait(const RetrySettings& settings, int n,
                                  std::optional<Duration> retry_after,
                                  std::uint64_t* random) noexcept;

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_RETRY_H_
