#include "tests/model/world.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "hotel/circuit_breaker.h"
#include "hotel/defaults.h"
#include "hotel/events.h"
#include "hotel/settings.h"

#include "libhotel/decide/attempt_machine.h"
#include "tests/model/call_checker.h"
#include "tests/model/random_inputs.h"
#include "tests/model/shadow_circuit.h"

namespace hotel::model {
namespace {

using std::chrono::milliseconds;

constexpr int kCircuits = 3;

class OneSettings : public SettingsSource {
 public:
  explicit OneSettings(std::shared_ptr<const Settings> settings) : settings_(std::move(settings)) {}
  std::shared_ptr<const Settings> Current() const noexcept override { return settings_; }

 private:
  std::shared_ptr<const Settings> settings_;
};

// Counts what the breaker tells.
class EventCount : public EventSink {
 public:
  void OnEvent(const Event& event) override {
    if (event.type == "circuit_breaker.open") ++opened;
    if (event.type == "circuit_breaker.closed") ++closed;
  }
  int opened = 0;
  int closed = 0;
};

struct HeldPermit {
  Permit permit;
  int circuit = 0;
  int epoch = 0;
};

struct SimCall {
  SimCall(decide::Plan made, std::vector<int> to)
      : plan(std::move(made)), circuits(std::move(to)), machine(plan), checker(&plan) {}
  SimCall(const SimCall&) = delete;
  SimCall& operator=(const SimCall&) = delete;

  decide::Plan plan;
  std::vector<int> circuits;  // of each candidate
  bool direct = false;
  decide::AttemptMachine machine;
  CallChecker checker;
  std::optional<HeldPermit> held;
  std::vector<std::pair<decide::Event, TimePoint>> tape;
  std::vector<decide::Action> actions;
};

class World {
 public:
  World(std::uint64_t seed, Coverage* coverage)
      : dice_(seed),
        coverage_(coverage),
        settings_(RandomSettings(dice_)),
        source_(settings_),
        breaker_(MakeCircuitBreaker(&source_, &events_)) {
    for (int i = 0; i < kCircuits; ++i) {
      const std::string name = "p" + std::to_string(i);
      keys_.push_back(CircuitKey{name, "m", name});
      shadows_.emplace_back(&settings_->global.circuit_breaker);
    }
  }

  std::string Play() {
    const int calls = 1 + dice_.Below(3);
    for (int i = 0; i < calls; ++i) AddCall();
    for (int step = 0; step < 60 && broken_.empty() && !AllFinished(); ++step) Step();
    // The tape is out: time alone brings every request to its end.
    for (int step = 0; step < 200 && broken_.empty() && !AllFinished(); ++step) {
      AnswerQuestions();
      MoveTime(/*to_wake=*/true);
    }
    Require(AllFinished(), "time alone ends every request");
    for (SimCall& call : calls_) {
      Require(!call.held.has_value(), "permits return to zero");
      Replay(call);
      coverage_->repeats += static_cast<std::uint64_t>(call.checker.repeats());
    }
    Require(events_.opened <= transitions_open_, "an event per opening, no more");
    Require(events_.opened >= transitions_open_, "an event per opening, no less");
    Require(events_.closed == transitions_closed_, "an event per closing");
    return broken_;
  }

 private:
  void Require(bool condition, const std::string& what) {
    if (!condition && broken_.empty()) broken_ = what;
  }

  bool AllFinished() const {
    return std::all_of(calls_.begin(), calls_.end(),
                       [](const SimCall& call) { return call.machine.finished(); });
  }

  // As a router does: in priority order, open circuits left out and remembered.
  void AddCall() {
    decide::Plan plan;
    plan.settings = &settings_->global;
    plan.streaming = dice_.OneIn(2);
    plan.arrival = now_;
    plan.seed = dice_.Bits();
    const bool direct = dice_.OneIn(6);
    const int first = dice_.Below(kCircuits);
    const int count = direct ? 1 : dice_.Below(kCircuits + 1);
    std::vector<int> circuits;
    for (int i = 0; i < count; ++i) {
      const int circuit = (first + i) % kCircuits;
      const std::optional<TimePoint> until = BlockedUntil(circuit);
      Require(until == shadows_[At(circuit)].Blocked(now_), "the skip at resolve is the circuit's");
      if (until && !direct) {
        ++plan.skipped_open;
        if (!plan.earliest_retry || *until < *plan.earliest_retry) plan.earliest_retry = until;
        continue;
      }
      circuits.push_back(circuit);
      plan.candidates.push_back(decide::CandidatePlan{&settings_->global});
    }
    calls_.emplace_back(std::move(plan), std::move(circuits));
    calls_.back().direct = direct;
    Feed(calls_.back(), decide::Begin{});
  }

  void Step() {
    SimCall& call = calls_[At(dice_.Below(static_cast<int>(calls_.size())))];
    switch (dice_.Below(16)) {
      case 0:
      case 1:
      case 2:
        return MoveTime(/*to_wake=*/false);
      case 3:
        return MoveTime(/*to_wake=*/true);
      case 4:
        if (calls_.size() < 6) AddCall();
        return;
      case 5:
        return Stray(call);
      case 6:
        if (dice_.OneIn(4)) return Feed(call, decide::ClientGone{});
        if (dice_.OneIn(8)) return Feed(call, decide::Shutdown{});
        if (dice_.OneIn(4)) return Reset();
        return;
      default:
        break;
    }
    if (call.checker.question()) return Answer(call);
    const int running = call.checker.running();
    if (running < 0) return Feed(call, decide::Wake{});
    switch (dice_.Below(8)) {
      case 0:
      case 1:
        return Feed(call, decide::HeadSeen{running, dice_.OneIn(3) ? 500 : 200});
      case 2:
      case 3:
        return Feed(call, decide::FirstOutput{running});
      case 4:
        if (!call.machine.committed() && dice_.OneIn(2)) {
          return Feed(call, decide::Unsendable{running});
        }
        return;
      default:
        return Feed(call, decide::Ended{running, RandomEnd(dice_)});
    }
  }

  // Events that are late, early or about attempts that never were: they must change nothing.
  void Stray(SimCall& call) {
    const int wrong = dice_.OneIn(2) ? call.checker.running() + 1 : call.checker.running() - 1;
    const std::size_t before = call.actions.size();
    const bool asked = call.checker.question().has_value();
    switch (dice_.Below(6)) {
      case 0:
        Feed(call, decide::HeadSeen{wrong, 200});
        break;
      case 1:
        Feed(call, decide::FirstOutput{wrong});
        break;
      case 2:
        Feed(call, decide::Ended{wrong, RandomEnd(dice_)});
        break;
      case 3:
        Feed(call, decide::Unsendable{wrong});
        break;
      case 4:
        Feed(call, decide::Begin{});
        break;
      default:
        if (asked) return;
        Feed(call, decide::Refused{call.checker.running(), now_ + milliseconds(1)});
        break;
    }
    Require(call.actions.size() == before, "stray events change nothing");
  }

  void AnswerQuestions() {
    for (SimCall& call : calls_) {
      while (call.checker.question() && broken_.empty()) Answer(call);
    }
  }

  void Answer(SimCall& call) {
    const decide::AskAdmission ask = *call.checker.question();
    const int circuit = call.circuits[At(ask.candidate)];
    ShadowCircuit& shadow = shadows_[At(circuit)];
    const std::optional<TimePoint> blocked = shadow.Blocked(now_);
    Admission admission;
    if (call.direct) {
      admission.permit = breaker_->AcquireDirect(keys_[At(circuit)], now_);
    } else {
      admission = breaker_->TryAcquire(keys_[At(circuit)], now_);
    }
    if (!admission.admitted()) {
      ++coverage_->refused;
      Require(blocked == admission.retry_at, "refused until the circuit comes back");
      return Feed(call, decide::Refused{ask.attempt, admission.retry_at});
    }
    Require(call.direct || !blocked, "an open circuit admits nobody");
    Require(admission.permit.enforced() == shadow.on(), "a permit knows the switch");
    const int before = shadow.epoch();
    const int epoch = shadow.Admit(now_);
    if (epoch != before) ++coverage_->probes;
    const bool probe = admission.permit.probe();
    Require(probe == (shadow.on() && shadow.state() == CircuitState::kHalfOpen),
            "a permit knows that it probes");
    call.held = HeldPermit{std::move(admission.permit), circuit, epoch};
    call.checker.OnAdmitted(probe);
    Feed(call, decide::Admitted{ask.attempt, probe});
  }

  void MoveTime(bool to_wake) {
    if (to_wake) {
      std::optional<TimePoint> next;
      for (const SimCall& call : calls_) {
        const auto wake = call.machine.next_wake();
        if (wake && (!next || *wake < *next)) next = wake;
      }
      if (next && *next > now_) now_ = *next;
    } else {
      now_ += milliseconds(dice_.Pick<int, 5>({0, 1, 7, 40, 300}));
    }
    for (SimCall& call : calls_) {
      const auto wake = call.machine.next_wake();
      // A busy loop wakes late: other events may come first.
      const bool late = !to_wake && dice_.OneIn(8);
      if (wake && *wake <= now_ && !late) Feed(call, decide::Wake{});
    }
  }

  void Reset() {
    const int circuit = dice_.Below(kCircuits);
    ShadowCircuit& shadow = shadows_[At(circuit)];
    const bool was_not_closed = shadow.known() && shadow.state() != CircuitState::kClosed;
    Require(breaker_->Reset(keys_[At(circuit)].provider_id, std::nullopt, now_).recovered ==
                (was_not_closed ? 1 : 0),
            "a reset counts what was not closed");
    shadow.Reset();
    CheckCircuit(circuit);
  }

  void Feed(SimCall& call, const decide::Event& event) {
    ++coverage_->events;
    call.tape.emplace_back(event, now_);
    call.checker.Before(event, now_);
    const std::size_t first = call.actions.size();
    call.machine.Handle(event, now_, &call.actions);
    for (std::size_t i = first; i < call.actions.size(); ++i) {
      const decide::Action& action = call.actions[i];
      call.checker.OnAction(action);
      if (const auto* verdict = std::get_if<decide::ReportVerdict>(&action)) Settle(call, *verdict);
    }
    call.checker.After(call.machine);
    Require(call.checker.broken().empty(), call.checker.broken());
    if (const auto* finish = call.actions.size() > first
                                 ? std::get_if<decide::Finish>(&call.actions.back())
                                 : nullptr) {
      ++coverage_->hows[At(static_cast<int>(finish->how))];
      ++coverage_->reasons[At(static_cast<int>(finish->reason))];
    }
  }

  void Settle(SimCall& call, const decide::ReportVerdict& verdict) {
    if (!call.held) return;  // the checker has noted it
    HeldPermit held = std::move(*call.held);
    call.held.reset();
    ShadowCircuit& shadow = shadows_[At(held.circuit)];
    if (held.epoch != shadow.epoch()) ++coverage_->stale_reports;
    const CircuitState before = shadow.state();
    const BreakerEffect expected = shadow.Settle(held.epoch, verdict.report.verdict, now_);
    if (shadow.state() != before && shadow.state() == CircuitState::kOpen) ++transitions_open_;
    if (shadow.state() != before && shadow.state() == CircuitState::kClosed) ++transitions_closed_;
    const BreakerEffect effect = held.permit.Report(verdict.report, now_);
    ++coverage_->effects[At(static_cast<int>(effect))];
    Require(effect == expected, "the effect of a report");
    CheckCircuit(held.circuit);
  }

  void CheckCircuit(int circuit) {
    const ShadowCircuit& shadow = shadows_[At(circuit)];
    const CircuitKey& key = keys_[At(circuit)];
    Require(BlockedUntil(circuit) == shadow.Blocked(now_), "blocked as the rules say");
    bool found = false;
    for (const CircuitView& view : breaker_->Views(now_)) {
      if (view.key.provider_id != key.provider_id) continue;
      found = true;
      Require(view.consecutive_fails == shadow.fails(), "the streak as the rules say");
      Require((view.state == CircuitState::kClosed) == (shadow.state() == CircuitState::kClosed),
              "the state as the rules say");
    }
    Require(found == shadow.known(), "a circuit is kept once it was charged or credited");
  }

  void Replay(const SimCall& call) {
    decide::AttemptMachine again(call.plan);
    std::vector<decide::Action> actions;
    for (const auto& [event, at] : call.tape) again.Handle(event, at, &actions);
    bool same = actions.size() == call.actions.size();
    for (std::size_t i = 0; same && i < actions.size(); ++i) {
      same = Print(actions[i]) == Print(call.actions[i]);
    }
    Require(same, "same tape and seed, same actions");
  }

  std::optional<TimePoint> BlockedUntil(int circuit) const {
    const std::optional<Block> block = breaker_->Blocked(keys_[At(circuit)], now_);
    if (!block) return std::nullopt;
    return block->until;
  }

  static std::size_t At(int index) { return static_cast<std::size_t>(index); }

  Dice dice_;
  Coverage* coverage_;
  std::shared_ptr<const Settings> settings_;
  OneSettings source_;
  EventCount events_;
  std::unique_ptr<CircuitBreaker> breaker_;
  std::vector<CircuitKey> keys_;
  std::vector<ShadowCircuit> shadows_;
  std::deque<SimCall> calls_;
  TimePoint now_{std::chrono::hours(1)};
  int transitions_open_ = 0;
  int transitions_closed_ = 0;
  std::string broken_;
};

}  // namespace

std::string PlayTape(std::uint64_t seed, Coverage* coverage) {
  ++coverage->tapes;
  World world(seed, coverage);
  return world.Play();
}

}  // namespace hotel::model
