// The few socket operations the front needs, with their error cases.
#ifndef SERVER_SOCKET_H_
#define SERVER_SOCKET_H_

#include <string>
#include <utility>

#include <sys/socket.h>

#include "absl/status/statusor.h"

namespace hotel::server {

/// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();
  int get() const noexcept { return fd_; }
  bool valid() const noexcept { return fd_ >= 0; }
  int Release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// How many connections may wait to be accepted.
inline constexpr int kListenBacklog = 4096;

/// A non-blocking TCP socket that listens on `host:port` with a deep backlog.
absl::StatusOr<Fd> ListenTcp(const std::string& host, int port);

/// An IPv4 or IPv6 address as text, without port; "" for any other.
std::string AddressText(const sockaddr_storage& address);

/// The local end of a socket as it stands in URLs: "127.0.0.1:80", "[::1]:80".
std::string LocalAddress(int fd);

}  // namespace hotel::server

#endif  // SERVER_SOCKET_H_
