// Lower case as Unicode has it, for names in which case does not count.
#ifndef HOTEL_BASE_LOWER_CASE_H_
#define HOTEL_BASE_LOWER_CASE_H_

#include <string>
#include <string_view>

namespace hotel::base {

/// A copy of UTF-8 text in which every letter stands in its simple lower-case form (Unicode 14, no
/// locale). Bytes that are no UTF-8 stay as they are. The result can be longer than `text`, by half
/// at most.
std::string LowerCase(std::string_view text);

}  // namespace hotel::base

#endif  // HOTEL_BASE_LOWER_CASE_H_
