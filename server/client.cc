// The life of a connection: its beginning and end, its events, its time.
#include "server/client.h"

#include <algorithm>
#include <utility>

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace hotel::server {
namespace {

/// How long a connection on which nothing was ever said may take to begin once the front drains.
constexpr Duration kDrainGrace = std::chrono::seconds(1);

}  // namespace

const Client::Events Client::kListen = EPOLLIN | EPOLLRDHUP;

bool Client::Start() {
  interest_ = kListen;
  if (!host_->loop().Watch(fd_.get(), interest_, [self = shared_from_this()](Events events) {
        self->OnEvents(events);
      })) {
    return false;
  }
  SetDeadline(host_->loop().Now() + host_->options().head_timeout);
  return true;
}

void Client::TurnAway() {
  Refuse({503, decide::ErrorCode::kTooManyConnections,
          "too many connections are open here; retry shortly"});
}

void Client::Drain() {
  keep_ = false;
  if (state_ != State::kHead || NextHeadBegun()) return;
  // What has arrived was sent to a server that was still serving: closing would lose it.
  Read();
  if (state_ != State::kHead || NextHeadBegun()) return;
  if (served_ > 0) return Close();
  // Who has just connected is about to send; a connection that idles may be closed at any time.
  const TimePoint grace = host_->loop().Now() + kDrainGrace;
  SetDeadline(deadline_ ? std::min(*deadline_, grace) : grace);
}

void Client::Cut() { Close(); }

void Client::Close() {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();  // the watch below may hold the last reference
  state_ = State::kClosed;
  if (timer_ != 0) host_->loop().CancelTimer(timer_);
  timer_ = 0;
  host_->loop().Unwatch(fd_.get());
  fd_ = Fd();
  ReleaseProxied();
  DropBody();
  on_room_ = nullptr;
  if (const auto gone = std::exchange(on_gone_, nullptr); gone && !ended_) gone();
  host_->Closed(*this);
}

void Client::OnEvents(Events events) {
  if (state_ == State::kClosed) return;
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) return Close();
  if (state_ == State::kAnswer) {
    // A client that has closed its sending side is taken for gone: nothing tells it apart from one
    // that has closed altogether, and an abandoned answer must not go on being generated.
    if ((events & EPOLLRDHUP) != 0) return Close();
    if ((events & EPOLLOUT) != 0) Flush();
    // Pipelined bytes stay in the kernel until their turn.
    if (state_ == State::kAnswer && (events & EPOLLIN) != 0)
      SetInterest(interest_ & ~Events{EPOLLIN});
    return;
  }
  if ((events & EPOLLOUT) != 0) Flush();  // a "100 Continue" that found no room
  if (state_ != State::kClosed && (events & (EPOLLIN | EPOLLRDHUP)) != 0) Read();
}

void Client::SetInterest(Events events) {
  if (events == interest_) return;
  interest_ = events;
  host_->loop().Modify(fd_.get(), events);
}

// The timer is left where it is when a deadline moves back, which is nearly always: it then finds
// nothing due and is set anew.
void Client::SetDeadline(std::optional<TimePoint> at) {
  deadline_ = at;
  if (at && (timer_ == 0 || *at < timer_at_)) ArmTimer();
}

void Client::ArmTimer() {
  if (timer_ != 0) host_->loop().CancelTimer(timer_);
  timer_at_ = *deadline_;
  timer_ = host_->loop().RunAt(timer_at_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnTimer();
  });
}

void Client::OnTimer() {
  timer_ = 0;
  if (state_ == State::kClosed || !deadline_) return;
  if (host_->loop().Now() < *deadline_) return ArmTimer();
  if ((state_ == State::kHead || state_ == State::kBody) && (interest_ & EPOLLIN) != 0) {
    // What lies here unread came in time: a loop with much to do looks at some sockets a turn.
    Read();
    if (state_ == State::kClosed || !deadline_) return;
    if (host_->loop().Now() < *deadline_) {
      if (timer_ == 0) ArmTimer();
      return;
    }
  }
  switch (state_) {
    case State::kHead:
      if (!NextHeadBegun()) return Close();
      return Refuse(
          {408, decide::ErrorCode::kRequestTimeout, "the request head did not arrive in time"});
    case State::kBody:
      return Refuse(
          {408, decide::ErrorCode::kRequestTimeout, "the request body did not arrive in time"});
    case State::kAnswer:  // the client takes nothing
    case State::kLinger:
      return Close();
    case State::kClosed:
      return;
  }
}

}  // namespace hotel::server
