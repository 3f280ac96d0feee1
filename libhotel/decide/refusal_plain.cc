#include "libhotel/decide/refusal_plain.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "libhotel/base/strings.h"
#include "libhotel/base/utf8.h"

namespace hotel::decide {
namespace {

// The four hex digits at the start of `text`; false when there are none.
bool ReadHex4(std::string_view text, unsigned* code) {
  if (text.size() < 4) return false;
  *code = 0;
  for (const char c : text.substr(0, 4)) {
    const char lower = base::AsciiLower(c);
    if (base::IsAsciiDigit(c)) {
      *code = *code * 16 + static_cast<unsigned>(c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      *code = *code * 16 + static_cast<unsigned>(lower - 'a' + 10);
    } else {
      return false;
    }
  }
  return true;
}

constexpr std::uint64_t kHighBits = 0x8080808080808080ULL;

// Eight bytes at once: sets the bit between the cases where a byte is in A-Z.
std::uint64_t LowerEight(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  const std::uint64_t low7 = bytes & ~kHighBits;
  const std::uint64_t from_a = low7 + kOnes * (0x80 - 'A');
  const std::uint64_t above_z = low7 + kOnes * (0x7F - 'Z');
  const std::uint64_t upper = (from_a ^ above_z) & ~bytes & kHighBits;
  return bytes | (upper >> 2);
}

// False when none of the eight bytes is `value`.
bool MayHold(std::uint64_t bytes, std::uint8_t value) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  const std::uint64_t other = bytes ^ (kOnes * value);
  return ((other - kOnes) & ~other & kHighBits) != 0;
}

// À-Þ and А-Я, Ё, the capitals of the languages the vocabulary has.
void LowerTwoByteLetters(std::size_t at, std::string* text) noexcept {
  for (; at + 1 < text->size(); ++at) {
    const auto lead = static_cast<unsigned char>((*text)[at]);
    if (lead != 0xC3 && lead != 0xD0) continue;
    const auto trail = static_cast<unsigned char>((*text)[at + 1]);
    const bool latin = lead == 0xC3 && trail >= 0x80 && trail <= 0x9E && trail != 0x97;
    if (latin || (lead == 0xD0 && trail >= 0x90 && trail <= 0x9F)) {
      (*text)[at + 1] = static_cast<char>(trail + 0x20);
    } else if (lead == 0xD0 && ((trail >= 0xA0 && trail <= 0xAF) || trail == 0x81)) {
      (*text)[at] = '\xD1';
      (*text)[at + 1] = static_cast<char>(trail == 0x81 ? 0x91 : trail - 0x20);
    }
  }
}

}  // namespace

void AppendPlain(std::string_view text, std::string* out) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool html = first != std::string_view::npos && text[first] == '<';
  // Where the next tag and the next escape begin: each is looked for once.
  std::size_t tag = html ? first : text.size();
  std::size_t escape = std::min(text.find('\\'), text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (tag < i) tag = std::min(text.find('<', i), text.size());
    if (escape < i) escape = std::min(text.find('\\', i), text.size());
    const std::size_t next = std::min(tag, escape);
    out->append(text.substr(i, next - i));
    i = next;
    if (i == text.size()) break;
    if (text[i] == '<') {
      const std::size_t close = text.find('>', i);
      out->push_back('\n');
      i = close == std::string_view::npos ? text.size() : close + 1;
      continue;
    }
    while (i < text.size() && text[i] == '\\') ++i;
    if (i == text.size()) break;
    unsigned code = 0;
    if (text[i] == 'u' && ReadHex4(text.substr(i + 1), &code)) {
      if (code >= 0xD800 && code < 0xE000) code = ' ';  // half of a pair: no word has one
      base::AppendUtf8(code == 0 ? ' ' : code, out);
      i += 5;
    } else if (text[i] == 'n' || text[i] == 'r' || text[i] == 't') {
      out->push_back('\n');
      ++i;
    } else {
      out->push_back(text[i++]);
    }
  }
}

void AppendLower(std::string_view text, std::string* out) {
  const std::size_t begin = out->size();
  out->append(text);
  std::size_t at = begin;
  std::uint64_t bytes = 0;
  bool two_byte = false;
  for (; at + sizeof(bytes) <= out->size(); at += sizeof(bytes)) {
    std::memcpy(&bytes, out->data() + at, sizeof(bytes));
    if ((bytes & kHighBits) != 0 && !two_byte) {
      two_byte = MayHold(bytes, 0xC3) || MayHold(bytes, 0xD0);
    }
    bytes = LowerEight(bytes);
    std::memcpy(out->data() + at, &bytes, sizeof(bytes));
  }
  for (; at < out->size(); ++at) {
    two_byte = two_byte || (*out)[at] == '\xC3' || (*out)[at] == '\xD0';
    (*out)[at] = base::AsciiLower((*out)[at]);
  }
  if (two_byte) LowerTwoByteLetters(begin, out);
}

}  // namespace hotel::decide
