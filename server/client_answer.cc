// A connection answers: framing, sending, waiting for a slow client.
#include <algorithm>
#include <array>
#include <utility>

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "server/client.h"
#include "server/response_head.h"

namespace hotel::server {
namespace {

constexpr std::size_t kIdleCapacity = 512;
/// A body up to here is cheaper to copy behind its head than to send from where it is.
constexpr std::size_t kCopied = 16384;

/// Gives memory back that a connection does not need while it waits, for a request or for the next
/// frame.
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
  void WriteWhole(std::string bytes) override {
    if (const auto client = client_.lock()) client->WriteWhole(request_, std::move(bytes));
  }
  void End() override {
    if (const auto client = client_.lock()) client->End(request_);
  }
  void Abort() override {
    if (const auto client = client_.lock()) client->Abort(request_);
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

std::shared_ptr<Responder> Client::MakeResponder() {
  return std::make_shared<ClientResponder>(weak_from_this(), request_);
}

void Client::NewAnswer() {
  ++request_;
  begun_ = ended_ = streaming_ = paused_ = bodiless_ = cut_ = false;
}

void Client::Refuse(const RequestError& error) {
  const std::string path(head_.target.empty() ? PathOfBrokenHead(in_) : head_.path());
  // What follows on this connection can not be told apart from the refused request.
  if (state_ == State::kHead) head_ = RequestHead();
  state_ = State::kAnswer;
  ReleaseProxied();
  NewAnswer();
  keep_ = false;
  linger_ = true;
  DropBody();
  Send(host_->handler().OnError(error, path));
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
  keep_ = keep_ && host_->keeping();
  const bool head_only = head_.method == "HEAD";
  bodiless_ = head_only || status == 204 || status == 304;
  const bool length_stated = head_only && !FindHeader(headers, "content-length").empty();
  if (bodiless_ && (streaming || length_stated || !head_only)) {
    // Nothing follows; the length is that of the body there would have been, if it is known.
    streaming_ = true;
    chunk_framing_ = false;
    AppendResponseHead(status, headers, keep_, "", &out_, length_stated);
    MarkDirty();
  } else if (streaming) {
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
  if (bodiless_) return Flow::kContinue;
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

void Client::WriteWhole(std::uint64_t request, std::string bytes) {
  const bool taken = request == request_ && state_ == State::kAnswer && begun_ && !ended_ &&
                     !streaming_ && whole_body_.empty();
  if (taken) {
    whole_body_ = std::move(bytes);
  } else {
    Write(request, bytes);
  }
}

void Client::End(std::uint64_t request) {
  if (request != request_ || state_ != State::kAnswer || ended_) return;
  ended_ = true;
  on_room_ = nullptr;
  on_gone_ = nullptr;
  if (!begun_) return Close();  // nothing was said: the client sees a closed connection
  if (!streaming_) {
    AppendWholeHead(whole_head_, whole_body_.size(), &out_);
    Trim(&whole_head_);
    if (!bodiless_) {
      if (whole_body_.size() <= kCopied) {
        out_.append(whole_body_);
      } else {
        tail_ = std::move(whole_body_);
      }
    }
    Trim(&whole_body_);
  } else if (chunk_framing_) {
    out_ += "0\r\n\r\n";
  }
  MarkDirty();
}

void Client::Abort(std::uint64_t request) {
  if (request != request_ || state_ != State::kAnswer || ended_) return;
  ended_ = true;
  on_room_ = nullptr;
  on_gone_ = nullptr;
  if (!begun_ || !streaming_) return Close();  // nothing was sent yet
  keep_ = false;
  cut_ = !bodiless_;
  MarkDirty();
}

void Client::SendPlain(std::string bytes, bool keep_alive) {
  if (state_ != State::kAnswer || ended_) return;
  begun_ = ended_ = true;
  keep_ = keep_ && keep_alive;
  // The stop may have begun while a worker wrote the answer.
  if (keep_ && !host_->keeping()) {
    bytes.insert(bytes.find("\r\n") + 2, "Connection: close\r\n");
    keep_ = false;
  }
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

ssize_t Client::SendSome() {
  if (tail_.empty()) {
    return ::send(fd_.get(), out_.data() + out_at_, out_.size() - out_at_, MSG_NOSIGNAL);
  }
  std::array<iovec, 2> parts = {{{out_.data() + out_at_, out_.size() - out_at_},
                                 {tail_.data() + tail_at_, tail_.size() - tail_at_}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  return ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
}

void Client::Flush() {
  dirty_ = false;
  if (state_ == State::kClosed) return;
  const std::size_t before = unsent();
  while (unsent() > 0) {
    const ssize_t sent = SendSome();
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) return Close();
      break;
    }
    const auto size = static_cast<std::size_t>(sent);
    const std::size_t first = std::min(size, out_.size() - out_at_);
    out_at_ += first;
    tail_at_ += size - first;
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
    out_at_ = tail_at_ = 0;
    Trim(&out_);
    Trim(&tail_);
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
  if (cut_ && !chunk_framing_) {
    // A clean close would be this answer's regular end: only a reset tells.
    const linger now{1, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
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

}  // namespace hotel::server
