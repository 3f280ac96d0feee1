// A connection reads: heads, bodies, what to make of them.
#include <algorithm>
#include <utility>

#include <errno.h>
#include <sys/socket.h>

#include "server/client.h"

namespace hotel::server {
namespace {

constexpr std::size_t kMaxDoubling = std::size_t{1} << 20;

/// A body and its part of the budget: both go when the last holder lets go.
struct HeldBody {
  std::string bytes;
  BodyBudget::Part part;
};

}  // namespace

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
  head_ = RequestHead();
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

  if (const auto error =
          ParseRequestHead(std::string_view(in_).substr(0, scan.size), options.head, &head_)) {
    Refuse(*error);
    return false;
  }
  in_.erase(0, scan.size);
  head_.peer =
      behind_proxy_ ? ForwardedAddress(peer_, head_.headers, options.trusted_proxies) : peer_;
  NewAnswer();
  linger_ = false;
  keep_ = head_.keep_alive && host_->keeping() && ++served_ < options.max_requests_per_connection;

  Admission admission = host_->handler().OnHead(head_, head_.path());
  if (!admission.refusal && admission.proxied) {
    counted_ = host_->BeginProxied();
    if (!counted_) {
      admission.refusal =
          host_->handler().OnError({503, decide::ErrorCode::kServerBusy,
                                    "too many requests are being served; retry shortly"},
                                   head_.path());
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
  if (admission.needs_body && !head_.chunked && !head_.has_length) {
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
  DropBody();
  chunked_.reset();
  if (!head_.has_body()) {
    Dispatch();
    return false;
  }
  if (head_.chunked) {
    chunked_.emplace(limit);
  } else {
    const auto length = static_cast<std::size_t>(head_.content_length);
    if (!MakeRoom(length)) return false;
    // Room in the address space; memory is taken by the page as the body comes.
    body_.reserve(length);
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
  // From here on no doubling: moving a large body would take the loop's time.
  if (body_.size() + in_.size() > std::max(body_.capacity(), kMaxDoubling)) {
    body_.reserve(host_->options().max_body_bytes);
  }
  std::size_t consumed = 0;
  const ChunkedBody::State state = chunked_->Feed(in_, &body_, &consumed);
  in_.erase(0, consumed);
  if (!MakeRoom(body_.size())) return false;
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

bool Client::MakeRoom(std::size_t bytes) {
  if (body_part_.GrowTo(bytes)) return true;
  Refuse({503, decide::ErrorCode::kBuffersFull,
          "the request bodies held at the moment leave no room for this one "
          "(server.max_buffered_bytes); retry shortly"});
  return false;
}

void Client::DropBody() {
  body_ = std::string();
  body_part_ = host_->bodies().Open();
}

void Client::Dispatch() {
  state_ = State::kAnswer;
  body_limit_.reset();
  SetDeadline(std::nullopt);
  chunked_.reset();
  auto held = std::make_shared<HeldBody>(HeldBody{std::move(body_), std::move(body_part_)});
  DropBody();
  Request request{
      head_.method, std::string(head_.path()), std::move(head_.headers), {held, &held->bytes},
      head_.target, std::move(head_.peer)};
  if (proxied_) {
    host_->handler().OnRequest(std::move(request), MakeResponder());
  } else {
    host_->RunPlain(std::move(request), keep_, shared_from_this());
  }
}

}  // namespace hotel::server
