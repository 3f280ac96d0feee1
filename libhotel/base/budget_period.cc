#include "hotel/virtual_key.h"

namespace hotel {

const char* BudgetPeriodName(BudgetPeriod period) noexcept {
  switch (period) {
    case BudgetPeriod::kDay:
      return "day";
    case BudgetPeriod::kWeek:
      return "week";
    case BudgetPeriod::kMonth:
      return "month";
  }
  return "";
}

std::optional<BudgetPeriod> ParseBudgetPeriod(std::string_view text) noexcept {
  for (const BudgetPeriod period :
       {BudgetPeriod::kDay, BudgetPeriod::kWeek, BudgetPeriod::kMonth}) {
    if (text == BudgetPeriodName(period)) return period;
  }
  return std::nullopt;
}

}  // namespace hotel
