// Code points to UTF-8 and back.
#ifndef HOTEL_BASE_UTF8_H_
#define HOTEL_BASE_UTF8_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace hotel::base {

/// Appends `point` (up to U+10FFFF; surrogates are written like any other) in UTF-8.
void AppendUtf8(std::uint32_t point, std::string* text);

/// The code point of one sequence. REQUIRES: Utf8Length(sequence) == sequence.size() > 0.
std::uint32_t CodePointOf(std::string_view sequence) noexcept;

}  // namespace hotel::base

#endif  // HOTEL_BASE_UTF8_H_
