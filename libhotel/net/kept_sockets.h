// Which sockets carry connections, so that a kept one can be looked at before it is used again.
#ifndef HOTEL_NET_KEPT_SOCKETS_H_
#define HOTEL_NET_KEPT_SOCKETS_H_

#include <string>
#include <string_view>
#include <unordered_map>

namespace hotel::net {

/// Whether a read of `fd` would find no byte, no end and no error.
bool NothingToRead(int fd) noexcept;

/// The open connections by their ends, which is all that libcurl tells about the one it is about
/// to use. Loop thread only.
class KeptSockets {
 public:
  /// `fd` has been opened for a connection from `local_port` to `remote_ip`; it counts from here on
  /// if it is that connection's.
  void Opened(int fd, int local_port, std::string_view remote_ip);
  /// Before the descriptor is closed. No effect on one that is not known.
  void Closed(int fd) noexcept;

  /// Whether `fd` is an open connection.
  bool Knows(int fd) const noexcept { return port_of_fd_.count(fd) != 0; }

  /// False when something waits to be read on a connection with these ends: its end, an error, or
  /// bytes that answer nothing and would pass for the answer to the next request. False as well
  /// when no such connection is known: what cannot be looked at is not trusted.
  bool Quiet(int local_port, std::string_view remote_ip) const noexcept;

 private:
  struct Entry {
    int fd;
    std::string remote_ip;
  };
  std::unordered_multimap<int, Entry> by_port_;  // local
  std::unordered_map<int, int> port_of_fd_;
};

}  // namespace hotel::net

#endif  // HOTEL_NET_KEPT_SOCKETS_H_
