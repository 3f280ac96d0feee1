#include "benchmarks/load/load.h"

#include <algorithm>
#include <cerrno>
#include <ctime>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace hotel::load {
namespace {

constexpr std::size_t kBufferSize = 256 * 1024;
constexpr int kMaxEvents = 1024;
constexpr int kTickMs = 100;
// An idle run opens its connections this many at a time: not the opening is measured.
constexpr long kOpeningAtOnce = 100;

int64_t Now() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

int64_t Nanoseconds(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

}  // namespace

Load::Load(const Options& options)
    : options_(options),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      connections_(static_cast<std::size_t>(options.idle > 0 ? options.idle : options.connections),
                   Connection(&results_.gaps)),
      buffer_(std::make_unique<char[]>(kBufferSize)) {}

Load::~Load() {
  for (std::size_t i = 0; i < connections_.size(); ++i) Disconnect(i);
  close(epoll_);
}

void Load::Run(Watch* watch) {
  began_at_ = Now();
  if (options_.idle == 0 && options_.seconds > 0) {
    stop_at_ = began_at_ + Nanoseconds(options_.seconds);
  }
  watch->Start();
  int64_t sampled_at = began_at_;
  int64_t half_at = began_at_ + Nanoseconds(options_.seconds / 2);
  for (;;) {
    BeginDue();
    const bool starting = next_ < connections_.size() && MayBegin();
    if (!starting && waiting_ == 0 && (again_.empty() || !MayBegin())) break;
    Turn(starting ? 1 : kTickMs);
    if (const int64_t now = Now(); now - sampled_at > kTickMs * 1'000'000) {
      sampled_at = now;
      watch->Sample();
      FailLate();
      if (stop_at_ != 0 && half_at != 0 && now >= half_at) {
        watch->Half();
        half_at = 0;
      }
    }
  }
  if (options_.idle > 0) {
    Hold(watch);
  } else {
    results_.seconds = static_cast<double>(Now() - began_at_) / 1e9;
  }
}

void Load::Hold(Watch* watch) {
  holding_ = true;
  watch->Start();
  const int64_t began_at = Now();
  const int64_t end = began_at + Nanoseconds(options_.seconds);
  for (int64_t now = began_at; now < end; now = Now()) {
    Turn(static_cast<int>(std::min<int64_t>(kTickMs, (end - now) / 1'000'000 + 1)));
    watch->Sample();
  }
  results_.seconds = static_cast<double>(Now() - began_at) / 1e9;
}

/// True while the run has requests left to start.
bool Load::MayBegin() const {
  if (options_.idle > 0) return true;
  if (options_.requests > 0 && results_.started >= options_.requests) return false;
  return stop_at_ == 0 || Now() < stop_at_;
}

/// Starts the connections that failed before, and those whose turn in the ramp has come.
void Load::BeginDue() {
  std::vector<std::size_t> again;
  again.swap(again_);
  for (const std::size_t index : again) {
    if (MayBegin()) Begin(index);
  }
  const auto count = static_cast<int64_t>(connections_.size());
  while (next_ < connections_.size() && MayBegin()) {
    if (options_.idle > 0 && waiting_ >= kOpeningAtOnce) return;
    const int64_t due =
        began_at_ + int64_t{options_.ramp_ms} * 1'000'000 * static_cast<int64_t>(next_) / count;
    if (options_.ramp_ms > 0 && Now() < due) return;
    Begin(next_++);
  }
}

void Load::Begin(std::size_t index) {
  Connection& connection = connections_[index];
  connection.answer.Reset();
  connection.written = 0;
  connection.waiting = true;
  ++waiting_;
  ++results_.started;
  connection.began_at = Now();
  if (connection.fd >= 0) {
    Write(index);
  } else if (!Dial(index)) {
    Fail(index, Fault::kConnect);
  }
}

bool Load::Dial(std::size_t index) {
  Connection& connection = connections_[index];
  connection.fd = socket(options_.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (connection.fd < 0) return false;
  const int on = 1;
  setsockopt(connection.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const auto* address = reinterpret_cast<const sockaddr*>(&options_.address);
  if (connect(connection.fd, address, options_.address_size) != 0 && errno != EINPROGRESS) {
    return false;
  }
  ++results_.connections_opened;
  connection.connecting = true;
  connection.wants_write = true;
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLOUT;
  event.data.u64 = index;
  return epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.fd, &event) == 0;
}

void Load::Turn(int wait_ms) {
  epoll_event events[kMaxEvents];
  const int count = epoll_wait(epoll_, events, kMaxEvents, wait_ms);
  for (int i = 0; i < count; ++i) OnEvent(events[i].data.u64, events[i].events);
}

void Load::OnEvent(std::size_t index, uint32_t events) {
  Connection& connection = connections_[index];
  if (connection.fd < 0) return;
  if (connection.connecting) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(connection.fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return Fail(index, Fault::kConnect);
    if ((events & EPOLLOUT) == 0) return;
    connection.connecting = false;
  }
  if ((events & EPOLLOUT) != 0 && connection.waiting) Write(index);
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && connection.fd >= 0) Read(index);
}

void Load::Write(std::size_t index) {
  Connection& connection = connections_[index];
  const std::string& request = options_.request;
  while (connection.written < request.size()) {
    const ssize_t count = send(connection.fd, request.data() + connection.written,
                               request.size() - connection.written, MSG_NOSIGNAL);
    if (count < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return Fail(index, Fault::kReset);
      break;
    }
    connection.written += static_cast<std::size_t>(count);
  }
  const bool wants_write = connection.written < request.size();
  if (wants_write == connection.wants_write) return;
  connection.wants_write = wants_write;
  epoll_event event = {};
  event.events = wants_write ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.u64 = index;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.fd, &event);
}

void Load::Read(std::size_t index) {
  Connection& connection = connections_[index];
  const ssize_t count = recv(connection.fd, buffer_.get(), kBufferSize, 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (!connection.waiting) {
    // Between two requests: the peer ended the connection, or sent what nobody asked for.
    if (holding_) ++results_.dropped;
    return Disconnect(index);
  }
  if (count < 0) return Fail(index, Fault::kReset);
  if (count == 0) {
    if (connection.answer.Close() != Answer::State::kDone) return Fail(index, Fault::kClosed);
    return Finish(index);
  }
  const auto state =
      connection.answer.Feed({buffer_.get(), static_cast<std::size_t>(count)}, Now());
  if (state == Answer::State::kBroken) return Fail(index, Fault::kBroken);
  if (state == Answer::State::kDone) Finish(index);
}

void Load::Finish(std::size_t index) {
  Connection& connection = connections_[index];
  const Answer& answer = connection.answer;
  const int64_t now = Now();
  ++results_.statuses[answer.status()];
  if (answer.status() != 200) {
    if (results_.first_refusal.empty()) results_.first_refusal = answer.refusal();
    return Fail(index, Fault::kStatus);
  }
  if (options_.frames) {
    results_.frames += answer.frames();
    if (answer.frames() != *options_.frames) return Fail(index, Fault::kFrames);
    if (!answer.terminated()) return Fail(index, Fault::kNotTerminated);
  } else if (answer.body_bytes() == 0) {
    return Fail(index, Fault::kBroken);
  }
  ++results_.succeeded;
  results_.headers.Add(answer.head_at() - connection.began_at);
  results_.whole.Add(now - connection.began_at);
  if (answer.frames() > 0) {
    results_.first_frame.Add(answer.first_frame_at() - connection.began_at);
  }
  if (answer.closes()) Disconnect(index);
  connection.waiting = false;
  --waiting_;
  if (options_.idle == 0 && MayBegin()) Begin(index);
}

void Load::Fail(std::size_t index, Fault fault) {
  ++results_.failed;
  ++results_.faults[static_cast<int>(fault)];
  Disconnect(index);
  connections_[index].waiting = false;
  --waiting_;
  // In the next turn: a peer that is not there must not be asked again from within the failure.
  if (options_.idle == 0) again_.push_back(index);
}

void Load::Disconnect(std::size_t index) {
  Connection& connection = connections_[index];
  if (connection.fd >= 0) close(connection.fd);
  connection.fd = -1;
  connection.connecting = false;
  connection.wants_write = false;
}

void Load::FailLate() {
  const int64_t limit = Now() - Nanoseconds(options_.timeout);
  for (std::size_t i = 0; i < next_; ++i) {
    if (connections_[i].waiting && connections_[i].began_at < limit) Fail(i, Fault::kTimeout);
  }
}

}  // namespace hotel::load
