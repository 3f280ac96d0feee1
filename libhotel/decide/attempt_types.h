// What the attempt machine is fed with and what it answers: plain values.
#ifndef HOTEL_DECIDE_ATTEMPT_TYPES_H_
#define HOTEL_DECIDE_ATTEMPT_TYPES_H_

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "hotel/circuit_breaker.h"
#include "hotel/dispatcher.h"
#include "hotel/rate_limit.h"
#include "hotel/settings.h"
#include "hotel/types.h"

namespace hotel::decide {

/// The deadline that ended an attempt.
enum class TimeoutKind {
  kHead,         ///< connected, no response head: timeouts.upstream_header_timeout
  kFirstOutput,  ///< no output frame: timeouts.ttft_timeout
  kStall,        ///< silence behind the commit: timeouts.stream_stall_timeout
  kAttempt,      ///< timeouts.request_timeout (x long_factor)
  kOverall,      ///< the request's deadline
};

/// What a 429 was read as (decisions, section 8).
struct RefusalFacts {
  /// Nothing: not a 429, or rate_limit.classify is off. kSaturated: a retry succeeds in `wait`;
  /// kExhausted: none does before `wait` is over.
  std::optional<RefusalClass> read;
  bool account_wide = false;   ///< kExhausted: the account, not the model
  bool needs_payment = false;  ///< kExhausted: a person must pay
  /// As the provider stated it, or the default of what was read. kSaturated, kExhausted: > 0.
  Duration wait{};
  bool stated = false;
  /// kUnknown: the (provider, model) served within rate_limit.recent_success_window.
  bool recent_success = false;

  /// Busy, by its words or by the fallback.
  bool saturated() const noexcept {
    return read == RefusalClass::kSaturated || (read == RefusalClass::kUnknown && recent_success);
  }
  bool exhausted() const noexcept { return read == RefusalClass::kExhausted; }
  /// REQUIRES: saturated(). The fallback states nothing.
  Duration busy_wait() const noexcept {
    return read == RefusalClass::kSaturated ? wait : kSaturatedWait;
  }
};

/// A race waits at least this long for the first output of one before it sends the next (facts f).
inline constexpr Duration kMinHedgeDelay = std::chrono::milliseconds(100);

/// How an attempt ended: what was seen, not what it means.
struct AttemptEnd {
  enum class Kind {
    kAnswer,        ///< usable and read to its end
    kEmptyCharged,  ///< served as it is, but it delivered nothing: counts as a failure
    kHttpError,     ///< status outside 2xx
    kHiddenError,   ///< a 2xx whose body or first frame is the error `status`
    kBadAnswer,     ///< 2xx, not a completion
    kEmptyAnswer,   ///< 2xx, decoded, carries nothing
    kEmptyStream,   ///< 2xx stream that ended before any data frame
    kTooLarge,      ///< 2xx body over the gateway's cap: a sibling would send the same
    kTransport,     ///< see `transport` and `phase`
    kStreamCut,     ///< a stream that ended without its terminal frame, behind data frames
    kStreamError,   ///< the provider's own error frame behind output, already relayed
    kNoContent,     ///< 2xx without content where that is an answer: served, says nothing
    kPassedOn,      ///< the passthrough: whatever came, `status`, went to the client as it is
  };
  Kind kind = Kind::kAnswer;
  int status =
      0;  ///< upstream status (kHiddenError, kStreamError: the hidden one); 0 = no head seen
  TransportError transport = TransportError::kNone;
  TransportPhase phase = TransportPhase::kNotSent;
  bool body_seen = false;  ///< kTransport: some of the answer's body had come
  RefusalFacts refusal{};  ///< kHttpError, kHiddenError, kStreamError, kPassedOn with 429
  /// The Retry-After of a refusal of any status.
  std::optional<Duration> retry_after{};
};

/// What the machine knows of a candidate.
struct CandidatePlan {
  /// Options of the candidate's provider. Must outlive the machine (the call holds the snapshot).
  const EngineSettings* settings = nullptr;
};

struct Plan {
  std::vector<CandidatePlan> candidates;  ///< in priority order, open circuits already left out
  /// Options of the route itself: overall deadline, pauses, hedging. Must outlive the machine.
  const EngineSettings* settings = nullptr;
  /// A stream of text: it is probed for its first output.
  bool streaming = false;
  /// As long as a stream may take, without being one: pictures, sound, the passthrough.
  bool long_running = false;
  /// `hedging.enabled` may race the candidates of this stream: chat completions only (decisions,
  /// 10).
  bool races = true;
  /// False: sending it twice may do it twice (R14). It is repeated only when nothing had left.
  bool replay_safe = true;
  /// `<provider>/<model>`: a refused admission is told as R50's 503.
  bool direct = false;
  TimePoint arrival{};
  std::uint64_t seed = 0;
  /// Candidates left out at resolve because their circuit is open, how many of them wait out a
  /// quota pin, and the earliest retry among them.
  int skipped_open = 0;
  int skipped_pinned = 0;
  std::optional<TimePoint> earliest_retry;
};

// --- events ---------------------------------------------------------------------------------

struct Begin {};  ///< first, once
struct Admitted {
  int attempt;
  bool probe = false;  ///< by a half-open circuit: the attempt is a single try
};                     ///< answer to AskAdmission
struct Refused {
  enum class Why {
    kCircuit,   ///< open until `retry_at`
    kBusy,      ///< the provider is at its in-flight window
    kCapacity,  ///< the breaker cannot hold one more circuit (R70)
  };
  int attempt;
  TimePoint retry_at{};
  Why why = Why::kCircuit;
  bool pinned = false;  ///< kCircuit: it waits out a quota pin
};                      ///< answer to AskAdmission
struct HeadSeen {
  int attempt;
  int status;
};
/// Streams: the first data event of any kind came. Stops the clock of slow_call_threshold (R60).
struct FirstEvent {
  int attempt;
};
struct FirstOutput {
  int attempt;
};  ///< a frame with output, or whatever else may commit: the first byte of what is no stream of
    ///< text
struct Ended {
  int attempt;
  AttemptEnd end;
};
struct Unsendable {
  int attempt;
};  ///< the request for this candidate could not be built
/// A slot that WaitForSlot asked for was handed over; it is used for the question that follows.
struct SlotFree {
  int candidate;
};
/// The client takes nothing more, or something again: the time in between is not the provider's.
struct ClientPaused {
  bool paused;
};
struct ClientGone {};
struct Shutdown {};
struct Wake {};  ///< time moved
using Event = std::variant<Begin, Admitted, Refused, HeadSeen, FirstEvent, FirstOutput, Ended,
                           Unsendable, SlotFree, ClientPaused, ClientGone, Shutdown, Wake>;

// --- actions --------------------------------------------------------------------------------

/// Ask the breaker and the in-flight limiter; answer with Admitted or Refused (may be handled right
/// away). Indices count started attempts, so the index of a refused question is used again for the
/// next candidate. One question at a time.
struct AskAdmission {
  int attempt;
  int candidate;
};
/// Contact the candidate. Said again with the same `attempt` when its last try is repeated: a new
/// exchange under the same permit, with nothing left of the one before. No verdict is reported
/// between the tries.
struct StartAttempt {
  int attempt;
  int candidate;
  Duration connect_timeout;
};
/// Stop it, also when it waits for its next try; no event of this attempt is expected or looked at
/// any more.
struct CancelAttempt {
  int attempt;
};
/// From now on this attempt's bytes go to the client, beginning with those held back.
struct Commit {
  int attempt;
};
/// Report to the circuit now, the attempt goes on: its ReportVerdict will say `settled`
/// (circuit_breaker.stream_verdict start).
struct SettleCircuit {
  int attempt;
  CircuitReport report;
};
/// The one verdict of an admitted attempt, with the kind its trail entry carries.
struct ReportVerdict {
  int attempt;
  CircuitReport report;
  ErrorKind kind = ErrorKind::kNone;
  bool settled = false;  ///< the circuit has had its report; this one is for the record
  bool clean = false;    ///< a 2xx read to its end: may widen the in-flight window
  /// A saturated 429: cut the in-flight window behind the slot's settlement, and do not forget the
  /// cut for this long.
  std::optional<Duration> cut{};
  bool hedged = false;  ///< it ran in a race
};
/// Every candidate is contacted or busy: stand in line for a slot at these, tell SlotFree for the
/// first one, until the next AskAdmission, WaitForSlot or Finish.
struct WaitForSlot {
  std::vector<int> candidates;
};
/// Exactly once, last.
struct Finish {
  enum class How {
    kServed,         ///< the committed (or buffered) answer of `attempt` is whole
    kServedBroken,   ///< committed, not whole: end with the terminal error event of `reason`
    kServedError,    ///< committed, the provider's own error event was the last: add nothing
    kProviderError,  ///< forward the refusal of `attempt` as the provider wrote it
    kGatewayError,   ///< nothing was committed: write the terminal answer of `reason`
    kClientGone,     ///< write nothing
  };
  /// The situation behind a terminal answer (facts g); see decide/terminal.h for its words.
  enum class Reason {
    kNone,
    kNoProvider,       ///< zero candidates, no open circuit behind it
    kAllCircuitsOpen,  ///< zero contacted, at least one open circuit
    kAllFailed,        ///< last: transport, probe, unusable answer
    kUpstreamStatus,   ///< last: HTTP error `status` (real or hidden)
    kAnswerTooLarge,
    kAttemptTimeout,  ///< last: the attempt's own timeout
    kDeadline,
    kStreamIncomplete,
    kShutdown,
    kUnsendable,       ///< last: the request for the candidate could not be built
    kAllBusy,          ///< no slot came free in time
    kCircuitOpen,      ///< direct: its circuit is open (R50)
    kCircuitCapacity,  ///< the breaker could not hold a circuit for any candidate (R70)
  };
  How how = How::kGatewayError;
  Reason reason = Reason::kNone;
  int attempt = -1;  ///< the attempt the answer is about; -1 = none was made
  int status = 0;    ///< kUpstreamStatus, kProviderError: the upstream status
  /// When asking again makes sense: the first circuit that comes back, or the wait a refusal
  /// stated.
  std::optional<TimePoint> retry_at;
  int contacted =
      0;  ///< candidates a request went to: started attempts without the unsendable ones
  /// Why the request did not end well, kNone when it was served: of the failure behind the answer.
  ErrorKind kind = ErrorKind::kNone;
};
using Action = std::variant<AskAdmission, StartAttempt, CancelAttempt, Commit, SettleCircuit,
                            ReportVerdict, WaitForSlot, Finish>;

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_ATTEMPT_TYPES_H_
