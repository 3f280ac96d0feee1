// A range of IP addresses, as in CIDR notation.
#ifndef HOTEL_BASE_IP_NETWORK_H_
#define HOTEL_BASE_IP_NETWORK_H_

#include <optional>
#include <string_view>

#include "libhotel/base/ip_address.h"

namespace hotel::base {

/// The addresses that begin with the same bits.
class IpNetwork {
 public:
  /// `10.0.0.0/8`, `fd00::/8`, or one address; bits behind the prefix do not matter. Empty when
  /// `text` is none of these.
  static std::optional<IpNetwork> Parse(std::string_view text);

  /// Both spellings of an IPv4 address are in an IPv4 network and in no IPv6 network.
  bool Contains(const IpAddress& address) const noexcept;

 private:
  IpNetwork(const IpAddress& first, int bits) noexcept : first_(first), bits_(bits) {}

  IpAddress first_;
  int bits_;  // of the 128
};

}  // namespace hotel::base

#endif  // HOTEL_BASE_IP_NETWORK_H_
