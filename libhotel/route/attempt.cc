#include "libhotel/route/attempt.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "libhotel/base/redact.h"
#include "libhotel/base/strings.h"
#include "libhotel/decide/spans.h"
#include "libhotel/decide/verdict.h"
#include "libhotel/wire/chat.h"
#include "libhotel/wire/errors.h"
#include "libhotel/wire/hidden_error.h"
#include "libhotel/wire/upstream.h"

namespace hotel::route {
namespace {

using EndKind = decide::AttemptEnd::Kind;

bool IsJson(std::string_view content_type) {
  return base::StartsWith(base::Lower(content_type), "application/json");
}

bool IsSuccess(int status) { return status >= 200 && status <= 299; }

constexpr std::size_t kDetailBytes = 160;
/// To here the buffer of an answer whose length is not known grows by doubling; then it takes room
/// for the largest one there may be. That is room in the address space: memory is taken by the page
/// as it is filled, while a doubling would hold the answer twice.
constexpr std::size_t kMaxDoubling = std::size_t{1} << 20;

/// The length an answer says it has; 0 when it says none.
std::size_t AnnouncedLength(const HeaderList& headers) {
  const std::string_view text = FindHeader(headers, "content-length");
  std::size_t length = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), length);
  return read.ec == std::errc() ? length : 0;
}

}  // namespace

Attempt::Attempt(AttemptOwner* owner, const Loop* loop, int index, const Candidate& candidate)
    : owner_(owner), loop_(loop), index_(index), candidate_(candidate) {
  try_.emplace();
}

absl::Status Attempt::Start(Dispatcher& dispatcher, const std::shared_ptr<const std::string>& body,
                            const wire::RequestPeek& peek, Endpoint endpoint,
                            std::string_view idempotency_key, Duration connect_timeout) {
  streaming_asked_ = peek.stream;
  auto headers = wire::UpstreamHeaders(*candidate_.provider, peek.stream);
  if (!headers.ok()) return headers.status();
  UpstreamRequest request;
  request.url = wire::UpstreamUrl(*candidate_.provider, endpoint);
  request.headers = *std::move(headers);
  if (!idempotency_key.empty()) {
    request.headers.push_back({"idempotency-key", std::string(idempotency_key)});
  }
  request.body = wire::WithModel(body, peek, candidate_.model);
  request.connect_timeout = connect_timeout;
  request.transport = candidate_.provider->transport;
  try_.emplace();
  record.detail.clear();
  ++tries_;
  try_->exchange = dispatcher.Start(std::move(request), this);
  return absl::OkStatus();
}

void Attempt::OnHead(int status, HeaderList headers) {
  if (try_->over) return;
  try_->status = status;
  try_->content_type = FindHeader(headers, "content-type");
  try_->content_encoding = FindHeader(headers, "content-encoding");
  if (base::EqualsIgnoreCase(try_->content_encoding, "identity")) try_->content_encoding.clear();
  try_->nothing_remaining = StatesNothingRemaining(headers);
  if (!IsSuccess(status)) {
    try_->mode = Mode::kError;
    const bool forwardable =
        decide::IsPayloadStatus(status) ||
        candidate_.settings->failover.error_body == FailoverSettings::ErrorBody::kProvider;
    try_->error_limit = forwardable ? kMaxForwardableError : kMaxOtherError;
    try_->error_headers = std::move(headers);
    try_->error_body_deadline = loop_->Now() + kErrorBodyTime;
  } else if (streaming_asked_ && !IsJson(try_->content_type) && status != 204 && status != 205) {
    // Whatever is not plainly JSON is read as a stream: providers mislabel SSE (F077).
    try_->mode = try_->content_encoding.empty() ? Mode::kStream : Mode::kOpaque;
  } else {
    try_->mode = Mode::kBuffer;
    try_->body.reserve(std::min(AnnouncedLength(headers), kMaxAnswerBytes));
  }
  owner_->OnAttemptHead(*this, status);
}

Flow Attempt::OnBody(std::string_view bytes) {
  if (try_->over) return Flow::kContinue;
  try_->body_seen = true;
  if (committed_ && owner_->ClientPaused()) {
    try_->paused = true;
    try_->paused_at = loop_->Now();
    return Flow::kPause;
  }
  switch (try_->mode) {
    case Mode::kStream:
      try_->relay.Feed(bytes);
      if (committed_) NoteProgress(bytes);
      if (StreamMoved() && try_->relay.stopped()) StreamEnded(true);
      break;
    case Mode::kOpaque:
      if (committed_) {
        owner_->OnAttemptProgress(*this);
      } else {
        owner_->OnAttemptOutput(*this);
      }
      if (!try_->over) owner_->OnAttemptBytes(bytes);
      break;
    case Mode::kBuffer:
      Collect(bytes);
      break;
    case Mode::kError:
      try_->body.append(bytes.substr(
          0, try_->error_limit + 1 - std::min(try_->body.size(), try_->error_limit + 1)));
      // A bounded look is enough: the rest of a large refusal is not downloaded (F197).
      if (try_->body.size() > try_->error_limit) End(EndKind::kHttpError, try_->status);
      break;
    case Mode::kUnknown:
      break;
  }
  return Flow::kContinue;
}

void Attempt::Collect(std::string_view bytes) {
  std::string& body = try_->body;
  const std::size_t size = body.size() + bytes.size();
  if (size > kMaxAnswerBytes) {
    body = std::string();
    return End(EndKind::kTooLarge, try_->status);
  }
  if (size > body.capacity() && size > kMaxDoubling) body.reserve(kMaxAnswerBytes);
  body.append(bytes);
  // An error where a stream was asked for is one as soon as its object is whole (R28): a provider
  // that then keeps the connection open holds nobody.
  if (streaming_asked_ && try_->content_encoding.empty() && size <= wire::kHiddenStartLimit) {
    const wire::HiddenStart start = wire::ReadHiddenStart(body, /*ended=*/false);
    if (start.kind == wire::HiddenStart::Kind::kError) {
      End(EndKind::kHiddenError, start.error.status);
    }
  }
}

bool Attempt::StreamMoved() {
  if (committed_) {
    Forward(try_->relay.Take());
    return !try_->over;
  }
  // With the probe switched off the first frame that is no error is enough (decisions, 5).
  const bool probing =
      candidate_.settings->timeouts.ttft_timeout > Duration::zero() &&
      candidate_.settings->stream.commit_on == StreamSettings::CommitOn::kFirstOutput;
  const bool committable =
      try_->relay.output() || try_->relay.overfull() || (!probing && try_->relay.any_frame());
  if (committable) {
    owner_->OnAttemptOutput(*this);
  } else if (try_->relay.any_frame() && !try_->event_told) {
    try_->event_told = true;
    owner_->OnAttemptEvent(*this);
  }
  return !try_->over;
}

// Every line is a sign of life. Inside one long line every 4 KiB are, but once it has lasted three
// stall windows it must have come at 64 KiB a second, so that a trickle does not hold the stream
// open (seed 000, "Large frames").
void Attempt::NoteProgress(std::string_view bytes) {
  constexpr std::uint64_t kBlock = 4096;
  constexpr double kBytesPerSecond = 65536;
  const Duration window = candidate_.settings->timeouts.stream_stall_timeout;
  if (window <= Duration::zero()) return owner_->OnAttemptProgress(*this);
  const TimePoint now = loop_->Now();
  const std::size_t end = bytes.find_last_of("\r\n");
  if (end != std::string_view::npos) {
    try_->line_start = now;
    try_->line_bytes = bytes.size() - end - 1;
    try_->line_credits = 0;
    return owner_->OnAttemptProgress(*this);
  }
  try_->line_bytes += bytes.size();
  const std::uint64_t blocks = try_->line_bytes / kBlock;
  if (blocks <= try_->line_credits) return;
  try_->line_credits = blocks;
  const std::chrono::duration<double> age = now - try_->line_start;
  if (now - try_->line_start <= decide::Times(window, 3) ||
      static_cast<double>(try_->line_bytes) >= kBytesPerSecond * age.count()) {
    owner_->OnAttemptProgress(*this);
  }
}

std::string_view Attempt::closing() const noexcept {
  const ChatRelay& relay = try_->relay;
  if (try_->mode != Mode::kStream) return {};
  if (relay.done()) return relay.inside_event() ? "\n\n" : "";
  return relay.inside_event() ? "\n\ndata: [DONE]\n\n" : "data: [DONE]\n\n";
}

void Attempt::Commit() {
  committed_ = true;
  try_->line_start = loop_->Now();
  if (try_->mode == Mode::kStream) Forward(try_->relay.Take());
}

void Attempt::Forward(std::string_view bytes) {
  if (bytes.empty()) return;
  if (try_->relay.error()) {
    // The provider's own error event is about to pass; it may quote the key it was called with.
    owner_->OnAttemptBytes(base::Redact(bytes, candidate_.provider->api_key.Reveal()));
  } else {
    owner_->OnAttemptBytes(bytes);
  }
}

void Attempt::StreamEnded(bool clean) {
  if (try_->relay.error()) {
    try_->body =
        try_->relay.error_data();  // a hidden refusal of the payload is forwarded like a real one
    End(committed_ ? EndKind::kStreamError : EndKind::kHiddenError, try_->relay.error_status());
    return;
  }
  // A stream that has given its finish_reason is whole; only the terminator is missing.
  if (try_->relay.done() || try_->relay.finish_reason()) {
    if (!try_->relay.any_frame()) {
      End(EndKind::kEmptyStream, try_->status);
    } else {
      End(try_->relay.output() ? EndKind::kAnswer : EndKind::kEmptyCharged, try_->status);
    }
    return;
  }
  End(clean && !try_->relay.any_frame() ? EndKind::kEmptyStream : EndKind::kStreamCut,
      try_->status);
}

void Attempt::AnswerEnded() {
  if (try_->status == 204 || try_->status == 205) {
    try_->body.clear();
    return End(EndKind::kEmptyCharged, try_->status);
  }
  // An encoding that cannot be read is no evidence of an empty answer (F147).
  if (!try_->content_encoding.empty()) return End(EndKind::kAnswer, try_->status);
  if (candidate_.provider->type == "minimax") {
    if (const auto error = wire::ReadMinimaxEnvelope(try_->body)) {
      return End(EndKind::kHiddenError, error->status);
    }
  }
  const wire::ChatAnswer answer = wire::ReadChatAnswer(try_->body);
  switch (answer.kind) {
    case wire::ChatAnswer::Kind::kGood:
    case wire::ChatAnswer::Kind::kEmptyServed:
      return End(EndKind::kAnswer, try_->status);
    case wire::ChatAnswer::Kind::kEmptyCharged:
      return End(EndKind::kEmptyCharged, try_->status);
    case wire::ChatAnswer::Kind::kEmpty:
      return End(EndKind::kEmptyAnswer, try_->status);
    case wire::ChatAnswer::Kind::kHiddenError:
      return End(EndKind::kHiddenError, answer.error_status);
    case wire::ChatAnswer::Kind::kUndecodable:
      return End(EndKind::kBadAnswer, try_->status);
  }
}

void Attempt::OnDone(const ExchangeResult& result) {
  try_->exchange_done = true;
  if (!try_->over) {
    const bool clean = result.outcome == ExchangeResult::Outcome::kComplete;
    if (!clean) {
      record.detail = wire::SanitizeDetail(
          std::string(TransportErrorName(result.error)) + ": " + result.detail, {}, kDetailBytes);
    }
    if (try_->mode == Mode::kStream && (clean || committed_ || try_->relay.finish_reason())) {
      if (clean) try_->relay.Finish();
      if (StreamMoved()) StreamEnded(clean);
    } else if (try_->mode == Mode::kOpaque && committed_) {
      End(clean ? EndKind::kAnswer : EndKind::kStreamCut, try_->status);
    } else if (try_->mode == Mode::kError) {
      End(EndKind::kHttpError, try_->status);
    } else if (clean && try_->mode == Mode::kOpaque) {
      End(EndKind::kEmptyStream, try_->status);
    } else if (clean) {
      AnswerEnded();
    } else {
      try_->over = true;
      owner_->OnAttemptEnd(
          *this, {EndKind::kTransport, try_->status, result.error, result.phase, try_->body_seen});
    }
  }
  owner_->OnAttemptIdle(*this);
}

void Attempt::End(EndKind kind, int status) {
  try_->over = true;
  try_->error_body_deadline.reset();
  if (try_->mode == Mode::kError || kind == EndKind::kHiddenError ||
      kind == EndKind::kStreamError) {
    record.detail =
        wire::SanitizeDetail(try_->body, candidate_.provider->api_key.Reveal(), kDetailBytes);
  }
  // What has ended well may finish its exchange, so that the connection can serve again; whatever
  // else still sends is stopped.
  const bool well = kind == EndKind::kAnswer || kind == EndKind::kEmptyCharged;
  if (!try_->exchange_done && !well) try_->exchange->Cancel();
  owner_->OnAttemptEnd(*this, {kind, status, TransportError::kNone, TransportPhase::kBody});
}

void Attempt::Cancel() {
  try_->over = true;
  try_->error_body_deadline.reset();
  if (try_->exchange != nullptr && !try_->exchange_done) try_->exchange->Cancel();
}

void Attempt::Resume() {
  if (!try_->paused) return;
  try_->paused = false;
  try_->line_start += loop_->Now() - try_->paused_at;
  if (try_->exchange != nullptr && !try_->exchange_done) try_->exchange->Resume();
}

void Attempt::GiveUpErrorBody() {
  if (!try_->over && try_->mode == Mode::kError) End(EndKind::kHttpError, try_->status);
}

}  // namespace hotel::route
