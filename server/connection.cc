#include "server/connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>

#include <poll.h>
#include <sys/socket.h>

#include "server/chunked_body.h"

namespace hotel::server {
namespace {

constexpr std::size_t kReadSize = 16 * 1024;

TimePoint Now() { return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now()); }

/// Milliseconds for poll(), rounded up so that a wait never ends early.
int PollTimeout(TimePoint deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, INT_MAX));
}

constexpr RequestError kGone{0, "", ""};
constexpr RequestError kTooLarge{413, "request_too_large",
                                 "the request body is larger than server.max_request_size"};
constexpr RequestError kBadChunks{400, "malformed_request", "the chunked body is malformed"};
constexpr RequestError kSlowBody{408, "request_timeout", "the request body did not arrive in time"};

}  // namespace

Connection::Wait Connection::WaitReadable(TimePoint deadline, int wake_fd) {
  while (true) {
    std::array<pollfd, 2> fds = {{{fd_.get(), POLLIN, 0}, {wake_fd, POLLIN, 0}}};
    const int ready = ::poll(fds.data(), wake_fd < 0 ? 1 : 2, PollTimeout(deadline));
    if (ready < 0 && errno != EINTR) return Wait::kGone;
    if (ready > 0 && fds[0].revents != 0) return Wait::kReady;
    if (ready > 0) return Wait::kWoken;
    if (Now() >= deadline) return Wait::kTimeout;
  }
}

bool Connection::Fill() {
  std::array<char, kReadSize> bytes;
  while (true) {
    const auto got = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
    if (got > 0) {
      buffer_.append(bytes.data(), static_cast<std::size_t>(got));
      return true;
    }
    if (got < 0 && errno == EINTR) continue;
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }
}

void Connection::Skip(std::size_t count) {
  at_ += count;
  if (at_ == buffer_.size()) {
    buffer_.clear();
    at_ = 0;
  }
}

Connection::ReadHead Connection::NextHead(Duration idle, int stop_fd, std::string* head) {
  if (at_ > 0) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
  if (buffer_.empty()) {
    if (WaitReadable(Now() + idle, stop_fd) != Wait::kReady) return ReadHead::kClosed;
    if (!Fill()) return ReadHead::kClosed;
  }
  const auto deadline = Now() + options_->head_timeout;
  while (true) {
    // An empty line before a request is tolerated (RFC 9112, 2.2).
    while (unread().substr(0, 2) == "\r\n") Skip(2);
    const auto scan = ScanHead(unread());
    if (scan.state == HeadScan::State::kMalformed) return ReadHead::kMalformed;
    if (scan.state == HeadScan::State::kComplete) {
      if (scan.size > options_->head.max_bytes) return ReadHead::kTooLarge;
      head->assign(unread().substr(0, scan.size));
      Skip(scan.size);
      return ReadHead::kHead;
    }
    if (unread().size() > options_->head.max_bytes) return ReadHead::kTooLarge;
    switch (WaitReadable(deadline, -1)) {
      case Wait::kReady:
        if (!Fill()) return ReadHead::kClosed;
        break;
      case Wait::kTimeout:
        return ReadHead::kTimeout;
      case Wait::kWoken:
      case Wait::kGone:
        return ReadHead::kClosed;
    }
  }
}

std::optional<RequestError> Connection::NextBody(const RequestHead& head, std::string* body) {
  body->clear();
  if (!head.has_body()) return std::nullopt;
  const std::size_t limit = options_->max_body_bytes;
  if (head.content_length > limit) return kTooLarge;
  if (head.expects_continue && unread().empty() && !SendAll("HTTP/1.1 100 Continue\r\n\r\n")) {
    return kGone;
  }
  ChunkedBody chunks(limit);
  const auto last = Now() + options_->body_timeout;
  while (true) {
    if (head.chunked) {
      std::size_t consumed = 0;
      const auto state = chunks.Feed(unread(), body, &consumed);
      Skip(consumed);
      if (state == ChunkedBody::State::kDone) return std::nullopt;
      if (state == ChunkedBody::State::kTooLarge) return kTooLarge;
      if (state == ChunkedBody::State::kMalformed) return kBadChunks;
    } else {
      const auto take = std::min<std::size_t>(
          unread().size(), static_cast<std::size_t>(head.content_length) - body->size());
      body->append(unread().substr(0, take));
      Skip(take);
      if (body->size() == head.content_length) return std::nullopt;
    }
    switch (WaitReadable(std::min(last, Now() + options_->body_stall_timeout), -1)) {
      case Wait::kReady:
        if (Now() >= last) return kSlowBody;
        if (!Fill()) return kGone;
        break;
      case Wait::kTimeout:
        return kSlowBody;
      case Wait::kWoken:
      case Wait::kGone:
        return kGone;
    }
  }
}

bool Connection::SendAll(std::string_view bytes) {
  auto deadline = Now() + options_->write_stall_timeout;
  while (!bytes.empty()) {
    const auto sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      deadline = Now() + options_->write_stall_timeout;
      continue;
    }
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return false;
    pollfd fd = {fd_.get(), POLLOUT | POLLRDHUP, 0};
    if (::poll(&fd, 1, PollTimeout(deadline)) == 0 && Now() >= deadline) return false;
    if ((fd.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) return false;
  }
  return true;
}

bool Connection::WaitFor(int wake_fd) {
  while (true) {
    std::array<pollfd, 2> fds = {{{wake_fd, POLLIN, 0}, {fd_.get(), POLLRDHUP, 0}}};
    if (::poll(fds.data(), fds.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    if (fds[1].revents != 0) return false;
    if (fds[0].revents != 0) return true;
  }
}

bool Connection::PeerGone() const {
  pollfd fd = {fd_.get(), POLLRDHUP, 0};
  return ::poll(&fd, 1, 0) > 0;
}

}  // namespace hotel::server
