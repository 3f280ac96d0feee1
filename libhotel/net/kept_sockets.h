// Which sockets carry connections, so that a kept one can be looked at before it is used again.
#ifndef HOTEL_NET_KEPT_SOCKETS_H_
#define HOTEL_NET_KEPT_SOCKETS_H_

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hotel/transport.h"

namespace hotel::net {

/// Whether a read of `fd` would find no byte, no end and no error.
bool NothingToRead(int fd) noexcept;

/// The open connections by their ends, which is all that libcurl tells about the one it is about
/// to use. Loop thread only.
class KeptSockets {
 public:
  /// `fd` has been opened, under these options, for a connection from `local_port` to `remote_ip`;
  /// it counts from here on if it is that connection's.
  void Opened(int fd, int local_port, std::string_view remote_ip,
              std::shared_ptr<const TransportOptions> transport);
  /// Before the descriptor is closed. No effect on one that is not known.
  void Closed(int fd) noexcept;

  /// Whether `fd` is an open connection.
  bool Knows(int fd) const noexcept { return port_of_fd_.count(fd) != 0; }

  /// Whether a connection with these ends may carry a request with these options. Not when
  /// something waits to be read: its end, an error, or bytes that answer nothing and would pass for
  /// the answer to the next request. Not when it was opened under other options. And not when no
  /// such connection is known: what cannot be looked at is not trusted. When it may, its socket is
  /// put behind `*taken` (with any other of the same ends).
  bool Fit(int local_port, std::string_view remote_ip, const TransportOptions* transport,
           std::vector<int>* taken) const;

 private:
  struct Entry {
    int fd;
    std::string remote_ip;
    std::shared_ptr<const TransportOptions> transport;
  };
  std::unordered_multimap<int, Entry> by_port_;  // local
  std::unordered_map<int, int> port_of_fd_;
};

}  // namespace hotel::net

#endif  // HOTEL_NET_KEPT_SOCKETS_H_
