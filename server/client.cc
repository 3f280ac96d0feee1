#include "server/client.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "server/response_head.h"

namespace hotel::server {
namespace {

using Events = net::EventLoop::Events;

constexpr Events kListen = EPOLLIN | EPOLLRDHUP;
constexpr std::size_t kIdleCapacity = 4096;
constexpr Duration kLingerSilence = std::chrono::seconds(2);
constexpr Duration kLingerTime = std::chrono::seconds(10);
/// How long a connection on which nothing was ever said may take to begin once the front drains.
constexpr Duration kDrainGrace = std::chrono::seconds(1);

/// Gives memory back that an idle connection does not need.
void Trim(std::string* buffer) {
  buffer->clear();
  if (buffer->capacity() > kIdleCapacity) std::string().swap(*buffer);
}

/// The router's way to the client. Loop thread only; outlives the connection harmlessly.
class ClientResponder final : public Responder {
 public:
  ClientResponder(std::weak_ptr<Client> client, std::uint64_t request)
      : client_(std::move(client)), request_(request) {}

  void Begin(int status, const HeaderList& headers, bool streaming) override {
    if (const auto client = client_.lock()) client->Begin(request_, status, headers, streaming);
  }
  Flow Write(std::string_view bytes) override {
    const auto client = client_.lock();
    return client != nullptr ? client->Write(request_, bytes) : Flow::kContinue;
  }
  void End() override {
    if (const auto client = client_.lock()) client->End(request_);
  }
  void Watch(std::function<void()> on_room, std::function<void()> on_gone) override {
    if (const auto client = client_.lock()) {
      client->Watch(request_, std::move(on_room), std::move(on_gone));
    }
  }

 private:
  const std::weak_ptr<Client> client_;
  const std::uint64_t request_;
};

}  // namespace

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
  on_room_ = nullptr;
  if (const auto gone = std::exchange(on_gone_, nullptr); gone && !ended_) gone();
  host_->Closed(*this);
}

// --- reading ------------------------------------------------------------------------------------

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

void Client::Read() {
  std::string& scratch = host_->scratch();
  const ssize_t got = ::recv(fd_.get(), scratch.data(), scratch.size(), 0);
  if (got < 0) {
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) Close();
    return;
  }
  const TimePoint now = host_->loop().Now();
  if (state_ == State::kLinger) {
    if (got == 0) return Close();
    return SetDeadline(std::min(now + kLingerSilence, *body_limit_));
  }
  if (got == 0) return Close();
  const bool first = state_ == State::kHead && !std::exchange(head_begun_, true);
  std::string_view bytes(scratch.data(), static_cast<std::size_t>(got));
  if (state_ == State::kBody && !chunked_) {
    // Straight to where it belongs: a large body is copied once.
    const auto left = static_cast<std::size_t>(head_.content_length) - body_.size();
    body_.append(bytes.substr(0, left));
    bytes.remove_prefix(std::min(left, bytes.size()));
  }
  in_.append(bytes);
  if (first) {
    SetDeadline(now + host_->options().head_timeout);
  } else if (state_ == State::kBody) {
    SetDeadline(std::min(now + host_->options().body_stall_timeout, *body_limit_));
  }
  Process();
}

void Client::Process() {
  while ((state_ == State::kHead && ProcessHead()) || (state_ == State::kBody && ProcessBody())) {
  }
}

bool Client::ProcessHead() {
  const FrontOptions& options = host_->options();
  // Empty lines in front of a request line are skipped (RFC 9112, 2.2).
  std::size_t blank = 0;
  while (in_.compare(blank, 2, "\r\n") == 0) blank += 2;
  in_.erase(0, blank);
  const HeadScan scan = ScanHead(in_);
  if (scan.state == HeadScan::State::kMalformed) {
    Refuse({400, decide::ErrorCode::kMalformedRequest, "lines must end in CR LF"});
    return false;
  }
  const bool complete = scan.state == HeadScan::State::kComplete;
  if (complete ? scan.size > options.head.max_bytes : in_.size() > options.head.max_bytes) {
    Refuse({431, decide::ErrorCode::kRequestHeadTooLarge, "the request head is too large"});
    return false;
  }
  if (!complete) return false;

  head_ = RequestHead();
  if (const auto error =
          ParseRequestHead(std::string_view(in_).substr(0, scan.size), options.head, &head_)) {
    Refuse(*error);
    return false;
  }
  in_.erase(0, scan.size);
  ++request_;
  begun_ = ended_ = streaming_ = linger_ = paused_ = false;
  keep_ = head_.keep_alive && !host_->draining() && ++served_ < options.max_requests_per_connection;

  Admission admission = host_->handler().OnHead(head_, head_.path());
  if (!admission.refusal && admission.proxied) {
    counted_ = host_->BeginProxied();
    if (!counted_) {
      admission.refusal =
          host_->handler().OnError({503, decide::ErrorCode::kServerBusy,
                                    "too many requests are being served; retry shortly"});
    }
  }
  if (admission.refusal) {
    state_ = State::kAnswer;
    if (head_.has_body()) {
      keep_ = false;
      linger_ = true;
    }
    Send(*admission.refusal);
    return false;
  }
  proxied_ = admission.proxied;
  if (proxied_ && !head_.chunked && !head_.has_length) {
    Refuse({411, decide::ErrorCode::kLengthRequired,
            "the request needs a Content-Length or chunked coding"});
    return false;
  }
  const std::size_t limit = proxied_
                                ? options.max_body_bytes
                                : std::min(options.max_body_bytes, options.max_plain_body_bytes);
  if (head_.content_length > limit) {
    Refuse({413, decide::ErrorCode::kRequestTooLarge,
            "the request body is larger than server.max_request_size"});
    return false;
  }
  body_.clear();
  chunked_.reset();
  if (!head_.has_body()) {
    Dispatch();
    return false;
  }
  if (head_.chunked) {
    chunked_.emplace(limit);
  } else {
    // Room for the whole body, unless somebody only claims that much.
    body_.reserve(static_cast<std::size_t>(
        std::min<std::uint64_t>(head_.content_length, std::uint64_t{1} << 20)));
  }
  state_ = State::kBody;
  const TimePoint now = host_->loop().Now();
  body_limit_ = now + options.body_timeout;
  SetDeadline(std::min(now + options.body_stall_timeout, *body_limit_));
  if (head_.expects_continue && in_.empty()) {
    out_ += "HTTP/1.1 100 Continue\r\n\r\n";
    Flush();
  }
  return state_ == State::kBody;
}

bool Client::ProcessBody() {
  if (!chunked_) {
    const auto left = static_cast<std::size_t>(head_.content_length) - body_.size();
    const std::size_t take = std::min(left, in_.size());
    body_.append(in_, 0, take);
    in_.erase(0, take);
    if (take < left) return false;
    Dispatch();
    return false;
  }
  std::size_t consumed = 0;
  const ChunkedBody::State state = chunked_->Feed(in_, &body_, &consumed);
  in_.erase(0, consumed);
  switch (state) {
    case ChunkedBody::State::kMore:
      return false;
    case ChunkedBody::State::kTooLarge:
      Refuse({413, decide::ErrorCode::kRequestTooLarge,
              "the request body is larger than server.max_request_size"});
      return false;
    case ChunkedBody::State::kMalformed:
      Refuse({400, decide::ErrorCode::kMalformedRequest, "the chunked request body is malformed"});
      return false;
    case ChunkedBody::State::kDone:
      break;
  }
  Dispatch();
  return false;
}

void Client::Dispatch() {
  state_ = State::kAnswer;
  body_limit_.reset();
  SetDeadline(std::nullopt);
  chunked_.reset();
  Request request{head_.method, std::string(head_.path()), std::move(head_.headers),
                  std::move(body_)};
  body_ = std::string();
  if (proxied_) {
    host_->handler().OnRequest(std::move(request),
                               std::make_shared<ClientResponder>(weak_from_this(), request_));
  } else {
    host_->RunPlain(std::move(request), keep_, shared_from_this());
  }
}

// --- answering ----------------------------------------------------------------------------------

void Client::Refuse(const RequestError& error) {
  // What follows on this connection can not be told apart from the refused request.
  if (state_ == State::kHead) head_ = RequestHead();
  state_ = State::kAnswer;
  ReleaseProxied();
  ++request_;
  begun_ = ended_ = streaming_ = paused_ = false;
  keep_ = false;
  linger_ = true;
  body_ = std::string();
  Send(host_->handler().OnError(error));
}

void Client::Send(const Reply& reply) {
  Begin(request_, reply.status, reply.headers, false);
  Write(request_, reply.body);
  End(request_);
}

void Client::Begin(std::uint64_t request, int status, const HeaderList& headers, bool streaming) {
  if (request != request_ || state_ != State::kAnswer || begun_) return;
  begun_ = true;
  streaming_ = streaming;
  keep_ = keep_ && !host_->draining();
  if (streaming) {
    chunk_framing_ = !head_.http10;
    // Without chunks the end of the connection ends the answer.
    if (!chunk_framing_) keep_ = false;
    AppendResponseHead(status, headers, keep_,
                       chunk_framing_ ? "Transfer-Encoding: chunked\r\n" : "", &out_);
    MarkDirty();
  } else {
    whole_head_.clear();
    AppendResponseHead(status, headers, keep_, "", &whole_head_);
    whole_head_.resize(whole_head_.size() - 2);  // Content-Length comes in front of the blank line
  }
}

Flow Client::Write(std::uint64_t request, std::string_view bytes) {
  if (request != request_ || state_ != State::kAnswer || !begun_ || ended_) return Flow::kContinue;
  if (bytes.empty()) return Flow::kContinue;
  if (!streaming_) {
    whole_body_.append(bytes);
    return Flow::kContinue;
  }
  if (head_.method == "HEAD") return Flow::kContinue;
  if (chunk_framing_) {
    AppendChunk(bytes, &out_);
  } else {
    out_.append(bytes);
  }
  MarkDirty();
  if (unsent() <= host_->options().answer_buffer) return Flow::kContinue;
  // One try before the source is stopped: the socket may well have room.
  Flush();
  if (state_ != State::kAnswer || unsent() <= host_->options().answer_buffer)
    return Flow::kContinue;
  paused_ = true;
  return Flow::kPause;
}

void Client::End(std::uint64_t request) {
  if (request != request_ || state_ != State::kAnswer || ended_) return;
  ended_ = true;
  on_room_ = nullptr;
  on_gone_ = nullptr;
  if (!begun_) return Close();  // nothing was said: the client sees a closed connection
  if (!streaming_) {
    const bool bodiless = head_.method == "HEAD";
    AppendWholeAnswer(whole_head_, whole_body_, !bodiless, &out_);
    Trim(&whole_head_);
    Trim(&whole_body_);
  } else if (chunk_framing_) {
    out_ += "0\r\n\r\n";
  }
  MarkDirty();
}

void Client::SendPlain(std::string bytes, bool keep_alive) {
  if (state_ != State::kAnswer || ended_) return;
  begun_ = ended_ = true;
  keep_ = keep_ && keep_alive;
  // The stop may have begun while a worker wrote the answer.
  if (keep_ && host_->draining()) bytes.insert(bytes.find("\r\n") + 2, "Connection: close\r\n");
  out_.append(bytes);
  MarkDirty();
}

void Client::Watch(std::uint64_t request, std::function<void()> on_room,
                   std::function<void()> on_gone) {
  if (request != request_ || state_ != State::kAnswer) {
    if (state_ == State::kClosed && on_gone) on_gone();
    return;
  }
  if (ended_) return;
  on_room_ = std::move(on_room);
  on_gone_ = std::move(on_gone);
}

void Client::MarkDirty() {
  if (dirty_) return;
  dirty_ = true;
  host_->FlushLater(shared_from_this());
}

void Client::Flush() {
  dirty_ = false;
  if (state_ == State::kClosed) return;
  const std::size_t before = unsent();
  while (unsent() > 0) {
    const ssize_t sent = ::send(fd_.get(), out_.data() + out_at_, unsent(), MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) return Close();
      break;
    }
    out_at_ += static_cast<std::size_t>(sent);
  }
  if (unsent() > 0) {
    // Keep the part that waits, not what is gone already.
    if (out_at_ > host_->options().answer_buffer && out_at_ > out_.size() / 2) {
      out_.erase(0, out_at_);
      out_at_ = 0;
    }
    SetInterest(interest_ | EPOLLOUT);
    if (state_ == State::kAnswer && (unsent() < before || !deadline_)) {
      SetDeadline(host_->loop().Now() + host_->options().write_stall_timeout);
    }
  } else {
    out_at_ = 0;
    Trim(&out_);
    if ((interest_ & EPOLLOUT) != 0) SetInterest(interest_ & ~Events{EPOLLOUT});
    if (state_ == State::kAnswer) SetDeadline(std::nullopt);
  }
  if (state_ != State::kAnswer) return;
  if (ended_ && unsent() == 0) return AnswerDone();
  if (paused_ && unsent() <= host_->options().answer_buffer / 2) {
    paused_ = false;
    if (on_room_) on_room_();
  }
}

void Client::ReleaseProxied() {
  if (std::exchange(counted_, false)) host_->EndProxied();
}

void Client::AnswerDone() {
  ReleaseProxied();
  if (linger_) {
    ::shutdown(fd_.get(), SHUT_WR);
    state_ = State::kLinger;
    Trim(&in_);
    const TimePoint now = host_->loop().Now();
    body_limit_ = now + kLingerTime;
    SetInterest(kListen);
    return SetDeadline(now + kLingerSilence);
  }
  if (!keep_ || host_->draining()) return Close();
  state_ = State::kHead;
  head_begun_ = !in_.empty();
  SetInterest(kListen);
  if (!head_begun_) {
    Trim(&in_);
    return SetDeadline(host_->loop().Now() + host_->options().keep_alive_timeout);
  }
  SetDeadline(host_->loop().Now() + host_->options().head_timeout);
  Process();
}

// --- time and interest --------------------------------------------------------------------------

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
