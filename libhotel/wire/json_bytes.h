// Looking through the bytes of JSON text: where the time of reading a large body goes.
#ifndef HOTEL_WIRE_JSON_BYTES_H_
#define HOTEL_WIRE_JSON_BYTES_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace hotel::wire {

/// White space between JSON tokens.
inline bool IsJsonSpace(char c) noexcept { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/// A byte that ends the plain run of a string: a quote, a backslash or a control character.
inline bool IsJsonSpecial(char c) noexcept {
  return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
}

/// Bit 7 of a byte is set in the result when that byte of `word` is special. A false mark is
/// possible only behind (above) a true one, so the lowest is exact.
inline std::uint64_t JsonSpecialMarks(std::uint64_t word) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101u;
  constexpr std::uint64_t kHigh = 0x8080808080808080u;
  const std::uint64_t quote = word ^ (kOnes * '"');
  const std::uint64_t slash = word ^ (kOnes * '\\');
  const std::uint64_t control = (word - kOnes * 0x20) & ~word;
  return (((quote - kOnes) & ~quote) | ((slash - kOnes) & ~slash) | control) & kHigh;
}

#if defined(__SSE2__)
/// One bit for each of 16 bytes: is it special?
inline unsigned JsonSpecialMask(const char* data) noexcept {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
  const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
  const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  const __m128i slash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  return static_cast<unsigned>(
      _mm_movemask_epi8(_mm_or_si128(control, _mm_or_si128(quote, slash))));
}
#endif

/// Index of the first special byte at or behind `pos`; the text's size when there is none.
inline std::size_t FindJsonSpecial(std::string_view text, std::size_t pos) noexcept {
  const char* const data = text.data();
#if defined(__SSE2__)
  for (; pos + 16 <= text.size(); pos += 16) {
    const unsigned mask = JsonSpecialMask(data + pos);
    if (mask != 0) return pos + static_cast<std::size_t>(std::countr_zero(mask));
  }
#endif
  if constexpr (std::endian::native == std::endian::little) {
    for (; pos + 8 <= text.size(); pos += 8) {
      std::uint64_t word;
      std::memcpy(&word, data + pos, 8);
      const std::uint64_t marks = JsonSpecialMarks(word);
      if (marks != 0) return pos + static_cast<std::size_t>(std::countr_zero(marks)) / 8;
    }
  }
  while (pos < text.size() && !IsJsonSpecial(data[pos])) ++pos;
  return pos;
}

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_JSON_BYTES_H_
