// Where upstream connections may lead (decisions 10, "Addresses"; F181).
//
// The check that counts is made on the resolved address when the socket is opened, so a name that
// changes its mind between two look-ups gains nothing. URLs are checked beforehand as well, for an
// early and clear refusal.
#ifndef HOTEL_NET_ADDRESS_POLICY_H_
#define HOTEL_NET_ADDRESS_POLICY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>

#include "hotel/defaults.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/ip_address.h"
#include "libhotel/net/provider_url.h"
#include "libhotel/net/proxy_url.h"

namespace hotel::net {

/// One entry of AddressPolicy::allowed_hosts: a host or a literal address, with or without a port,
/// or `unix:` and the absolute path of a socket.
struct AllowedHost {
  std::string host;  ///< lower case, no trailing dot; empty for a literal address
  std::optional<base::IpAddress> address;  ///< a literal, whatever its spelling
  std::optional<std::uint16_t> port;
  std::string unix_path;  ///< not empty: nothing else is set

  static absl::StatusOr<AllowedHost> Parse(std::string_view entry);
};

/// An AddressPolicy made ready for comparing. Immutable.
class AddressRules {
 public:
  /// InvalidArgument names the entry that cannot be read.
  static absl::StatusOr<AddressRules> Create(const AddressPolicy& policy);

  /// Whether a connection asked for as `host`:`port` may go to `address`.
  bool Allows(const base::IpAddress& address, std::string_view host,
              std::uint16_t port) const noexcept;
  /// As above, on what the resolver returned. Families other than IPv4 and IPv6 are refused.
  bool Allows(const sockaddr* address, std::string_view host, std::uint16_t port) const noexcept;

  /// What can be said before a name is resolved: the scheme, and literal addresses.
  absl::Status CheckUrl(const ProviderUrl& url) const;
  /// As above, for a proxy: literal addresses.
  absl::Status CheckProxy(const ProxyUrl& proxy) const;
  /// Whether the socket at `path` is named by an entry, byte for byte.
  absl::Status CheckUnixSocket(const std::string& path) const;

 private:
  absl::Status CheckLiteral(const std::string& host, std::uint16_t port) const;

  bool allow_http_ = false;
  std::vector<AllowedHost> allowed_;
};

}  // namespace hotel::net

#endif  // HOTEL_NET_ADDRESS_POLICY_H_
