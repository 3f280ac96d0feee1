// What the end of an answer was.
#include <utility>

#include "libhotel/route/attempt.h"
#include "libhotel/wire/answer.h"
#include "libhotel/wire/errors.h"
#include "libhotel/wire/hidden_error.h"
#include "libhotel/wire/inflate.h"

namespace hotel::route {
namespace {

using EndKind = decide::AttemptEnd::Kind;

/// MiniMax tells business errors under a 200, but not in place of pictures and sound (facts k).
bool MayHoldBaseResp(const Candidate& candidate, Endpoint endpoint) {
  if (candidate.provider->type != "minimax") return false;
  return wire::DialectOf(endpoint) != wire::Dialect::kPlain || endpoint == Endpoint::kEmbeddings ||
         endpoint == Endpoint::kRerank;
}

}  // namespace

void Attempt::StreamEnded(bool clean) {
  const StreamRelay& relay = try_->relay;
  if (relay.error()) {
    try_->body =
        relay.error_data();  // a hidden refusal of the payload is forwarded like a real one
    End(committed_ ? EndKind::kStreamError : EndKind::kHiddenError, relay.error_status());
    return;
  }
  // A stream that has given its finish_reason is whole; only the terminator is missing. One of no
  // known dialect is whole when it ends as its framing says.
  const bool ended = relay.done() || relay.finished() || (plain() && clean && !relay.too_large());
  if (ended && relay.any_frame()) {
    return End(relay.output() ? EndKind::kAnswer : EndKind::kEmptyCharged, try_->status);
  }
  End(ended || (clean && !relay.any_frame()) ? EndKind::kEmptyStream : EndKind::kStreamCut,
      try_->status);
}

/// A clean end of bytes that nobody read.
void Attempt::OpaqueEnded() {
  if (committed_) return End(EndKind::kAnswer, try_->status);
  if (!plain()) return End(EndKind::kEmptyStream, try_->status);
  // Silence has no words: an empty text is a transcript of it. A picture or a voice is never empty.
  const bool transcript =
      endpoint_ == Endpoint::kTranscriptions || endpoint_ == Endpoint::kTranslations;
  End(transcript ? EndKind::kNoContent : EndKind::kEmptyAnswer, try_->status);
}

/// The readable body of a 2xx.
wire::Answer Attempt::ReadWhole(std::string_view body) const {
  if (MayHoldBaseResp(candidate_, endpoint_)) {
    if (const auto error = wire::ReadMinimaxEnvelope(body)) {
      wire::Answer answer;
      answer.kind = wire::Answer::Kind::kHiddenError;
      answer.error_status = error->status;
      return answer;
    }
  }
  return wire::ReadAnswer(endpoint_, body);
}

void Attempt::AnswerEnded() {
  if (try_->status == 204 || try_->status == 205) {
    try_->body.clear();
    return End(plain() ? EndKind::kNoContent : EndKind::kEmptyCharged, try_->status);
  }
  std::optional<std::string> decoded;
  if (!try_->content_encoding.empty()) {
    decoded = wire::Inflate(try_->content_encoding, try_->body, kMaxDecoded);
    // A coding that is not known is no evidence of an empty answer (F147); bytes that are not in
    // the one they claim are no answer.
    if (!decoded) {
      const bool known = wire::CanInflate(try_->content_encoding);
      return End(known ? EndKind::kBadAnswer : EndKind::kAnswer, try_->status);
    }
  }
  const std::string_view text = decoded ? *decoded : try_->body;
  const wire::Answer answer = ReadWhole(text);
  // Nor is one that is too large to be read to its end.
  if (decoded && decoded->size() >= kMaxDecoded &&
      answer.kind == wire::Answer::Kind::kUndecodable) {
    return End(EndKind::kAnswer, try_->status);
  }
  if (decoded && answer.kind == wire::Answer::Kind::kHiddenError) {
    try_->body = *std::move(decoded);
    try_->content_encoding.clear();
  }
  record.usage = answer.usage;
  switch (answer.kind) {
    case wire::Answer::Kind::kGood:
    case wire::Answer::Kind::kEmptyServed:
      return End(EndKind::kAnswer, try_->status);
    case wire::Answer::Kind::kEmptyCharged:
      return End(EndKind::kEmptyCharged, try_->status);
    case wire::Answer::Kind::kEmpty:
      return End(EndKind::kEmptyAnswer, try_->status);
    case wire::Answer::Kind::kHiddenError:
      return End(EndKind::kHiddenError, answer.error_status);
    case wire::Answer::Kind::kUndecodable:
      return End(EndKind::kBadAnswer, try_->status);
  }
}

/// Makes a refusal in a content coding readable, for the classifier and for the client; one that
/// cannot be read is worth its status alone (F149). What the passthrough may still hand on stays as
/// it came.
void Attempt::DecodeRefusal() {
  if (try_->content_encoding.empty()) return;
  if (endpoint_ == Endpoint::kPassthrough && try_->mode == Mode::kError) return;
  try_->body =
      wire::Inflate(try_->content_encoding, try_->body, try_->error_limit).value_or(std::string());
  if (try_->mode == Mode::kError) try_->content_encoding.clear();
}

void Attempt::End(EndKind kind, int status) {
  try_->over = true;
  try_->error_body_deadline.reset();
  try_->hidden_error = kind == EndKind::kHiddenError || kind == EndKind::kStreamError;
  if (error_headers() != nullptr) DecodeRefusal();
  if (error_headers() != nullptr || try_->hidden_error) {
    record.detail =
        wire::SanitizeDetail(try_->body, candidate_.provider->api_key.Reveal(), kDetailBytes);
  }
  // What has ended well may finish its exchange, so that the connection can serve again; whatever
  // else still sends is stopped.
  try_->ended_well = kind == EndKind::kAnswer || kind == EndKind::kEmptyCharged ||
                     kind == EndKind::kNoContent || kind == EndKind::kPassedOn;
  if (!try_->exchange_done && !try_->ended_well) try_->exchange->Cancel();
  owner_->OnAttemptEnd(*this, {kind, status, TransportError::kNone, TransportPhase::kBody});
}

}  // namespace hotel::route
