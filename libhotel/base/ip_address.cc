#include "libhotel/base/ip_address.h"

#include <algorithm>
#include <initializer_list>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "libhotel/base/strings.h"

namespace hotel::base {
namespace {

struct V4Range {
  std::uint32_t network;
  int bits;
  const char* what;
};

constexpr std::uint32_t Quad(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return (a << 24) | (b << 16) | (c << 8) | d;
}

// IANA's IPv4 special-purpose registry, plus multicast, plus the metadata addresses of clouds that
// lie outside of it. The first match names the reason.
constexpr V4Range kV4Ranges[] = {
    {Quad(169, 254, 169, 254), 32, "the metadata service"},
    {Quad(168, 63, 129, 16), 32, "the metadata service"},    // Azure's, in public space
    {Quad(100, 100, 100, 200), 32, "the metadata service"},  // Alibaba's
    {Quad(0, 0, 0, 0), 8, "an unspecified address"},
    {Quad(10, 0, 0, 0), 8, "a private address"},
    {Quad(100, 64, 0, 0), 10, "a carrier-grade NAT address"},
    {Quad(127, 0, 0, 0), 8, "a loopback address"},
    {Quad(169, 254, 0, 0), 16, "a link-local address"},
    {Quad(172, 16, 0, 0), 12, "a private address"},
    {Quad(192, 0, 0, 0), 24, "a reserved address"},
    {Quad(192, 0, 2, 0), 24, "a documentation address"},
    {Quad(192, 88, 99, 0), 24, "a reserved address"},
    {Quad(192, 168, 0, 0), 16, "a private address"},
    {Quad(198, 18, 0, 0), 15, "a benchmarking address"},
    {Quad(198, 51, 100, 0), 24, "a documentation address"},
    {Quad(203, 0, 113, 0), 24, "a documentation address"},
    {Quad(224, 0, 0, 0), 4, "a multicast address"},
    {Quad(255, 255, 255, 255), 32, "the broadcast address"},
    {Quad(240, 0, 0, 0), 4, "a reserved address"},
};

const char* V4Purpose(std::uint32_t address) noexcept {
  for (const V4Range& range : kV4Ranges) {
    if (((address ^ range.network) >> (32 - range.bits)) == 0) return range.what;
  }
  return nullptr;
}

}  // namespace

IpAddress IpAddress::V4(std::uint32_t host_order) noexcept {
  std::array<std::uint8_t, 16> bytes{};
  bytes[10] = bytes[11] = 0xff;
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[12 + i] = static_cast<std::uint8_t>(host_order >> (24 - 8 * i));
  }
  return IpAddress(bytes);
}

IpAddress IpAddress::V6(const std::array<std::uint8_t, 16>& bytes) noexcept {
  return IpAddress(bytes);
}

std::optional<IpAddress> IpAddress::FromSockaddr(const sockaddr* address) noexcept {
  // Copied out: the caller's storage need not be aligned for the concrete type.
  if (address->sa_family == AF_INET) {
    sockaddr_in v4;
    ::memcpy(&v4, address, sizeof(v4));
    return V4(ntohl(v4.sin_addr.s_addr));
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6;
    ::memcpy(&v6, address, sizeof(v6));
    std::array<std::uint8_t, 16> bytes;
    std::copy_n(v6.sin6_addr.s6_addr, bytes.size(), bytes.begin());
    return V6(bytes);
  }
  return std::nullopt;
}

std::optional<IpAddress> IpAddress::Parse(std::string_view text) {
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
  }
  if (text.find(':') != std::string_view::npos) {
    std::array<std::uint8_t, 16> bytes;
    if (::inet_pton(AF_INET6, std::string(text).c_str(), bytes.data()) != 1) return std::nullopt;
    return V6(bytes);
  }
  if (!text.empty() && text.back() == '.') text.remove_suffix(1);
  // inet_aton reads the resolver's historical forms, and stops at white space, which is no literal.
  if (text.empty() || std::any_of(text.begin(), text.end(), IsAsciiSpace)) return std::nullopt;
  in_addr v4{};
  if (::inet_aton(std::string(text).c_str(), &v4) == 0) return std::nullopt;
  return V4(ntohl(v4.s_addr));
}

std::optional<IpAddress> IpAddress::ParsePlain(std::string_view text) {
  // Longer is no address; a NUL inside would hide the rest.
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string copy(text);
  std::array<std::uint8_t, 16> bytes;
  if (::inet_pton(AF_INET6, copy.c_str(), bytes.data()) == 1) return V6(bytes);
  in_addr v4{};
  if (::inet_pton(AF_INET, copy.c_str(), &v4) != 1) return std::nullopt;
  return V4(ntohl(v4.s_addr));
}

bool IpAddress::is_v4() const noexcept {
  return HasPrefix({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96);
}

bool IpAddress::SharesPrefix(const IpAddress& other, int bits) const noexcept {
  for (std::size_t i = 0; i < bytes_.size() && bits > 0; ++i, bits -= 8) {
    const int shift = std::max(0, 8 - bits);
    if (((bytes_[i] ^ other.bytes_[i]) >> shift) != 0) return false;
  }
  return true;
}

bool IpAddress::HasPrefix(std::initializer_list<std::uint8_t> prefix, int bits) const noexcept {
  std::size_t index = 0;
  for (const std::uint8_t byte : prefix) {
    const int shift = std::max(0, 8 - bits);
    if (((bytes_[index] ^ byte) >> shift) != 0) return false;
    bits -= 8;
    ++index;
  }
  return true;
}

std::optional<std::uint32_t> IpAddress::EmbeddedV4() const noexcept {
  const auto at = [this](std::size_t offset) {
    return Quad(bytes_[offset], bytes_[offset + 1], bytes_[offset + 2], bytes_[offset + 3]);
  };
  if (is_v4()) return at(12);
  if (HasPrefix({0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0}, 96)) return at(12);     // SIIT
  if (HasPrefix({0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0}, 96)) return at(12);  // NAT64
  if (HasPrefix({0x20, 0x02}, 16)) return at(2);                                    // 6to4
  if (HasPrefix({0x20, 0x01, 0, 0}, 32)) return ~at(12);                            // Teredo
  return std::nullopt;
}

const char* IpAddress::SpecialPurpose() const noexcept {
  if (const std::optional<std::uint32_t> v4 = EmbeddedV4()) return V4Purpose(*v4);
  if (HasPrefix({0xfd, 0, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54}, 128)) {
    return "the metadata service";
  }
  if (HasPrefix({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 128)) {
    return "an unspecified address";
  }
  if (HasPrefix({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128)) return "a loopback address";
  if (HasPrefix({0xfc}, 7)) return "a unique-local address";
  if (HasPrefix({0xfe, 0x80}, 10)) return "a link-local address";
  if (HasPrefix({0xff}, 8)) return "a multicast address";
  if (HasPrefix({0x20, 0x01, 0x0d, 0xb8}, 32)) return "a documentation address";
  if (HasPrefix({0x3f, 0xff, 0}, 20)) return "a documentation address";
  if (HasPrefix({0x20, 0x01, 0, 0x02, 0, 0}, 48)) return "a benchmarking address";
  // What is left of global unicast space is public; all else (site-local, discard-only, locally
  // used NAT64, IPv4-compatible, unassigned) is no place for a provider.
  if (HasPrefix({0x20, 0x01, 0}, 23)) return "a reserved address";
  if (!HasPrefix({0x20}, 3)) return "a reserved address";
  return nullptr;
}

std::string IpAddress::ToString() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (is_v4()) {
    ::inet_ntop(AF_INET, &bytes_[12], text, sizeof(text));
  } else {
    ::inet_ntop(AF_INET6, bytes_.data(), text, sizeof(text));
  }
  return text;
}

}  // namespace hotel::base
