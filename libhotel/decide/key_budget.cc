#include "libhotel/decide/key_budget.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace hotel::decide {
namespace {

using Days = std::chrono::sys_days;

Days ToDays(std::int64_t day) { return Days(std::chrono::days(day)); }
std::int64_t FromDays(Days days) { return days.time_since_epoch().count(); }

}  // namespace

std::int64_t DayOf(WallTime time) noexcept {
  return FromDays(std::chrono::floor<std::chrono::days>(time));
}

std::int64_t PeriodStart(BudgetPeriod period, std::int64_t day) noexcept {
  if (period == BudgetPeriod::kDay) return day;
  if (period == BudgetPeriod::kWeek) {
    const unsigned behind_monday = std::chrono::weekday(ToDays(day)).iso_encoding() - 1;
    return day - static_cast<std::int64_t>(behind_monday);
  }
  const std::chrono::year_month_day date(ToDays(day));
  return FromDays(date.year() / date.month() / 1);
}

std::int64_t PeriodEnd(BudgetPeriod period, std::int64_t day) noexcept {
  const std::int64_t start = PeriodStart(period, day);
  if (period == BudgetPeriod::kDay) return start + 1;
  if (period == BudgetPeriod::kWeek) return start + 7;
  const std::chrono::year_month_day date(ToDays(start));
  return FromDays((date.year() / date.month() + std::chrono::months(1)) / 1);
}

Duration TimeToPeriodEnd(BudgetPeriod period, WallTime now) noexcept {
  return ToDays(PeriodEnd(period, DayOf(now))) - now;
}

std::int64_t SpentSince(const std::map<std::int64_t, std::int64_t>& days,
                        std::int64_t start) noexcept {
  std::int64_t sum = 0;
  for (auto it = days.lower_bound(start); it != days.end(); ++it) sum = AddCapped(sum, it->second);
  return sum;
}

std::int64_t AddCapped(std::int64_t a, std::int64_t b) noexcept {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return a > kMost - b ? kMost : a + b;
}

void AddUsage(const KeyUsage& more, KeyUsage* usage) {
  for (const auto field : {&KeyUsage::requests, &KeyUsage::prompt, &KeyUsage::completion,
                           &KeyUsage::cached, &KeyUsage::reasoning, &KeyUsage::cost}) {
    usage->*field = AddCapped(usage->*field, more.*field);
  }
  if (!usage->last_used_at || (more.last_used_at && *more.last_used_at > *usage->last_used_at)) {
    usage->last_used_at = more.last_used_at;
  }
  for (const auto& [day, cost] : more.days) {
    usage->days[day] = AddCapped(usage->days[day], cost);
  }
  if (usage->days.empty()) return;
  const std::int64_t newest = usage->days.rbegin()->first;
  usage->days.erase(usage->days.begin(), usage->days.lower_bound(newest - kKeptDays));
}

}  // namespace hotel::decide
