#include "server/socket.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/status/status.h"

namespace hotel::server {
namespace {

std::string ErrnoText(int error) { return std::strerror(error); }

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

absl::StatusOr<Fd> ListenTcp(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string service = std::to_string(port);
  const int failed =
      ::getaddrinfo(host.empty() ? nullptr : host.c_str(), service.c_str(), &hints, &found);
  if (failed != 0) {
    return absl::InvalidArgumentError(
        fmt::format("cannot listen on {}:{}: {}", host, port, ::gai_strerror(failed)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> holder(found, ::freeaddrinfo);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    Fd fd(::socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                   info->ai_protocol));
    const int yes = 1;
    // SO_REUSEADDR alone: with SO_REUSEPORT a second server would share the port unnoticed.
    if (fd.valid() && ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
        ::bind(fd.get(), info->ai_addr, info->ai_addrlen) == 0 &&
        ::listen(fd.get(), kListenBacklog) == 0) {
      return fd;
    }
    error = errno;
  }
  return absl::UnavailableError(
      fmt::format("cannot listen on {}:{}: {}", host, port, ErrnoText(error)));
}

std::string AddressText(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET6) {
    const auto& in6 = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof(text));
  } else if (address.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text));
  }
  return text;
}

std::string LocalAddress(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size);
  const std::string address = AddressText(storage);
  if (storage.ss_family == AF_INET6) {
    const auto& in6 = reinterpret_cast<const sockaddr_in6&>(storage);
    return fmt::format("[{}]:{}", address, ntohs(in6.sin6_port));
  }
  const auto& in = reinterpret_cast<const sockaddr_in&>(storage);
  return fmt::format("{}:{}", address, ntohs(in.sin_port));
}

}  // namespace hotel::server
