#include "libhotel/route/attempt.h"

#include <algorithm>
#include <utility>

#include "libhotel/base/redact.h"
#include "libhotel/base/strings.h"
#include "libhotel/decide/verdict.h"
#include "libhotel/wire/chat.h"
#include "libhotel/wire/errors.h"
#include "libhotel/wire/upstream.h"

namespace hotel::route {
namespace {

using EndKind = decide::AttemptEnd::Kind;

bool IsJson(std::string_view content_type) {
  return base::StartsWith(base::Lower(content_type), "application/json");
}

bool IsSuccess(int status) { return status >= 200 && status <= 299; }

constexpr std::size_t kDetailBytes = 160;

}  // namespace

Attempt::Attempt(AttemptOwner* owner, const Loop* loop, int index, const Candidate& candidate)
    : owner_(owner), loop_(loop), index_(index), candidate_(candidate) {}

absl::Status Attempt::Start(Dispatcher& dispatcher, const std::shared_ptr<const std::string>& body,
                            const wire::RequestPeek& peek, Endpoint endpoint,
                            Duration connect_timeout) {
  streaming_asked_ = peek.stream;
  auto headers = wire::UpstreamHeaders(*candidate_.provider, peek.stream);
  if (!headers.ok()) return headers.status();
  UpstreamRequest request;
  request.url = wire::UpstreamUrl(*candidate_.provider, endpoint);
  request.headers = *std::move(headers);
  request.body = wire::WithModel(body, peek, candidate_.model);
  request.connect_timeout = connect_timeout;
  exchange_ = dispatcher.Start(std::move(request), this);
  return absl::OkStatus();
}

void Attempt::OnHead(int status, HeaderList headers) {
  if (over_) return;
  status_ = status;
  content_type_ = FindHeader(headers, "content-type");
  content_encoding_ = FindHeader(headers, "content-encoding");
  if (base::EqualsIgnoreCase(content_encoding_, "identity")) content_encoding_.clear();
  if (!IsSuccess(status)) {
    mode_ = Mode::kError;
    error_limit_ = decide::IsPayloadStatus(status) ? kMaxForwardableError : kMaxOtherError;
    error_body_deadline_ = loop_->Now() + kErrorBodyTime;
  } else if (streaming_asked_ && !IsJson(content_type_) && status != 204 && status != 205) {
    // Whatever is not plainly JSON is read as a stream: providers mislabel SSE (F077).
    mode_ = content_encoding_.empty() ? Mode::kStream : Mode::kOpaque;
  } else {
    mode_ = Mode::kBuffer;
  }
  owner_->OnAttemptHead(*this, status);
}

Flow Attempt::OnBody(std::string_view bytes) {
  if (over_) return Flow::kContinue;
  if (committed_ && owner_->ClientPaused()) {
    paused_ = true;
    return Flow::kPause;
  }
  switch (mode_) {
    case Mode::kStream:
      relay_.Feed(bytes);
      if (StreamMoved() && relay_.stopped()) StreamEnded(true);
      break;
    case Mode::kOpaque:
      if (!committed_) owner_->OnAttemptOutput(*this);
      if (!over_) owner_->OnAttemptBytes(bytes);
      break;
    case Mode::kBuffer:
      if (body_.size() + bytes.size() > kMaxAnswerBytes) {
        body_ = {};
        End(EndKind::kTooLarge, status_);
      } else {
        body_.append(bytes);
      }
      break;
    case Mode::kError:
      body_.append(bytes.substr(0, error_limit_ + 1 - std::min(body_.size(), error_limit_ + 1)));
      // A bounded look is enough: the rest of a large refusal is not downloaded (F197).
      if (body_.size() > error_limit_) End(EndKind::kHttpError, status_);
      break;
    case Mode::kUnknown:
      break;
  }
  return Flow::kContinue;
}

bool Attempt::StreamMoved() {
  if (committed_) {
    Forward(relay_.Take());
    return !over_;
  }
  // With the probe switched off the first frame that is no error is enough (decisions, 5).
  const bool probing = candidate_.settings->timeouts.ttft_timeout > Duration::zero();
  const bool committable = relay_.output() || relay_.overfull() || (!probing && relay_.any_frame());
  if (committable) owner_->OnAttemptOutput(*this);
  return !over_;
}

void Attempt::Commit() {
  committed_ = true;
  if (mode_ == Mode::kStream) Forward(relay_.Take());
}

void Attempt::Forward(std::string_view bytes) {
  if (bytes.empty()) return;
  if (relay_.error()) {
    // The provider's own error event is about to pass; it may quote the key it was called with.
    owner_->OnAttemptBytes(base::Redact(bytes, candidate_.provider->api_key.Reveal()));
  } else {
    owner_->OnAttemptBytes(bytes);
  }
}

void Attempt::StreamEnded(bool clean) {
  if (relay_.error()) {
    body_ = relay_.error_data();  // a hidden refusal of the payload is forwarded like a real one
    End(committed_ ? EndKind::kStreamError : EndKind::kHiddenError, relay_.error_status());
    return;
  }
  // A stream that has given its finish_reason is whole; only the terminator is missing.
  if (relay_.done() || relay_.finish_reason()) {
    closing_ = relay_.inside_event() ? "\n\n" : "";
    if (!relay_.done()) closing_ += "data: [DONE]\n\n";
    if (!relay_.any_frame()) {
      End(EndKind::kEmptyStream, status_);
    } else {
      End(relay_.output() ? EndKind::kAnswer : EndKind::kEmptyCharged, status_);
    }
    return;
  }
  End(clean && !relay_.any_frame() ? EndKind::kEmptyStream : EndKind::kStreamCut, status_);
}

void Attempt::AnswerEnded() {
  if (status_ == 204 || status_ == 205) {
    body_.clear();
    return End(EndKind::kEmptyCharged, status_);
  }
  // An encoding that cannot be read is no evidence of an empty answer (F147).
  if (!content_encoding_.empty()) return End(EndKind::kAnswer, status_);
  const wire::ChatAnswer answer = wire::ReadChatAnswer(body_);
  switch (answer.kind) {
    case wire::ChatAnswer::Kind::kGood:
    case wire::ChatAnswer::Kind::kEmptyServed:
      return End(EndKind::kAnswer, status_);
    case wire::ChatAnswer::Kind::kEmptyCharged:
      return End(EndKind::kEmptyCharged, status_);
    case wire::ChatAnswer::Kind::kEmpty:
      return End(EndKind::kEmptyAnswer, status_);
    case wire::ChatAnswer::Kind::kHiddenError:
      return End(EndKind::kHiddenError, answer.error_status);
    case wire::ChatAnswer::Kind::kUndecodable:
      return End(EndKind::kBadAnswer, status_);
  }
}

void Attempt::OnDone(const ExchangeResult& result) {
  exchange_done_ = true;
  if (!over_) {
    const bool clean = result.outcome == ExchangeResult::Outcome::kComplete;
    if (!clean) {
      record.detail = wire::SanitizeDetail(
          std::string(TransportErrorName(result.error)) + ": " + result.detail, {}, kDetailBytes);
    }
    if (mode_ == Mode::kStream && (clean || committed_ || relay_.finish_reason())) {
      if (clean) relay_.Finish();
      if (StreamMoved()) StreamEnded(clean);
    } else if (mode_ == Mode::kOpaque && committed_) {
      End(clean ? EndKind::kAnswer : EndKind::kStreamCut, status_);
    } else if (mode_ == Mode::kError) {
      End(EndKind::kHttpError, status_);
    } else if (clean && mode_ == Mode::kOpaque) {
      End(EndKind::kEmptyStream, status_);
    } else if (clean) {
      AnswerEnded();
    } else {
      over_ = true;
      owner_->OnAttemptEnd(*this, {EndKind::kTransport, status_, result.error, result.phase});
    }
  }
  owner_->OnAttemptIdle(*this);
}

void Attempt::End(EndKind kind, int status) {
  over_ = true;
  error_body_deadline_.reset();
  if (mode_ == Mode::kError || kind == EndKind::kHiddenError || kind == EndKind::kStreamError) {
    record.detail =
        wire::SanitizeDetail(body_, candidate_.provider->api_key.Reveal(), kDetailBytes);
  }
  // What has ended well may finish its exchange, so that the connection can serve again; whatever
  // else still sends is stopped.
  const bool well = kind == EndKind::kAnswer || kind == EndKind::kEmptyCharged;
  if (!exchange_done_ && !well) exchange_->Cancel();
  owner_->OnAttemptEnd(*this, {kind, status, TransportError::kNone, TransportPhase::kBody});
}

void Attempt::Cancel() {
  over_ = true;
  error_body_deadline_.reset();
  if (exchange_ != nullptr && !exchange_done_) exchange_->Cancel();
}

void Attempt::Resume() {
  if (!paused_) return;
  paused_ = false;
  if (exchange_ != nullptr && !exchange_done_) exchange_->Resume();
}

void Attempt::GiveUpErrorBody() {
  if (!over_ && mode_ == Mode::kError) End(EndKind::kHttpError, status_);
}

}  // namespace hotel::route
