// Points in time and spans as providers write them in fields.
#ifndef HOTEL_DECIDE_REFUSAL_INSTANTS_H_
#define HOTEL_DECIDE_REFUSAL_INSTANTS_H_

#include <optional>
#include <string_view>

#include "hotel/types.h"

namespace hotel::decide {

/// "6m0s", "1h2m3.5s", "120ms", "500us": nullopt for anything else, a sign included.
std::optional<Duration> ParseGoDuration(std::string_view text) noexcept;

/// An HTTP date in its three forms (RFC 9110, 5.6.7). nullopt for anything else.
std::optional<WallTime> ParseHttpDate(std::string_view text) noexcept;

/// A date and time with a zone: RFC 3339, with a space before the zone, `UTC`, `GMT` or an offset
/// without colon. Reads from the front of `text`; what follows does not matter. nullopt when there
/// is no date or no zone: a time without one means nothing here.
std::optional<WallTime> ParseZonedTime(std::string_view text);

/// A number of seconds, or an epoch in seconds or milliseconds by its size, or a Go duration, or a
/// date: as a wait from `now`. nullopt when it is not in the future.
std::optional<Duration> ParseReset(std::string_view text, WallTime now);

/// A plain decimal number, or nullopt.
std::optional<double> ParseDecimal(std::string_view text) noexcept;

/// Longest wait a header may state.
inline constexpr Duration kMaxHeaderWait = std::chrono::hours(24 * 90);

/// `seconds` as a wait: nullopt unless it is within (0, kMaxHeaderWait].
std::optional<Duration> WaitOfSeconds(double seconds) noexcept;

/// The time from `now` to `then`: nullopt unless it is within (0, kMaxHeaderWait].
std::optional<Duration> WaitUntil(WallTime then, WallTime now) noexcept;

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_REFUSAL_INSTANTS_H_
