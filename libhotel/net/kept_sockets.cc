#include "libhotel/net/kept_sockets.h"

#include <utility>

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace hotel::net {
namespace {

// 0 when the socket has none.
int LocalPort(int fd) noexcept {
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
    sockaddr_storage room;
  } address{};
  socklen_t size = sizeof(address);
  if (::getsockname(fd, &address.any, &size) != 0) return 0;
  if (address.any.sa_family == AF_INET6) return ntohs(address.v6.sin6_port);
  return address.any.sa_family == AF_INET ? ntohs(address.v4.sin_port) : 0;
}

// What they say counts, not who says it: every change of the configuration makes new ones.
bool Same(const TransportOptions* a, const TransportOptions* b) noexcept {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

}  // namespace

bool NothingToRead(int fd) noexcept {
  char byte = 0;
  return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EWOULDBLOCK);
}

void KeptSockets::Opened(int fd, int local_port, std::string_view remote_ip,
                         std::shared_ptr<const TransportOptions> transport) {
  if (local_port <= 0 || LocalPort(fd) != local_port) return;
  Closed(fd);
  port_of_fd_.emplace(fd, local_port);
  by_port_.emplace(local_port, Entry{fd, std::string(remote_ip), std::move(transport)});
}

void KeptSockets::Closed(int fd) noexcept {
  const auto known = port_of_fd_.find(fd);
  if (known == port_of_fd_.end()) return;
  auto [it, end] = by_port_.equal_range(known->second);
  while (it != end && it->second.fd != fd) ++it;
  if (it != end) by_port_.erase(it);
  port_of_fd_.erase(known);
}

bool KeptSockets::Fit(int local_port, std::string_view remote_ip, const TransportOptions* transport,
                      std::vector<int>* taken) const {
  const std::size_t before = taken->size();
  const auto [first, last] = by_port_.equal_range(local_port);
  for (auto it = first; it != last; ++it) {
    if (it->second.remote_ip != remote_ip) continue;
    // One address may be spoken to at several ports from the same local one: all must be fit. On
    // HTTP/2 others' answers may be under way, an answer names its request, and libcurl looks for
    // the end itself.
    const bool http2 = transport != nullptr && transport->http2;
    if (!Same(it->second.transport.get(), transport) || (!http2 && !NothingToRead(it->second.fd))) {
      taken->resize(before);
      return false;
    }
    taken->push_back(it->second.fd);
  }
  return taken->size() > before;
}

}  // namespace hotel::net
