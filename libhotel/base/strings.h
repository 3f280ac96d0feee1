// Small string helpers. ASCII only: nothing here depends on the locale.
#ifndef HOTEL_BASE_STRINGS_H_
#define HOTEL_BASE_STRINGS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hotel::base {

constexpr char AsciiLower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr bool IsAsciiDigit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool IsAsciiAlnum(char c) noexcept {
  return IsAsciiDigit(c) || (AsciiLower(c) >= 'a' && AsciiLower(c) <= 'z');
}
/// Space, tab, CR, LF, VT, FF.
constexpr bool IsAsciiSpace(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// C0 controls and DEL.
constexpr bool IsAsciiControl(char c) noexcept {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

/// What a hexadecimal digit stands for; -1 when `c` is none.
constexpr int HexDigit(char c) noexcept {
  if (IsAsciiDigit(c)) return c - '0';
  const char lower = AsciiLower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}
/// What hexadecimal digits stand for; -1 when there is anything else. REQUIRES: at most seven.
constexpr int HexNumber(std::string_view digits) noexcept {
  int number = 0;
  for (const char c : digits) {
    const int digit = HexDigit(c);
    if (digit < 0) return -1;
    number = number * 16 + digit;
  }
  return number;
}

/// A copy with A-Z lower-cased; bytes outside of ASCII stay.
std::string Lower(std::string_view text);

/// Without white space at both ends. The view lives as long as `text`'s bytes.
std::string_view Trim(std::string_view text) noexcept;

bool EqualsIgnoreCase(std::string_view a, std::string_view b) noexcept;

/// The pieces between separators, empty ones included; one piece when there is no separator.
std::vector<std::string_view> Split(std::string_view text, char separator);

constexpr bool StartsWith(std::string_view text, std::string_view prefix) noexcept {
  return text.substr(0, prefix.size()) == prefix;
}

/// Bytes of the UTF-8 sequence at the start of `text`, 1 to 4; 0 when it is empty or malformed
/// (overlong forms, surrogates and values above U+10FFFF are).
std::size_t Utf8Length(std::string_view text) noexcept;

/// Unicode code points in UTF-8 text; of other bytes those that continue no sequence.
std::size_t CountCharacters(std::string_view text) noexcept;

/// The longest prefix of at most `max_bytes` that does not end inside a UTF-8 sequence.
std::string_view TruncateUtf8(std::string_view text, std::size_t max_bytes) noexcept;

}  // namespace hotel::base

#endif  // HOTEL_BASE_STRINGS_H_
