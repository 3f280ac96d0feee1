// One visit to one candidate: its upstream exchanges, and what the answer turned out to be.
//
// An attempt reports facts to its owner; what they mean is decided by the attempt machine.
#ifndef HOTEL_ROUTE_ATTEMPT_H_
#define HOTEL_ROUTE_ATTEMPT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hotel/circuit_breaker.h"
#include "hotel/dispatcher.h"
#include "hotel/inflight_limiter.h"
#include "hotel/loop.h"
#include "hotel/request_log.h"
#include "hotel/router.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "libhotel/decide/attempt_machine.h"
#include "libhotel/route/resolver.h"
#include "libhotel/route/stream_relay.h"
#include "libhotel/wire/answer.h"
#include "libhotel/wire/endpoints.h"
#include "libhotel/wire/request.h"

namespace hotel::route {

class Attempt;

/// Receives what an attempt sees. Called on the loop thread from inside the exchange's callbacks.
class AttemptOwner {
 public:
  virtual void OnAttemptHead(Attempt& attempt, int status) = 0;
  /// Streams, before the commit: a first data event came that may not commit yet.
  virtual void OnAttemptEvent(Attempt& attempt) = 0;
  /// The answer may be committed now.
  virtual void OnAttemptOutput(Attempt& attempt) = 0;
  /// Behind Commit: the provider is alive (the stall watchdog begins anew).
  virtual void OnAttemptProgress(Attempt& attempt) = 0;
  /// Bytes for the client; only behind Commit.
  virtual void OnAttemptBytes(std::string_view bytes) = 0;
  /// Once per try; nothing but OnAttemptIdle follows until the next Start.
  virtual void OnAttemptEnd(Attempt& attempt, const decide::AttemptEnd& end) = 0;
  /// The exchange itself is over as well.
  virtual void OnAttemptIdle(Attempt& attempt) = 0;
  /// The client cannot take more right now.
  virtual bool ClientPaused() const = 0;

 protected:
  AttemptOwner() = default;
  ~AttemptOwner() = default;
};

class Attempt final : public ResponseHandler {
 public:
  /// A non-streaming answer larger than this is given up (decide::AttemptEnd::Kind::kTooLarge).
  static constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 20;
  /// A refusal is read to here when the client may get it as written, and to the smaller bound when
  /// only its words are of interest (facts a).
  static constexpr std::size_t kMaxForwardableError = std::size_t{1} << 20;
  static constexpr std::size_t kMaxOtherError = std::size_t{16} << 10;
  /// To here an answer in a content coding is decoded to be read.
  static constexpr std::size_t kMaxDecoded = std::size_t{8} << 20;
  /// Of a reason in the trail (seed 000).
  static constexpr std::size_t kDetailBytes = 160;
  /// How long the body of a refusal may take behind its head.
  static constexpr Duration kErrorBodyTime = std::chrono::seconds(5);

  /// `owner` and `loop` must outlive the attempt.
  Attempt(AttemptOwner* owner, const Loop* loop, int index, const Candidate& candidate);
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  /// Contacts the candidate. On error nothing was sent and nothing will be reported. Called again
  /// for a further try when the one before has ended and is idle: nothing of it is left. Not from
  /// inside a callback of the exchange.
  /// `idempotency_key`: usable, or "" for none.
  absl::Status Start(Dispatcher& dispatcher, const RouteRequest& request,
                     const wire::RequestPeek& peek, std::string_view idempotency_key,
                     Duration connect_timeout);
  /// The refusal whose head has just come is not passed on but read: the try may be repeated. For
  /// the passthrough, from inside OnAttemptHead.
  void KeepRefusal();
  /// From now on what comes goes to the owner, beginning with what was held back.
  void Commit();
  /// Closes the upstream; reports nothing any more but OnAttemptIdle.
  void Cancel();
  /// The client can take bytes again.
  void Resume();
  /// Ends a refusal whose body did not come in time; for the instant of error_body_deadline().
  void GiveUpErrorBody();

  int index() const noexcept { return index_; }
  const Candidate& candidate() const noexcept { return candidate_; }
  bool over() const noexcept { return try_->over; }
  /// No callback of the exchange is outstanding.
  bool idle() const noexcept { return try_->exchange == nullptr || try_->exchange_done; }
  std::optional<TimePoint> error_body_deadline() const noexcept {
    return try_->error_body_deadline;
  }

  /// Tries that went out so far.
  int tries() const noexcept { return tries_; }
  int status() const noexcept { return try_->status; }
  /// The answer goes to the client as it comes, not at its end.
  bool streaming() const noexcept {
    return try_->mode == Mode::kStream || try_->mode == Mode::kOpaque || try_->mode == Mode::kRaw;
  }
  /// It is a stream of events, read or in a coding.
  bool event_stream() const noexcept {
    return try_->mode == Mode::kStream || (try_->mode == Mode::kOpaque && !plain());
  }
  /// False when nothing can be added behind the provider's bytes.
  bool can_append() const noexcept { return try_->mode == Mode::kStream && !plain(); }
  bool committed() const noexcept { return committed_; }
  bool body_seen() const noexcept { return try_->body_seen; }
  /// What it delivered is the client's answer.
  bool serves() const noexcept { return committed_ || try_->ended_well; }
  /// That answer was whole.
  bool ended_whole() const noexcept { return try_->ended_well || whole(); }
  /// It ended in the provider's own error under a 2xx.
  bool hidden_error() const noexcept { return try_->hidden_error; }
  /// The buffered body: a whole answer, or a refusal (perhaps cut at its bound).
  const std::string& body() const noexcept { return try_->body; }
  /// Gives the whole answer away; body() is empty afterwards.
  std::string TakeBody() noexcept { return std::move(try_->body); }
  /// The body of a refusal is whole: neither cut nor in a coding that nobody read.
  bool whole_refusal() const noexcept { return try_->mode == Mode::kError && try_->whole_refusal; }
  /// The head of a refusal; null for any other answer.
  const HeaderList* error_headers() const noexcept {
    const bool refused = try_->mode == Mode::kError || (try_->mode == Mode::kRaw && !success());
    return refused ? &try_->headers : nullptr;
  }
  /// The content type as the client gets it; "" = none.
  std::string_view content_type() const noexcept;
  /// Further headers of the answer for the client.
  /// `head_only`: to a HEAD request, whose answer says how long the body would be.
  HeaderList RelayedHeaders(bool head_only) const;
  /// The head said that the provider takes nothing more right now.
  bool nothing_remaining() const noexcept { return try_->nothing_remaining; }
  /// Data events of the stream so far.
  std::uint64_t frames() const noexcept { return try_->relay.frames(); }
  /// The stream could end here and be whole.
  bool whole() const noexcept { return try_->relay.finished() || try_->relay.done(); }
  /// What the answer states it cost: a stream so far, a whole answer at its end.
  const std::optional<TokenUsage>& stated_usage() const noexcept {
    return try_->mode == Mode::kStream ? try_->relay.usage() : record.usage;
  }
  /// A guess at the tokens of the output so far; 0 where the output is no text.
  std::int64_t output_estimate() const noexcept;
  /// Set when the answer came in a content coding the gateway does not look into.
  std::string_view content_encoding() const noexcept { return try_->content_encoding; }
  /// What must follow the last forwarded byte of a whole stream: nothing, or the `[DONE]` the
  /// provider left out (decisions, 5).
  std::string closing() const;
  /// What must stand in front of an event that is added to a broken stream.
  std::string_view separator() const noexcept { return try_->relay.inside_event() ? "\n\n" : ""; }

  Permit permit;           ///< from the admission until the verdict
  InflightSlot slot;       ///< likewise
  AttemptRecord record;    ///< filled by the owner; detail and stated usage by the attempt
  TimePoint started_at{};  ///< the epoch until the first try

  // ResponseHandler
  void OnHead(int status, HeaderList headers) override;
  Flow OnBody(std::string_view bytes) override;
  void OnDone(const ExchangeResult& result) override;

 private:
  enum class Mode {
    kUnknown,
    kStream,  ///< SSE, relayed
    kOpaque,  ///< a stream in a content coding, sound, a picture: relayed unread
    kBuffer,  ///< a whole answer
    kError,   ///< a refusal
    kRaw,     ///< the passthrough: relayed unread and unjudged, whatever its status
  };

  bool plain() const noexcept { return wire::DialectOf(endpoint_) == wire::Dialect::kPlain; }
  bool success() const noexcept { return try_->status >= 200 && try_->status <= 299; }
  Mode ModeOfAnswer() const;
  bool StreamMoved();
  void PassOn(std::string_view bytes);
  void NoteProgress(std::string_view bytes);
  void StreamEnded(bool clean);
  void OpaqueEnded();
  void AnswerEnded();
  wire::Answer ReadWhole(std::string_view body) const;
  void DecodeRefusal();
  void End(decide::AttemptEnd::Kind kind, int status);
  void Forward(std::string_view bytes);
  void Collect(std::string_view bytes);

  AttemptOwner* owner_;
  const Loop* loop_;
  int index_;
  Candidate candidate_;
  Endpoint endpoint_ = Endpoint::kChatCompletions;
  bool streaming_asked_ = false;
  bool committed_ = false;
  int tries_ = 0;

  // Everything that belongs to one exchange; a further try begins with a new one.
  struct Try {
    Try(wire::Dialect dialect, bool hide_usage) : relay(dialect, hide_usage) {}
    std::unique_ptr<Exchange> exchange;
    bool exchange_done = false;
    bool over = false;
    bool paused = false;
    TimePoint paused_at{};
    bool body_seen = false;
    bool hidden_error = false;
    bool ended_well = false;
    bool whole_refusal = false;
    bool nothing_remaining = false;
    bool event_told = false;
    Mode mode = Mode::kUnknown;
    int status = 0;
    std::string content_type;
    std::string content_encoding;
    std::string body;
    std::size_t error_limit = 0;
    std::optional<TimePoint> error_body_deadline;
    HeaderList headers;  // of a refusal all, of anything else those that the client gets
    StreamRelay relay;
    TimePoint line_start{};          // of the unfinished line behind the commit
    std::uint64_t line_bytes = 0;    // of it; kOpaque: of the body
    std::uint64_t line_credits = 0;  // blocks of it that counted as progress
  };
  std::optional<Try> try_;  // always there
};

}  // namespace hotel::route

#endif  // HOTEL_ROUTE_ATTEMPT_H_
