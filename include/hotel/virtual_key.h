// A virtual key: what a client presents to the hotel, what it may do, what it has used.
#ifndef HOTEL_VIRTUAL_KEY_H_
#define HOTEL_VIRTUAL_KEY_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/types.h"

namespace hotel {

/// How often a budget begins anew: at midnight, on Monday, on the first of the month, all in UTC.
enum class BudgetPeriod { kDay, kWeek, kMonth };

/// "day", "week", "month". Static storage.
const char* BudgetPeriodName(BudgetPeriod period) noexcept;
std::optional<BudgetPeriod> ParseBudgetPeriod(std::string_view text) noexcept;

/// Money one key may spend in each period.
struct KeyBudget {
  /// In billionths of a dollar, 0 to kMost; 0 = nothing may be spent.
  std::int64_t amount = 0;
  BudgetPeriod period = BudgetPeriod::kMonth;

  static constexpr std::int64_t kDollar = 1'000'000'000;
  static constexpr std::int64_t kMost = 10'000'000 * kDollar;
};

/// What a key may do.
struct KeyLimits {
  std::optional<int> rps;           ///< requests a second, 0-10000; none = global, 0 = unlimited
  std::optional<int> burst;         ///< requests at once, 1-10000; none = global
  std::optional<std::int64_t> tpm;  ///< tokens a minute, 1-100000000; none = global
  bool has_budget = false;
  KeyBudget budget;  ///< when has_budget
  /// Ids of the providers that may serve it; null = every one. Empty denies everything and can not
  /// be written.
  std::shared_ptr<const std::vector<std::string>> providers;
};

/// What an operator decides about a key.
struct KeySpec {
  std::string name;     ///< 1-100 characters, unique, none of kReservedKeyNames
  bool enabled = true;  ///< false: as if it were not known
  KeyLimits limits;
};

/// Names of callers that are no keys.
inline constexpr std::array<std::string_view, 4> kReservedKeyNames = {"chat", "arena",
                                                                      "completions", "admin"};

using KeyDigest = std::array<unsigned char, 32>;  ///< SHA-256 of a key

struct VirtualKey {
  std::string id;       ///< UUID
  std::string preview;  ///< what it may be recognised by: "sk-...9f3c"
  KeyDigest digest{};
  bool from_file = false;  ///< it stands in the configuration file and is changed there
  KeySpec spec;
  WallTime created_at{};
  WallTime updated_at{};
};

/// What a key has used since it was made.
struct KeyUsage {
  std::int64_t requests = 0;    ///< that were admitted
  std::int64_t prompt = 0;      ///< tokens; also of answers that were thrown away
  std::int64_t completion = 0;  ///< tokens
  std::int64_t cached = 0;      ///< of prompt
  std::int64_t reasoning = 0;   ///< of completion
  std::int64_t cost = 0;        ///< billionths of a dollar, as far as prices are known
  std::optional<WallTime> last_used_at;
  /// What was spent on each of the last days, by days since 1970 (UTC).
  std::map<std::int64_t, std::int64_t> days;

  std::int64_t tokens() const noexcept { return prompt + completion; }
};

}  // namespace hotel

#endif  // HOTEL_VIRTUAL_KEY_H_
