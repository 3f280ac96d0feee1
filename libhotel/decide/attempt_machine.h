// Which provider next, and when is it over: the life of one request as a function of
// (state, event, now).
//
// The machine does no I/O, reads no clock and holds no lock. It is fed events and answers with
// actions and the next instant at which it wants to be woken. Random numbers come from the seed in
// the plan, so a tape of events replays exactly.
#ifndef HOTEL_DECIDE_ATTEMPT_MACHINE_H_
#define HOTEL_DECIDE_ATTEMPT_MACHINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "hotel/circuit_breaker.h"
#include "hotel/dispatcher.h"
#include "hotel/settings.h"
#include "hotel/types.h"

namespace hotel::decide {

/// The deadline that ended an attempt.
enum class TimeoutKind {
  kHead,         ///< connected, no response head: timeouts.upstream_header_timeout
  kFirstOutput,  ///< no output frame: timeouts.ttft_timeout
  kAttempt,      ///< timeouts.request_timeout (x long_factor)
  kOverall,      ///< the request's deadline
};

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
  };
  Kind kind = Kind::kAnswer;
  int status =
      0;  ///< upstream status (kHiddenError, kStreamError: the hidden one); 0 = no head seen
  TransportError transport = TransportError::kNone;
  TransportPhase phase = TransportPhase::kNotSent;
  bool body_seen = false;  ///< kTransport: some of the answer's body had come
};

/// What the machine knows of a candidate.
struct CandidatePlan {
  /// Options of the candidate's provider. Must outlive the machine (the call holds the snapshot).
  const EngineSettings* settings = nullptr;
};

struct Plan {
  std::vector<CandidatePlan> candidates;  ///< in priority order, open circuits already left out
  /// Options of the route itself: overall deadline, pauses. Must outlive the machine.
  const EngineSettings* settings = nullptr;
  bool streaming = false;
  TimePoint arrival{};
  std::uint64_t seed = 0;
  /// Candidates left out at resolve because their circuit is open, and the earliest retry among
  /// them.
  int skipped_open = 0;
  std::optional<TimePoint> earliest_retry;
};

// --- events ---------------------------------------------------------------------------------

struct Begin {};  ///< first, once
struct Admitted {
  int attempt;
  bool probe = false;  ///< by a half-open circuit: the attempt is a single try
};                     ///< answer to AskAdmission
struct Refused {
  int attempt;
  TimePoint retry_at;
};  ///< answer to AskAdmission
struct HeadSeen {
  int attempt;
  int status;
};
struct FirstOutput {
  int attempt;
};  ///< streams: a frame with output, or one that may commit
struct Ended {
  int attempt;
  AttemptEnd end;
};
struct Unsendable {
  int attempt;
};  ///< the request for this candidate could not be built
/// The client takes nothing more, or something again: the time in between is not the provider's.
struct ClientPaused {
  bool paused;
};
struct ClientGone {};
struct Shutdown {};
struct Wake {};  ///< time moved
using Event = std::variant<Begin, Admitted, Refused, HeadSeen, FirstOutput, Ended, Unsendable,
                           ClientPaused, ClientGone, Shutdown, Wake>;

// --- actions --------------------------------------------------------------------------------

/// Ask the breaker; answer with Admitted or Refused (may be handled right away). Indices count
/// started attempts, so the index of a refused question is used again for the next candidate.
struct AskAdmission {
  int attempt;
  int candidate;
};
/// Contact the candidate. Said again with the same `attempt` when its last try ended in a transport
/// failure that is repeated: a new exchange under the same permit, with nothing left of the one
/// before. No verdict is reported between the tries.
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
/// The one verdict of an admitted attempt, with the kind its trail entry carries.
struct ReportVerdict {
  int attempt;
  CircuitReport report;
  ErrorKind kind;
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
    kUnsendable,  ///< last: the request for the candidate could not be built
  };
  How how = How::kGatewayError;
  Reason reason = Reason::kNone;
  int attempt = -1;                   ///< the attempt the answer is about; -1 = none was made
  int status = 0;                     ///< kUpstreamStatus, kProviderError: the upstream status
  std::optional<TimePoint> retry_at;  ///< kAllCircuitsOpen: when the first circuit comes back
  int contacted =
      0;  ///< candidates a request went to: started attempts without the unsendable ones
  /// Why the request did not end well, kNone when it was served: of the failure behind the answer.
  ErrorKind kind = ErrorKind::kNone;
};
using Action =
    std::variant<AskAdmission, StartAttempt, CancelAttempt, Commit, ReportVerdict, Finish>;

/// One request. Not thread-safe; belongs to its call.
class AttemptMachine {
 public:
  /// REQUIRES: the settings pointers in `plan` are set.
  explicit AttemptMachine(Plan plan);

  /// Takes an event, appends what is to be done. `now` never goes back. Events of attempts that are
  /// over, and every event behind Finish, change nothing.
  void Handle(const Event& event, TimePoint now, std::vector<Action>* out);

  /// When to send Wake at the latest; nullopt = not before another event.
  std::optional<TimePoint> next_wake() const;

  bool finished() const noexcept { return finished_; }
  bool committed() const noexcept { return committed_; }
  /// Why the attempt that is over last was ended by a clock, if it was.
  std::optional<TimeoutKind> last_timeout() const noexcept { return last_timeout_; }

 private:
  enum class Phase { kIdle, kBackoff, kAdmission, kRunning, kBetweenTries, kFinished };
  using Actions = std::vector<Action>;

  // The attempt that is asked for, running or over last.
  struct Attempt {
    int index = -1;
    TimePoint start{};
    bool probe = false;
    int repeats = 0;        // tries behind the first
    AttemptEnd last_try;    // while repeats > 0: how the one before ended
    TimePoint try_start{};  // while kBetweenTries: when the next one is due
    bool head_seen = false;
    int head_status = 0;
  };
  struct Deadline {
    TimePoint at;
    TimeoutKind kind;
  };

  void On(const Begin& event, TimePoint now, Actions* out);
  void On(const Admitted& event, TimePoint now, Actions* out);
  void On(const Refused& event, TimePoint now, Actions* out);
  void On(const HeadSeen& event, TimePoint now, Actions* out);
  void On(const FirstOutput& event, TimePoint now, Actions* out);
  void On(const Ended& event, TimePoint now, Actions* out);
  void On(const Unsendable& event, TimePoint now, Actions* out);
  void On(const ClientPaused& event, TimePoint now, Actions* out);
  void On(const ClientGone& event, TimePoint now, Actions* out);
  void On(const Shutdown& event, TimePoint now, Actions* out);
  void On(const Wake& event, TimePoint now, Actions* out);

  bool Running(int attempt) const noexcept;
  /// A permit is held: an attempt runs or waits for its next try.
  bool Live() const noexcept;
  bool OverallPassed(TimePoint now) const noexcept;
  Deadline NextDeadline() const;
  const EngineSettings& settings() const noexcept;

  void Next(TimePoint now, Actions* out);
  void Ask(Actions* out);
  void NobodyLeft(Actions* out);
  void StartTry(TimePoint now, Actions* out);
  bool TryAgainLater(const AttemptEnd& end, TimePoint now);
  void Settle(const AttemptEnd& end, TimePoint now, Actions* out);
  void EndedBehindCommit(const AttemptEnd& end, Actions* out);
  void TimedOut(TimeoutKind kind, TimePoint now, Actions* out);
  void Abandon(ErrorKind kind, Actions* out);
  void Report(CircuitReport report, ErrorKind kind, Actions* out);
  void Done(Finish finish, Actions* out);

  Plan plan_;
  std::uint64_t random_;
  std::optional<TimePoint> overall_deadline_;
  std::optional<TimePoint> paused_at_;  // while the client of a committed stream takes nothing
  Phase phase_ = Phase::kIdle;
  int candidate_ = -1;  // index into plan_.candidates of the current or last one
  Attempt attempt_;
  int started_ = 0;
  int contacted_ = 0;
  int last_contact_ = -1;   // index of the attempt that reached a provider last
  bool pause_due_ = false;  // a contacted candidate failed and no pause was made since
  TimePoint backoff_until_{};
  int open_circuits_ = 0;  // candidates skipped or refused
  std::optional<TimePoint> earliest_retry_;
  bool unsendable_ = false;
  std::optional<Finish> last_failure_;  // what to answer when nobody is left
  std::optional<TimeoutKind> last_timeout_;
  bool committed_ = false;
  bool finished_ = false;
};

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_ATTEMPT_MACHINE_H_
