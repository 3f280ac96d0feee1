#include "libhotel/base/utf8.h"

namespace hotel::base {

void AppendUtf8(std::uint32_t point, std::string* text) {
  const auto put = [text](std::uint32_t byte) { text->push_back(static_cast<char>(byte)); };
  const auto tail = [&put, point](int shift) { put(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) return put(point);
  if (point < 0x800) {
    put(0xC0 | point >> 6);
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12);
    tail(6);
  } else {
    put(0xF0 | point >> 18);
    tail(12);
    tail(6);
  }
  tail(0);
}

std::uint32_t CodePointOf(std::string_view sequence) noexcept {
  constexpr std::uint32_t kLeadBits[] = {0x7F, 0x1F, 0x0F, 0x07};
  std::uint32_t point =
      static_cast<unsigned char>(sequence.front()) & kLeadBits[sequence.size() - 1];
  for (const char c : sequence.substr(1)) {
    point = point << 6 | (static_cast<unsigned char>(c) & 0x3FU);
  }
  return point;
}

}  // namespace hotel::base
