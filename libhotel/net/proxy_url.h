// A proxy's URL taken apart, its credentials apart from the rest.
#ifndef HOTEL_NET_PROXY_URL_H_
#define HOTEL_NET_PROXY_URL_H_

#include <cstdint>
#include <string>

#include "hotel/types.h"

#include "absl/status/statusor.h"

namespace hotel::net {

struct ProxyUrl {
  std::string canonical;  ///< scheme, host and port: what is handed to libcurl
  std::string host;       ///< lower case, no brackets, no trailing dot; IPv4 literals dotted
  std::uint16_t port = 0;
  Secret user;      ///< decoded; empty = none
  Secret password;  ///< decoded

  /// http, https, socks5 or socks5h, with a port. InvalidArgument with a sentence that says what to
  /// do and never repeats the URL.
  static absl::StatusOr<ProxyUrl> Parse(const Secret& url);
};

}  // namespace hotel::net

#endif  // HOTEL_NET_PROXY_URL_H_
