// The invariants of one request's actions.
#ifndef HOTEL_TESTS_MODEL_CALL_CHECKER_H_
#define HOTEL_TESTS_MODEL_CALL_CHECKER_H_

#include <optional>
#include <string>
#include <vector>

#include "libhotel/decide/attempt_machine.h"

namespace hotel::model {

class CallChecker {
 public:
  explicit CallChecker(const decide::Plan* plan);

  /// Told before the machine handles it.
  void Before(const decide::Event& event, TimePoint now);
  /// Every action, in order.
  void OnAction(const decide::Action& action);
  /// Told when the event is handled.
  void After(const decide::AttemptMachine& machine);
  void OnAdmitted(bool probe) {
    admitted_ = true;
    probe_ = probe;
  }

  /// "" or the first broken invariant.
  const std::string& broken() const { return broken_; }
  bool finished() const { return finished_; }
  const std::optional<decide::Finish>& finish() const { return finish_; }
  /// The attempt that runs or waits for its next try, -1 if none.
  int running() const { return running_; }
  /// Tries behind the first, of all attempts.
  int repeats() const { return repeats_; }
  /// The open question, if any.
  const std::optional<decide::AskAdmission>& question() const { return question_; }

 private:
  void Require(bool condition, const char* what) {
    if (!condition && broken_.empty()) broken_ = what;
  }
  void On(const decide::AskAdmission& ask);
  void On(const decide::StartAttempt& start);
  void On(const decide::CancelAttempt& cancel);
  void On(const decide::Commit& commit);
  void On(const decide::SettleCircuit& settle);
  void On(const decide::ReportVerdict& verdict);
  void On(const decide::WaitForSlot& wait);
  void On(const decide::Finish& finish);
  void CheckRepeat(const decide::StartAttempt& start);
  void CheckRepeatable(const decide::AttemptEnd& end);
  void CheckFinish(const decide::Finish& finish);

  const decide::Plan* plan_;
  std::optional<TimePoint> deadline_;
  TimePoint now_{};
  decide::Event event_;
  std::optional<decide::AskAdmission> question_;
  bool admitted_ = false;  // a permit is held and not reported
  bool begun_ = false;
  bool committed_ = false;
  bool cancelled_ = false;
  bool finished_ = false;
  int last_candidate_ = -1;
  int started_ = 0;
  int unsendable_ = 0;
  int running_ = -1;
  bool probe_ = false;
  bool try_over_ = false;  // what runs waits for its next try
  bool ends_try_ = false;  // the event is the end of the try that runs
  int tries_ = 0;          // of the attempt that runs
  int repeats_ = 0;
  TimePoint attempt_limit_{};
  std::optional<decide::Finish> finish_;
  std::string broken_;
};

}  // namespace hotel::model

#endif  // HOTEL_TESTS_MODEL_CALL_CHECKER_H_
