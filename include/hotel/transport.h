// How connections to one provider are made, where that differs from the dispatcher's own way.
#ifndef HOTEL_TRANSPORT_H_
#define HOTEL_TRANSPORT_H_

#include <string>

#include "hotel/types.h"

namespace hotel {

/// Connections made under different values are never shared.
struct TransportOptions {
  /// PEM file with the roots trusted for this provider (and for its https proxy) instead of the
  /// dispatcher's; empty = those.
  std::string ca_file;
  /// http://, https://, socks5:// or socks5h:// URL with a port, `user:password@` allowed; empty =
  /// no proxy.
  Secret proxy;
  /// Absolute path of a socket that is connected to instead of the URL's host; empty = none. Not
  /// together with a proxy.
  std::string unix_socket;
  /// Offer HTTP/2 over TLS. HTTP/1.1 is spoken all the same when the libcurl at hand has known
  /// errors in it (before 8.4), and over plain http.
  bool http2 = false;

  /// Nothing differs.
  bool IsDefault() const noexcept {
    return ca_file.empty() && proxy.empty() && unix_socket.empty() && !http2;
  }
  friend bool operator==(const TransportOptions& a, const TransportOptions& b) noexcept {
    return a.ca_file == b.ca_file && a.proxy == b.proxy && a.unix_socket == b.unix_socket &&
           a.http2 == b.http2;
  }
};

}  // namespace hotel

#endif  // HOTEL_TRANSPORT_H_
