// Which provider next, and when is it over: the life of one request as a function of
// (state, event, now).
//
// The machine does no I/O, reads no clock and holds no lock. It is fed events and answers with
// actions and the next instant at which it wants to be woken. Random numbers come from the seed in
// the plan, so a tape of events replays exactly.
//
// Candidates are tried one after another; a streaming route with `hedging.enabled` races them.
// When nobody is left, the last candidate may be asked once more, and a busy one is waited for.
#ifndef HOTEL_DECIDE_ATTEMPT_MACHINE_H_
#define HOTEL_DECIDE_ATTEMPT_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "libhotel/decide/attempt_types.h"

namespace hotel::decide {

/// One request. Not thread-safe; belongs to its call.
class AttemptMachine {
 public:
  /// REQUIRES: the settings pointers in `plan` are set.
  explicit AttemptMachine(Plan plan);

  /// Takes an event, appends what is to be done. `now` never goes back. Events of attempts that are
  /// over, and every event behind Finish, change nothing.
  void Handle(const Event& event, TimePoint now, std::vector<Action>* out);

  /// Told for every piece of a committed stream: what it costs is two stores. `frames` were begun
  /// so far; `whole` = the stream could end here and be complete. Moves the stall deadline; a Wake
  /// that comes too early for it is harmless.
  void Progress(TimePoint now, std::uint64_t frames, bool whole) noexcept {
    last_progress_ = now;
    frames_ = frames;
    whole_ = whole;
  }

  /// When to send Wake at the latest; nullopt = not before another event.
  std::optional<TimePoint> next_wake() const;

  /// Whether a running attempt that draws this status may be made once more. Told before the words
  /// of the refusal are read, which may still forbid it.
  bool MayRepeat(int attempt, int status) const noexcept;

  /// When an attempt that is between two tries makes the next one; nullopt for any other.
  std::optional<TimePoint> next_try(int attempt) const noexcept;

  bool finished() const noexcept { return finished_; }
  bool committed() const noexcept { return committed_ >= 0; }
  /// The candidates run against each other.
  bool racing() const noexcept { return racing_; }
  /// Why the attempt that is over last was ended by a clock, if it was.
  std::optional<TimeoutKind> last_timeout() const noexcept { return last_timeout_; }

 private:
  using Actions = std::vector<Action>;
  enum class Phase { kIdle, kWorking, kFinished };

  // An attempt that is asked for, runs, or waits for its next try.
  struct Live {
    enum class Phase { kAsked, kRunning, kBetweenTries };
    int index = -1;
    int candidate = -1;
    Phase phase = Phase::kAsked;
    TimePoint start{};
    bool probe = false;
    int repeats = 0;        // tries behind the first
    AttemptEnd last_try;    // while repeats > 0: how the one before ended
    TimePoint try_start{};  // kBetweenTries: when the next one is due
    bool head_seen = false;
    int head_status = 0;
    std::optional<TimePoint> first_event;
    bool settled = false;
  };
  struct Deadline {
    TimePoint at;
    TimeoutKind kind;
  };
  // The contacted attempt that ended last, as far as asking it again is concerned.
  struct LastEnd {
    int candidate;
    bool probe;
    AttemptEnd end;
  };

  void On(const Begin& event, TimePoint now, Actions* out);
  void On(const Admitted& event, TimePoint now, Actions* out);
  void On(const Refused& event, TimePoint now, Actions* out);
  void On(const HeadSeen& event, TimePoint now, Actions* out);
  void On(const FirstEvent& event, TimePoint now, Actions* out);
  void On(const FirstOutput& event, TimePoint now, Actions* out);
  void On(const Ended& event, TimePoint now, Actions* out);
  void On(const Unsendable& event, TimePoint now, Actions* out);
  void On(const SlotFree& event, TimePoint now, Actions* out);
  void On(const ClientPaused& event, TimePoint now, Actions* out);
  void On(const ClientGone& event, TimePoint now, Actions* out);
  void On(const Shutdown& event, TimePoint now, Actions* out);
  void On(const Wake& event, TimePoint now, Actions* out);

  // What is alive.
  Live* Find(int attempt) noexcept;
  const Live* Find(int attempt) const noexcept;
  Live* Running(int attempt) noexcept;
  Live* Asked(int attempt) noexcept;
  void Remove(int attempt);
  const EngineSettings& settings(const Live& live) const noexcept;
  bool OverallPassed(TimePoint now) const noexcept;

  // One attempt (attempt_live.cc).
  Duration AttemptLimit(const TimeoutSettings& timeouts) const noexcept;
  Deadline NextDeadline(const Live& live) const;
  void StartTry(Live& live, TimePoint now, Actions* out);
  bool HasFurtherTry(const Live& live, const AttemptEnd& end) const noexcept;
  bool TryAgainLater(Live& live, const AttemptEnd& end, TimePoint now);
  void Settle(Live live, const AttemptEnd& end, TimePoint now, Actions* out);
  CircuitReport Judge(const Live& live, const AttemptEnd& end, TimePoint now) const;
  CircuitReport JudgeClock(const Live& live, TimeoutKind kind, TimePoint now) const;
  void EndedBehindCommit(const AttemptEnd& end, Actions* out);
  void TimedOut(const Live& live, TimeoutKind kind, TimePoint now, Actions* out);
  void OverallTimedOut(TimePoint now, Actions* out);
  bool StopOverdue(const Live& live, TimeoutKind kind, TimePoint now, Actions* out);
  void ChargeOverdue(TimePoint now, Actions* out);
  void Abandon(const Live& live, ErrorKind kind, Actions* out);
  void StopOthers(int winner, ErrorKind kind, Actions* out);
  void Report(const Live& live, CircuitReport report, ErrorKind kind, Actions* out);

  // Whose turn it is (attempt_flow.cc).
  void Next(TimePoint now, Actions* out);
  bool MayContactMore() const noexcept;
  void Ask(int candidate, Actions* out);
  void MoveOn(TimePoint now, Actions* out);
  bool GoesOn(const Live& live, const AttemptEnd& end) const noexcept;
  bool RepeatLast(TimePoint now);
  void AwaitSlot(TimePoint now, Actions* out);
  void NobodyLeft(TimePoint now, Actions* out);
  void FinalAnswer(TimePoint now, Actions* out);
  void NoteBusy(int candidate);
  void Done(Finish finish, Actions* out);

  Plan plan_;
  std::uint64_t random_;
  bool racing_ = false;
  std::optional<TimePoint> overall_deadline_;
  Phase phase_ = Phase::kIdle;

  std::vector<Live> live_;  // more than one only in a race
  int started_ = 0;         // attempts that were admitted
  int contacted_ = 0;
  int first_contact_ = -1;  // index of the attempt that reached a provider first
  int last_contact_ = -1;   // index of the attempt that reached a provider last

  int cursor_ = 0;          // the candidate whose turn is next
  bool pause_due_ = false;  // a contacted candidate failed and no pause was made since
  std::optional<TimePoint> backoff_until_;
  std::optional<TimePoint> hedge_at_;   // when the next one joins the race
  std::optional<LastEnd> last_end_;     // no timeout, no transport failure
  std::optional<TimePoint> repeat_at_;  // when the last candidate is asked once more
  bool repeated_ = false;
  std::vector<int> busy_;                 // candidates skipped for want of a slot, priority order
  std::optional<TimePoint> slots_until_;  // a wait for slots is on, or was
  bool awaiting_ = false;                 // it is on
  int slot_for_ = -1;                     // the candidate that is asked with a slot from it
  bool slot_taken_ = false;               // it gave an attempt

  int open_circuits_ = 0;  // candidates skipped or refused
  int pinned_circuits_ = 0;
  int no_capacity_ = 0;
  std::optional<TimePoint> earliest_retry_;
  std::optional<Duration> busy_wait_;  // the smallest one stated
  bool unsendable_ = false;
  std::optional<Finish> last_failure_;  // what to answer when nobody is left
  std::optional<TimeoutKind> last_timeout_;

  int committed_ = -1;
  std::optional<TimePoint> paused_at_;  // while the client of a committed stream takes nothing
  TimePoint last_progress_{};
  std::uint64_t frames_ = 0;
  bool whole_ = false;
  bool finished_ = false;
};

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_ATTEMPT_MACHINE_H_
