// What a key may spend in a calendar period, in UTC (decisions 7).
#ifndef HOTEL_DECIDE_KEY_BUDGET_H_
#define HOTEL_DECIDE_KEY_BUDGET_H_

#include <cstdint>
#include <map>

#include "hotel/types.h"
#include "hotel/virtual_key.h"

namespace hotel::decide {

/// Days since 1970.
std::int64_t DayOf(WallTime time) noexcept;

/// The first day of the period that `day` is in, and the first one behind it. A week begins on
/// Monday.
std::int64_t PeriodStart(BudgetPeriod period, std::int64_t day) noexcept;
std::int64_t PeriodEnd(BudgetPeriod period, std::int64_t day) noexcept;

/// How long until the period that `now` is in has ended; above 0.
Duration TimeToPeriodEnd(BudgetPeriod period, WallTime now) noexcept;

/// What was spent from `start` on.
std::int64_t SpentSince(const std::map<std::int64_t, std::int64_t>& days,
                        std::int64_t start) noexcept;

/// Days that are kept behind the last one: more than any period has.
inline constexpr std::int64_t kKeptDays = 40;

/// `a + b`, at most the largest number there is. REQUIRES: neither is negative.
std::int64_t AddCapped(std::int64_t a, std::int64_t b) noexcept;

/// Adds `more` to `usage`; of the days it keeps the last ones.
void AddUsage(const KeyUsage& more, KeyUsage* usage);

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_KEY_BUDGET_H_
