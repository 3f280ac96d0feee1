#include "libhotel/base/ids.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include <fmt/format.h>
#include <sys/random.h>

#include "libhotel/base/strings.h"

namespace hotel::base {
namespace {

// getrandom(2) cannot fail for sizes like these once the kernel has entropy, apart from signals; an
// id that repeats would be worse than the end of the process.
void FillRandom(void* out, std::size_t size) {
  auto* bytes = static_cast<unsigned char*>(out);
  while (size > 0) {
    const ssize_t got = getrandom(bytes, size, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      std::abort();
    }
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
}

bool IsHexDigit(char c) noexcept {
  return IsAsciiDigit(c) || (AsciiLower(c) >= 'a' && AsciiLower(c) <= 'f');
}

}  // namespace

std::string NewUuid() {
  std::array<std::uint64_t, 2> bits{};
  FillRandom(bits.data(), sizeof(bits));
  bits[0] = (bits[0] & ~std::uint64_t{0xF000}) | 0x4000;                       // version 4
  bits[1] = (bits[1] & ~(std::uint64_t{3} << 62)) | (std::uint64_t{2} << 62);  // variant 10
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", bits[0] >> 32, (bits[0] >> 16) & 0xFFFF,
                     bits[0] & 0xFFFF, bits[1] >> 48, bits[1] & 0xFFFFFFFFFFFF);
}

bool IsUuid(std::string_view text) noexcept {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
    if (hyphen ? text[i] != '-' : !IsHexDigit(text[i])) return false;
  }
  return true;
}

std::string NewRequestId() { return fmt::format("{:016x}", RandomSeed()); }

std::uint64_t RandomSeed() {
  std::uint64_t seed = 0;
  FillRandom(&seed, sizeof(seed));
  return seed;
}

}  // namespace hotel::base
