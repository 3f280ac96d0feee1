#include "libhotel/route/attempt.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "libhotel/base/redact.h"
#include "libhotel/base/strings.h"
#include "libhotel/decide/spans.h"
#include "libhotel/decide/verdict.h"
#include "libhotel/route/outgoing.h"
#include "libhotel/wire/errors.h"
#include "libhotel/wire/hidden_error.h"

namespace hotel::route {
namespace {

using EndKind = decide::AttemptEnd::Kind;

constexpr std::string_view kDisposition = "content-disposition";

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
  try_.emplace(wire::Dialect::kPlain, false);
}

absl::Status Attempt::Start(Dispatcher& dispatcher, const RouteRequest& request,
                            const wire::RequestPeek& peek, std::string_view idempotency_key,
                            Duration connect_timeout) {
  endpoint_ = request.endpoint;
  streaming_asked_ = peek.stream && !plain();
  auto outgoing = MakeOutgoing(request, peek, candidate_, idempotency_key);
  if (!outgoing.ok()) return outgoing.status();
  outgoing->connect_timeout = connect_timeout;
  outgoing->transport = candidate_.provider->transport;
  try_.emplace(wire::DialectOf(endpoint_), AsksForUsage(request, peek, candidate_));
  record.usage.reset();
  record.detail.clear();
  ++tries_;
  try_->exchange = dispatcher.Start(*std::move(outgoing), this);
  return absl::OkStatus();
}

void Attempt::OnHead(int status, HeaderList headers) {
  if (try_->over) return;
  try_->status = status;
  try_->content_type = FindHeader(headers, "content-type");
  try_->content_encoding = FindHeader(headers, "content-encoding");
  if (base::EqualsIgnoreCase(try_->content_encoding, "identity")) try_->content_encoding.clear();
  try_->nothing_remaining = StatesNothingRemaining(headers);
  // A redirect is no answer, here neither (decisions, 10); that nothing has changed is one.
  const bool redirect = decide::IsRedirect(status) && status != 304;
  if (endpoint_ == Endpoint::kPassthrough && !redirect) {
    try_->mode = Mode::kRaw;
    try_->error_limit = kMaxOtherError;
    try_->headers = std::move(headers);
  } else if (!success()) {
    try_->mode = Mode::kError;
    const bool forwardable =
        decide::IsPayloadStatus(status) ||
        candidate_.settings->failover.error_body == FailoverSettings::ErrorBody::kProvider;
    try_->error_limit = forwardable ? kMaxForwardableError : kMaxOtherError;
    try_->error_body_deadline = loop_->Now() + kErrorBodyTime;
    try_->headers = std::move(headers);
  } else {
    try_->mode = ModeOfAnswer();
    if (try_->mode == Mode::kBuffer) {
      try_->body.reserve(std::min(AnnouncedLength(headers), kMaxAnswerBytes));
    }
    const std::string_view disposition = FindHeader(headers, kDisposition);
    if (plain() && !disposition.empty()) {
      try_->headers.push_back({std::string(kDisposition), std::string(disposition)});
    }
  }
  owner_->OnAttemptHead(*this, status);
}

void Attempt::KeepRefusal() {
  if (try_->over || try_->mode != Mode::kRaw) return;
  try_->mode = Mode::kError;
  try_->error_limit = kMaxForwardableError;
  try_->error_body_deadline = loop_->Now() + kErrorBodyTime;
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
      try_->line_bytes += bytes.size();
      PassOn(bytes);
      break;
    case Mode::kRaw:
      // The words of a refusal are kept for the verdict.
      if (!success() && try_->body.size() < try_->error_limit) {
        try_->body.append(bytes.substr(0, try_->error_limit - try_->body.size()));
      }
      PassOn(bytes);
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

void Attempt::PassOn(std::string_view bytes) {
  if (bytes.empty()) return;
  if (committed_) {
    owner_->OnAttemptProgress(*this);
  } else {
    owner_->OnAttemptOutput(*this);
  }
  if (committed_ && !try_->over) owner_->OnAttemptBytes(bytes);
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

void Attempt::OnDone(const ExchangeResult& result) {
  try_->exchange_done = true;
  if (!try_->over) {
    const bool clean = result.outcome == ExchangeResult::Outcome::kComplete;
    if (!clean) {
      record.detail = wire::SanitizeDetail(
          std::string(TransportErrorName(result.error)) + ": " + result.detail, {}, kDetailBytes);
    }
    if (try_->mode == Mode::kStream && (clean || committed_ || try_->relay.finished())) {
      if (clean) try_->relay.Finish();
      if (StreamMoved()) StreamEnded(clean);
    } else if (try_->mode == Mode::kError) {
      try_->whole_refusal = clean;
      End(EndKind::kHttpError, try_->status);
    } else if (!clean && committed_) {
      End(EndKind::kStreamCut, try_->status);
    } else if (clean && try_->mode == Mode::kRaw) {
      End(EndKind::kPassedOn, try_->status);
    } else if (clean && try_->mode == Mode::kOpaque) {
      OpaqueEnded();
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
