// What stored text may consist of.
#ifndef HOTEL_STORE_TEXT_RULES_H_
#define HOTEL_STORE_TEXT_RULES_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace hotel::store {

enum class Lines { kOne, kMany };

/// InvalidArgument that begins with `what` unless `text` has `min` to `max` bytes, all of them
/// UTF-8 and no control characters (line ends and tabs pass under kMany).
absl::Status CheckText(std::string_view what, std::string_view text, std::size_t min,
                       std::size_t max, Lines lines = Lines::kOne);

/// The same for text that people read: `min` and `max` count Unicode code points. Nothing longer
/// than four bytes for each of them is looked at.
absl::Status CheckCharacters(std::string_view what, std::string_view text, std::size_t min,
                             std::size_t max, Lines lines = Lines::kOne);

/// A caller's value as an error message may repeat it: cut to a length that fits a line.
std::string Quoted(std::string_view value);

}  // namespace hotel::store

#endif  // HOTEL_STORE_TEXT_RULES_H_
