// The parts that words play in sentences, and units of time. Data.
#ifndef HOTEL_DECIDE_REFUSAL_PARTS_H_
#define HOTEL_DECIDE_REFUSAL_PARTS_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "hotel/types.h"

namespace hotel::decide {

/// Sets of parts a word can play.
using Roles = std::uint32_t;

// clang-format off
inline constexpr Roles kBeginsAdvice  = 1U << 0;   ///< add, upgrade, visit, ...
inline constexpr Roles kPoliteAdvice  = 1U << 1;   ///< advice behind "please" only: try, use, ...
inline constexpr Roles kFrontAdvice   = 1U << 2;   ///< advice at the front only: for, to, if
inline constexpr Roles kPlease        = 1U << 3;   ///< please
inline constexpr Roles kJoins         = 1U << 4;   ///< please, or, and
inline constexpr Roles kModal         = 1U << 5;   ///< can, may, to
inline constexpr Roles kOpensWindow   = 1U << 6;   ///< per, each, every, ...
inline constexpr Roles kAllowanceWord = 1U << 7;   ///< allocated, quota, limit, budget
inline constexpr Roles kOpensWait     = 1U << 8;   ///< in, after, wait, ...
inline constexpr Roles kWaitTrigger   = 1U << 9;   ///< again, retry, resets, ...
inline constexpr Roles kWaitFiller    = 1U << 10;  ///< between a trigger and its number
inline constexpr Roles kAfterwards    = 1U << 11;  ///< between a wait and "retry"
inline constexpr Roles kTriesAgain    = 1U << 12;  ///< try, again, sending, ...
inline constexpr Roles kNumbered      = 1U << 13;  ///< limit, requested, afford
inline constexpr Roles kNamesRequests = 1U << 14;  ///< rpm, rpd
inline constexpr Roles kNamesTokens   = 1U << 15;  ///< tpm, tpd
inline constexpr Roles kForWord       = 1U << 16;  ///< for
// clang-format on

struct RoleRow {
  std::string_view words;  ///< one space between them
  Roles roles;
};
std::span<const RoleRow> RoleRows() noexcept;

struct UnitWord {
  std::string_view word;
  Duration span;
};
/// Words of scripts that put spaces between words.
std::span<const UnitWord> UnitWords() noexcept;

/// Beginnings of words of other scripts.
std::span<const UnitWord> RunUnits() noexcept;

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_REFUSAL_PARTS_H_
