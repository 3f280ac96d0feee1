// The invariants of one request's actions.
#ifndef HOTEL_TESTS_MODEL_CALL_CHECKER_H_
#define HOTEL_TESTS_MODEL_CALL_CHECKER_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libhotel/decide/attempt_machine.h"

namespace hotel::model {

class CallChecker {
 public:
  /// An attempt that was started.
  struct Attempt {
    enum class State { kRunning, kBetweenTries, kOver };
    int candidate = -1;
    State state = State::kRunning;
    bool probe = false;
    bool cancelled = false;
    bool settled = false;
    int tries = 1;
    TimePoint limit{};
  };

  explicit CallChecker(const decide::Plan* plan);

  /// Told before the machine handles it.
  void Before(const decide::Event& event, TimePoint now);
  /// Every action, in order.
  void OnAction(const decide::Action& action);
  /// Told when the event is handled.
  void After(const decide::AttemptMachine& machine);

  /// "" or the first broken invariant.
  const std::string& broken() const { return broken_; }
  bool finished() const { return finished_; }
  bool committed() const { return committed_ >= 0; }
  bool paused() const { return paused_; }
  const std::vector<Attempt>& attempts() const { return attempts_; }
  int committed_attempt() const { return committed_; }
  /// Attempts that run or wait for their next try.
  int live() const { return live_; }
  /// The open question, if any.
  const std::optional<decide::AskAdmission>& question() const { return question_; }
  /// The candidates that it stands in line for.
  const std::optional<std::vector<int>>& line() const { return line_; }
  /// Tries behind the first, of all attempts.
  int repeats() const { return repeats_; }
  /// The last candidate was asked once more; somebody was admitted with a slot from the line.
  bool repeated_last() const { return repeated_last_; }
  bool slot_used() const { return slot_used_; }
  /// More than one attempt was live at a time.
  bool raced() const { return raced_; }

 private:
  struct Pending {
    int attempt;
    int candidate;
    bool probe;
  };

  void Require(bool condition, const char* what) {
    if (!condition && broken_.empty()) broken_ = what;
  }
  template <typename T>
  bool Is() const {
    return std::holds_alternative<T>(event_);
  }
  void On(const decide::AskAdmission& ask);
  void On(const decide::StartAttempt& start);
  void On(const decide::CancelAttempt& cancel);
  void On(const decide::Commit& commit);
  void On(const decide::SettleCircuit& settle);
  void On(const decide::ReportVerdict& verdict);
  void On(const decide::WaitForSlot& wait);
  void On(const decide::Finish& finish);
  void CheckFirstTry(const decide::StartAttempt& start);
  void CheckNextTry(const decide::StartAttempt& start);
  void CheckRepeatable(const Attempt& attempt, decide::AttemptEnd end);
  void CheckBlame(const decide::ReportVerdict& verdict, bool own_end);
  void CheckFinish(const decide::Finish& finish);
  void CheckWakes(const decide::AttemptMachine& machine);
  bool DeadlinePassed() const { return deadline_ && now_ >= *deadline_; }
  Attempt* Find(int index);
  const EngineSettings& own(int candidate) const {
    return *plan_->candidates[static_cast<std::size_t>(candidate)].settings;
  }
  int candidates() const { return static_cast<int>(plan_->candidates.size()); }

  const decide::Plan* plan_;
  std::optional<TimePoint> deadline_;  // as long as nothing was paused
  TimePoint now_{};
  decide::Event event_;
  int about_ = -1;         // the attempt that the event is about
  bool ends_try_ = false;  // the event is the end of a try that runs

  std::optional<decide::AskAdmission> question_;
  std::optional<Pending> pending_;  // admitted by this event
  std::optional<std::vector<int>> line_;
  std::set<int> busy_;
  std::vector<Attempt> attempts_;
  int live_ = 0;
  int cursor_ = 0;       // candidates asked for the first time
  int last_ended_ = -1;  // the candidate that may be asked once more
  int unsendable_ = 0;
  int exchanges_ = 0;
  int exchanges_allowed_ = 0;
  int repeats_ = 0;
  bool ended_busy_ = false;  // it said so
  bool slot_question_ = false;
  bool line_again_ = false;  // asked once more behind a slot that was one too many
  bool repeated_last_ = false;
  bool slot_used_ = false;
  bool raced_ = false;
  bool begun_ = false;
  int committed_ = -1;
  bool was_paused_ = false;
  bool paused_ = false;
  bool finished_ = false;
  std::string broken_;
};

}  // namespace hotel::model

#endif  // HOTEL_TESTS_MODEL_CALL_CHECKER_H_
