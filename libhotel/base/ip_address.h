// An IP address as a value, every spelling of one in text, and what kind of place it names.
#ifndef HOTEL_BASE_IP_ADDRESS_H_
#define HOTEL_BASE_IP_ADDRESS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/socket.h>

namespace hotel::base {

/// IPv4 is held as its IPv4-mapped IPv6 form, so two spellings of one place compare equal.
class IpAddress {
 public:
  static IpAddress V4(std::uint32_t host_order) noexcept;
  static IpAddress V6(const std::array<std::uint8_t, 16>& bytes) noexcept;

  /// Empty for families other than IPv4 and IPv6.
  static std::optional<IpAddress> FromSockaddr(const sockaddr* address) noexcept;

  /// Reads a literal: dotted, decimal, hexadecimal or octal IPv4 of one to four parts, IPv6 with or
  /// without brackets, a trailing dot behind IPv4. Empty when `text` is a name.
  static std::optional<IpAddress> Parse(std::string_view text);

  /// Reads the usual spelling alone: four decimal parts, or IPv6 without brackets.
  static std::optional<IpAddress> ParsePlain(std::string_view text);

  /// IPv4, also in its mapped form.
  bool is_v4() const noexcept;
  /// Whether the first `bits` of the 128 are the same; those of IPv4 begin behind 96.
  bool SharesPrefix(const IpAddress& other, int bits) const noexcept;

  /// The IPv4 address that reaching this one leads to: the address itself, or what a mapped,
  /// translated (NAT64) or tunnelled (6to4, Teredo) one carries. Empty for plain IPv6.
  std::optional<std::uint32_t> EmbeddedV4() const noexcept;

  /// Why a provider should not be there ("a private address", "the metadata service", ...); null
  /// for an ordinary public address. Static storage.
  const char* SpecialPurpose() const noexcept;

  std::string ToString() const;

  friend bool operator==(const IpAddress& a, const IpAddress& b) noexcept = default;

 private:
  explicit IpAddress(const std::array<std::uint8_t, 16>& bytes) noexcept : bytes_(bytes) {}

  bool HasPrefix(std::initializer_list<std::uint8_t> prefix, int bits) const noexcept;

  std::array<std::uint8_t, 16> bytes_;
};

}  // namespace hotel::base

#endif  // HOTEL_BASE_IP_ADDRESS_H_
