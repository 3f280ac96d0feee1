#include "server/sim/server.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace hotel::sim {
namespace {

constexpr int kBacklog = 8192;
constexpr std::size_t kReadSize = 256 << 10;
/// What a client may send ahead while its answer is running.
constexpr std::size_t kMaxAhead = 1 << 20;
/// File descriptors kept for everything that is no connection.
constexpr std::size_t kReserved = 32;
constexpr TimePoint kNever = TimePoint::max();

TimePoint Now() { return std::chrono::steady_clock::now(); }

std::size_t RaiseFileLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur > 2 * kReserved ? limit.rlim_cur - kReserved : kReserved;
}

int PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace

struct Server::Connection {
  explicit Connection(int descriptor) : fd(descriptor) {}

  int fd;
  RequestReader reader;
  std::string in;
  std::string out;
  std::optional<Script> script;
  TimePoint timer = kNever;
  bool keep_alive = true;
  bool closing = false;      ///< close once `out` is sent
  bool wants_write = false;  ///< registered for EPOLLOUT
  bool lacks_room = false;   ///< the answer has more to give than `out` may hold
};

Server::Server(Sim* sim) : sim_(sim) {
  max_connections_ = RaiseFileLimit();
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGINT);
  sigaddset(&mask, SIGTERM);
  signals_ = signalfd(-1, &mask, SFD_CLOEXEC);
  read_buffer_.resize(kReadSize);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = signals_;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, signals_, &event);
}

Server::~Server() {
  while (!connections_.empty()) Destroy(connections_.begin()->second.get(), false);
  for (const int fd : {listener_, signals_, epoll_}) {
    if (fd >= 0) close(fd);
  }
}

int Server::Listen(const std::string& host, const std::string& port, std::string* error) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (failure != 0) {
    *error = gai_strerror(failure);
    return 0;
  }
  const int on = 1;
  listener_ = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool ok = listener_ >= 0 && bind(listener_, found->ai_addr, found->ai_addrlen) == 0 &&
                  listen(listener_, kBacklog) == 0;
  if (!ok) *error = strerror(errno);
  freeaddrinfo(found);
  if (!ok) return 0;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = listener_;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event);
  return PortOf(listener_);
}

void Server::Run() {
  std::array<epoll_event, 1024> events;
  for (;;) {
    int timeout = -1;
    if (!timers_.empty()) {
      const auto left = std::chrono::ceil<Millis>(timers_.begin()->first - Now());
      timeout = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
    }
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout);
    const TimePoint now = Now();
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      const int fd = event.data.fd;
      if (fd == signals_) return;
      if (fd == listener_) {
        Accept();
        continue;
      }
      // A number freed and taken again in this batch gets a spurious event, which does no harm.
      const auto found = connections_.find(fd);
      if (found == connections_.end()) continue;
      if ((event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) {
        Readable(found->second.get());
      } else {
        Advance(found->second.get(), now);
      }
    }
    RunTimers(now);
  }
}

void Server::Accept() {
  for (;;) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    if (connections_.size() >= max_connections_) {
      close(fd);
      continue;
    }
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
    Connection* connection =
        connections_.emplace(fd, std::make_unique<Connection>(fd)).first->second.get();
    Stats& stats = sim_->stats();
    ++stats.connections;
    ++stats.open_connections;
    stats.max_open_connections = std::max(stats.max_open_connections, stats.open_connections);
    // The request is mostly there already.
    Readable(connection);
  }
}

void Server::Readable(Connection* connection) {
  const ssize_t size = recv(connection->fd, read_buffer_.data(), read_buffer_.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) {
    ClientLeft(connection);
    return;
  }
  const auto bytes = static_cast<std::size_t>(size);
  sim_->stats().bytes_in += bytes;
  if (connection->closing) return;
  if (connection->script && connection->in.size() + bytes > kMaxAhead) {
    ClientLeft(connection);
    return;
  }
  connection->in.append(read_buffer_, 0, bytes);
  // Not the time at which epoll woke: the request may have come since, and its waits begin with it.
  if (!connection->script) Advance(connection, Now());
}

void Server::ClientLeft(Connection* connection) {
  if (connection->script) {
    ++sim_->stats().cut_by_client;
    if (connection->script->streaming()) ++sim_->stats().streams_cut_by_client;
  }
  Destroy(connection, false);
}

void Server::Advance(Connection* connection, TimePoint now) {
  const int fd = connection->fd;
  const auto alive = [&] {
    const auto found = connections_.find(fd);
    return found != connections_.end() && found->second.get() == connection;
  };
  for (;;) {
    const bool more =
        connection->script ? ContinueAnswer(connection, now) : TakeRequest(connection, now);
    if (!alive()) return;
    if (more) continue;
    // With everything sent, an answer that only lacked room goes on; else EPOLLOUT continues it.
    const bool lacked_room = std::exchange(connection->lacks_room, false);
    if (!Flush(connection) || !lacked_room || !connection->out.empty()) return;
  }
}

bool Server::TakeRequest(Connection* connection, TimePoint now) {
  if (connection->closing) return false;
  const auto refuse = [connection](std::string_view status) {
    connection->out += "HTTP/1.1 ";
    connection->out += status;
    connection->out += "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    connection->closing = true;
    return false;
  };
  switch (connection->reader.Read(&connection->in)) {
    case RequestReader::Result::kMore:
      return false;
    case RequestReader::Result::kContinue:
      connection->out += "HTTP/1.1 100 Continue\r\n\r\n";
      return false;
    case RequestReader::Result::kBad:
      return refuse("400 Bad Request");
    case RequestReader::Result::kTooLarge:
      return refuse("413 Content Too Large");
    case RequestReader::Result::kReady:
      break;
  }
  connection->keep_alive = connection->reader.request().keep_alive;
  connection->script = sim_->Handle(std::move(connection->reader.request()), now, &connection->out);
  if (connection->script) {
    ++sim_->stats().running;
  } else if (!connection->keep_alive) {
    connection->closing = true;
  }
  return true;
}

bool Server::ContinueAnswer(Connection* connection, TimePoint now) {
  SetTimer(connection, kNever);
  const Script::Step step = connection->script->Next(now, &connection->out);
  switch (step.kind) {
    case Script::Step::Kind::kMore:
      connection->lacks_room = true;
      return false;
    case Script::Step::Kind::kWait:
      SetTimer(connection, step.until);
      return false;
    case Script::Step::Kind::kHang:
      return false;
    case Script::Step::Kind::kDone:
      ++sim_->stats().answered;
      connection->closing = !connection->keep_alive || connection->script->closes();
      EndAnswer(connection);
      return true;
    case Script::Step::Kind::kClose:
      ++sim_->stats().broken;
      EndAnswer(connection);
      connection->closing = true;
      return false;
    case Script::Step::Kind::kReset:
      ++sim_->stats().broken;
      EndAnswer(connection);
      Destroy(connection, true);
      return false;
  }
  return false;
}

void Server::EndAnswer(Connection* connection) {
  connection->script.reset();
  --sim_->stats().running;
}

bool Server::Flush(Connection* connection) {
  std::size_t sent = 0;
  bool blocked = false;
  while (sent < connection->out.size() && !blocked) {
    const ssize_t size = send(connection->fd, connection->out.data() + sent,
                              connection->out.size() - sent, MSG_NOSIGNAL);
    if (size >= 0) {
      sent += static_cast<std::size_t>(size);
    } else if (errno == EAGAIN) {
      blocked = true;
    } else if (errno != EINTR) {
      ClientLeft(connection);
      return false;
    }
  }
  connection->out.erase(0, sent);
  if (connection->out.empty() && connection->closing) {
    Destroy(connection, false);
    return false;
  }
  if (blocked != connection->wants_write) {
    connection->wants_write = blocked;
    epoll_event event{};
    event.events = EPOLLIN;
    if (blocked) event.events |= EPOLLOUT;
    event.data.fd = connection->fd;
    epoll_ctl(epoll_, EPOLL_CTL_MOD, connection->fd, &event);
  }
  return true;
}

void Server::SetTimer(Connection* connection, TimePoint when) {
  if (connection->timer == when) return;
  if (connection->timer != kNever) timers_.erase({connection->timer, connection});
  connection->timer = when;
  if (when != kNever) timers_.emplace(when, connection);
}

void Server::RunTimers(TimePoint now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    Connection* connection = timers_.begin()->second;
    SetTimer(connection, kNever);
    Advance(connection, now);
  }
}

void Server::Destroy(Connection* connection, bool reset) {
  SetTimer(connection, kNever);
  if (connection->script) --sim_->stats().running;
  --sim_->stats().open_connections;
  if (reset) {
    const linger now{1, 0};
    setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  const int fd = connection->fd;
  close(fd);
  connections_.erase(fd);
}

}  // namespace hotel::sim
