// One client request on the loop: feeds its attempt machine, carries out what the machine says,
// writes the answer, keeps the record.
#ifndef HOTEL_ROUTE_CALL_H_
#define HOTEL_ROUTE_CALL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/router.h"

#include "absl/status/statusor.h"
#include "libhotel/decide/attempt_machine.h"
#include "libhotel/decide/terminal.h"
#include "libhotel/route/attempt.h"
#include "libhotel/route/resolver.h"
#include "libhotel/wire/request.h"

namespace hotel::route {

/// What the calls of a router share.
struct RouterParts {
  explicit RouterParts(const RouterDeps& with) : deps(with), virtuals(with.virtual_models) {}
  RouterDeps deps;
  VirtualRoutes virtuals;
};

/// Belongs to the loop thread from Begin on. Kept alive by its router until `idle()`.
class CallState final : public AttemptOwner, public std::enable_shared_from_this<CallState> {
 public:
  /// `peek` is what was read of the request; an error is answered with 400. `on_change` is
  /// called (on the loop thread, possibly from inside a callback of an exchange) when the call has
  /// finished and again when it becomes idle.
  CallState(std::shared_ptr<RouterParts> parts, RouteRequest request,
            absl::StatusOr<wire::RequestPeek> peek, std::shared_ptr<StreamSink> sink,
            TimePoint arrival, std::uint64_t seed, std::function<void()> on_change);
  CallState(const CallState&) = delete;
  CallState& operator=(const CallState&) = delete;

  const std::string& request_id() const noexcept { return request_.request_id; }

  void Begin();
  /// In place of Begin, for a request that comes when the router is ending: answers 503.
  void RefuseShutdown();
  void Resume();
  void ClientGone();
  void Shutdown();
  /// Tells the log of a call that still runs and has come by `arrived`, once. There is a log.
  void ReportRunning(TimePoint arrived);

  /// The sink has had its OnEnd. Any thread.
  bool finished() const noexcept { return finished_->load(std::memory_order_acquire); }
  /// The same, for a holder that must not keep the call alive.
  std::shared_ptr<const std::atomic<bool>> finished_flag() const noexcept { return finished_; }
  /// Finished, and no exchange is outstanding.
  bool idle() const noexcept;

 private:
  // AttemptOwner
  void OnAttemptHead(Attempt& attempt, int status) override;
  void OnAttemptEvent(Attempt& attempt) override;
  void OnAttemptOutput(Attempt& attempt) override;
  void OnAttemptProgress(Attempt& attempt) override;
  void OnAttemptBytes(std::string_view bytes) override;
  void OnAttemptEnd(Attempt& attempt, const decide::AttemptEnd& end) override;
  void OnAttemptIdle(Attempt& attempt) override;
  bool ClientPaused() const override { return client_paused_; }

  /// Hands an event to the machine and carries out everything that follows from it.
  void Drive(decide::Event event);
  void Do(const decide::AskAdmission& action);
  void Do(const decide::StartAttempt& action);
  void Do(const decide::CancelAttempt& action);
  void Do(const decide::Commit& action);
  void Do(const decide::SettleCircuit& action);
  void Do(const decide::ReportVerdict& action);
  void Do(const decide::WaitForSlot& action);
  void Do(const decide::Finish& action);

  // In front of the route (call_gate.cc).
  void AskGate();
  void RefuseAtGate(const GateAnswer& answer);

  void FindRoute();
  /// A direct name may be of a model that its provider has only just got (R84).
  void NoteUnknownModel();
  void NoteSkips();
  void ReadWords(Attempt& attempt, decide::AttemptEnd* end);
  decide::Plan MakePlan() const;

  // What an attempt must hold (call_admission.cc).
  static std::string_view SkipDetail(bool provider_wide);
  bool AcquireSlot(Attempt& attempt, int candidate, TimePoint now);
  void EndSlot(Attempt& attempt, const decide::ReportVerdict& action, TimePoint now);
  void TakeSlot();
  void DropSlot();

  void ArmTimer();
  void OnTimer();
  Attempt& At(int index);
  void EnsureAttempt(int index, int candidate);

  // The answer (call_answer.cc).
  void Refuse(const decide::TerminalAnswer& answer);
  AnswerHead MakeHead(int status, const Attempt* attempt) const;
  void WriteHead(AnswerHead head);
  void WriteOwnHead(int status, std::optional<int> retry_after, const Attempt* attempt);
  void WriteProviderHead(const Attempt& attempt);
  void WriteServed(const decide::Finish& action, Attempt& attempt);
  void WriteBroken(const decide::TerminalAnswer& answer, Attempt& attempt);
  void WriteRefusal(const decide::TerminalAnswer& answer, Attempt& attempt);
  void WriteTerminal(const decide::TerminalAnswer& answer, const Attempt* attempt);

  // The debug log (call_debug.cc).
  class DebugLine;
  bool Explains(std::string_view source) const;
  void ExplainRoute() const;
  void ExplainStart(const Attempt& attempt, Duration connect_timeout) const;
  void ExplainEnd(const Attempt& attempt, const decide::AttemptEnd& end) const;
  void ExplainRetryWait(int attempt) const;
  void ExplainSlotWait(std::size_t candidates) const;
  void ExplainRefusal(const Candidate& candidate, Refusal refusal, TimePoint retry_at) const;
  void ExplainVerdict(const Attempt& attempt, const CircuitReport& report) const;
  void ExplainFinish() const;

  // The log and the record (call_record.cc).
  void TellSkip(const Candidate& candidate, std::string_view why);
  void TellFailover();
  std::optional<TokenUsage> UsageOf(const Attempt& attempt);
  void NoteModel();
  void HideKey();
  std::int64_t PromptEstimate();
  std::int64_t CostEstimate();
  void AddCost(AttemptRecord* record);
  void Complete(const AnswerEnd& end, int status, std::string message, const Attempt* attempt);
  void AddSkip(const Candidate& candidate, std::string_view detail, BreakerEffect effect,
               ErrorKind kind);

  std::shared_ptr<RouterParts> parts_;
  const RouterDeps& deps_;  // of parts_
  RouteRequest request_;
  absl::StatusOr<wire::RequestPeek> peek_;
  std::shared_ptr<StreamSink> sink_;
  std::uint64_t seed_;
  std::function<void()> on_change_;

  std::unique_ptr<GatePass> pass_;  // until the end; null when nothing limits the request
  std::shared_ptr<const Settings> settings_;
  std::shared_ptr<const GroupSnapshot> snapshot_;
  Route route_;
  std::unique_ptr<decide::AttemptMachine> machine_;
  std::vector<std::unique_ptr<Attempt>> attempts_;  // by attempt index; null for refused ones
  std::deque<decide::Event> events_;
  bool driving_ = false;

  TimePoint arrival_{};
  Loop::TimerId timer_ = 0;
  std::optional<TimePoint> timer_at_;
  int contacted_ = 0;
  int keyed_candidate_ = -1;  // the one contacted first: it alone gets the idempotency key
  std::shared_ptr<std::atomic<bool>> finished_ = std::make_shared<std::atomic<bool>>(false);
  bool client_paused_ = false;
  bool told_running_ = false;
  SlotWait slot_wait_;             // while the machine waits for a slot
  std::vector<int> slot_targets_;  // the candidates of its lines
  std::uint64_t seniority_ = 0;    // its place in them
  InflightSlot held_slot_;         // handed over, for the question that follows
  std::vector<bool> busy_noted_;   // by candidate: its record has the skip
  int sent_status_ = 0;            // 0 = no head yet
  std::optional<Duration> ttft_;
  std::optional<std::int64_t> prompt_estimate_;
  TimePoint failed_at_{};
  bool failure_untold_ = false;  // the last record's attempt failed, and nobody was asked since
  bool names_key_ = false;       // the request has something like a key for a model
  RequestRecord record_;
};

}  // namespace hotel::route

#endif  // HOTEL_ROUTE_CALL_H_
