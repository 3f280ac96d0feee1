// What wraps a text taken off: escapes, however often they were escaped, and the tags of HTML.
#ifndef HOTEL_DECIDE_REFUSAL_PLAIN_H_
#define HOTEL_DECIDE_REFUSAL_PLAIN_H_

#include <string>
#include <string_view>

namespace hotel::decide {

/// Appends `text` without escapes and, where it is a page of HTML or XML, without tags; never more
/// bytes than `text` has. Accepts any bytes.
void AppendPlain(std::string_view text, std::string* out);

/// Appends `text` in lower case, as many bytes: A-Z, and the Latin and Cyrillic capitals of two
/// bytes.
void AppendLower(std::string_view text, std::string* out);

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_REFUSAL_PLAIN_H_
