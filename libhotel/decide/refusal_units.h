// Units of time in the words of a refusal.
#ifndef HOTEL_DECIDE_REFUSAL_UNITS_H_
#define HOTEL_DECIDE_REFUSAL_UNITS_H_

#include <cstddef>
#include <optional>
#include <string_view>

#include "hotel/types.h"

#include "libhotel/decide/refusal_text.h"

namespace hotel::decide {

/// The span a unit word stands for: "ms", "s", "minutes", "小时", ...; zero for any other word. A
/// single letter is a unit behind a number only.
Duration UnitOf(const Word& word, bool behind_number) noexcept;

/// The value of a number word ("11.455", "1,000"); nullopt when it is none.
std::optional<double> NumberOf(std::string_view word) noexcept;

/// Reads the span that starts at word `at`: "58 hours", "2h35m3.27s", "11 hours and 51 minutes",
/// "1 m 30 s". Sets `end` behind it. nullopt when there is none or it is longer than 30 days or not
/// longer than zero.
std::optional<Duration> SpanAt(const RefusalText& text, std::size_t at, std::size_t limit,
                               std::size_t* end);

/// Whether what stands behind the unit of a span makes it a wait: "30 秒后", "10초 후". `end` is
/// behind the unit.
bool MeansLater(const RefusalText& text, std::size_t end, std::size_t limit) noexcept;

/// Longest wait a text may state.
inline constexpr Duration kMaxStatedSpan = std::chrono::hours(24 * 30);

/// `count` units, or nullopt when that is not within (0, kMaxStatedSpan].
std::optional<Duration> PlausibleSpan(double count, Duration unit) noexcept;

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_REFUSAL_UNITS_H_
