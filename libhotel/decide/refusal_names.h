// What the name of a field says about the words in its value.
#ifndef HOTEL_DECIDE_REFUSAL_NAMES_H_
#define HOTEL_DECIDE_REFUSAL_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hotel::decide {

/// Where a clause stands: what a provider says to people, or a word for programs.
enum class ClauseKind : std::uint8_t {
  kMessage,    ///< prose
  kCode,       ///< value of code, type, reason, ...
  kQuotaName,  ///< value that names the violated quota: quotaId, quota_limit, limit_source, ...
};

/// Longer names are no names.
inline constexpr std::size_t kMaxFieldName = 48;

struct FieldName {
  ClauseKind kind = ClauseKind::kMessage;
  bool silent = false;  ///< the value says nothing about the refusal, or only what could be bought
  bool timed = false;   ///< the name speaks of a wait or a reset: "19s" in it is no limit per 19 s
};

/// `name` in lower case.
FieldName ReadFieldName(std::string_view name) noexcept;

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_REFUSAL_NAMES_H_
