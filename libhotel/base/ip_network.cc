#include "libhotel/base/ip_network.h"

#include <charconv>
#include <system_error>

namespace hotel::base {
namespace {

/// Where the 32 bits of IPv4 begin.
constexpr int kV4Offset = 96;
constexpr int kAllBits = 128;

/// Digits alone, up to `most`.
std::optional<int> ParseBits(std::string_view text, int most) {
  int bits = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, bits);
  if (text.empty() || text.front() == '-' || parsed.ec != std::errc() || parsed.ptr != end ||
      bits > most) {
    return std::nullopt;
  }
  return bits;
}

}  // namespace

std::optional<IpNetwork> IpNetwork::Parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto first = IpAddress::ParsePlain(text.substr(0, slash));
  if (!first) return std::nullopt;
  if (slash == std::string_view::npos) return IpNetwork(*first, kAllBits);
  // A mapped address is written with colons, and its prefix counts all bits.
  const int offset = text.find(':') == std::string_view::npos ? kV4Offset : 0;
  const auto bits = ParseBits(text.substr(slash + 1), kAllBits - offset);
  if (!bits) return std::nullopt;
  return IpNetwork(*first, *bits + offset);
}

bool IpNetwork::Contains(const IpAddress& address) const noexcept {
  if (address.is_v4() && bits_ < kV4Offset) return false;
  return first_.SharesPrefix(address, bits_);
}

}  // namespace hotel::base
