#include "tests/model/world.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "hotel/circuit_breaker.h"
#include "hotel/settings.h"

#include "libhotel/decide/attempt_machine.h"
#include "tests/model/call_checker.h"
#include "tests/model/random_inputs.h"
#include "tests/model/shadow_limiter.h"

namespace hotel::model {
namespace {

using std::chrono::milliseconds;
using State = CallChecker::Attempt::State;

constexpr int kProviders = 4;

// One event, or a piece of a committed stream.
struct TapeEntry {
  decide::Event event;
  TimePoint at;
  bool progress = false;
  std::uint64_t frames = 0;
  bool whole = false;
};

struct SimCall {
  SimCall(decide::Plan made, std::vector<int> to)
      : plan(std::move(made)), providers(std::move(to)), machine(plan), checker(&plan) {}
  SimCall(const SimCall&) = delete;
  SimCall& operator=(const SimCall&) = delete;

  decide::Plan plan;
  std::vector<int> providers;  // of each candidate
  decide::AttemptMachine machine;
  CallChecker checker;
  std::vector<std::pair<int, int>> slots;  // attempt, provider: held until the verdict
  std::optional<int> granted;              // provider: held for the next question
  std::vector<TapeEntry> tape;
  std::uint64_t frames = 0;
  bool whole = false;
  std::uint64_t actions = 0;
  std::uint64_t fingerprint = 0;
};

class World {
 public:
  World(std::uint64_t seed, Coverage* coverage)
      : dice_(seed),
        coverage_(coverage),
        global_(RandomSettings(dice_, &unit_)),
        other_(dice_.OneIn(2) ? global_ : RandomSettings(dice_, &other_unit_)),
        limiter_(kProviders, dice_) {}

  std::string Play() {
    const int calls = 1 + dice_.Below(3);
    for (int i = 0; i < calls; ++i) AddCall();
    for (int step = 0; step < 120 && broken_.empty() && !AllFinished(); ++step) {
      Step();
      GrantSlots();
    }
    // The tape is out: time alone brings every request to its end.
    for (int step = 0; step < 300 && broken_.empty() && !AllFinished(); ++step) {
      for (SimCall& call : calls_) {
        if (call.checker.paused()) Feed(call, decide::ClientPaused{false});
        while (call.checker.question() && broken_.empty()) Answer(call);
      }
      GrantSlots();
      MoveTime(/*to_wake=*/true);
    }
    Require(AllFinished(), "time alone ends every request");
    Require(limiter_.own() == 0, "slots return to zero");
    for (SimCall& call : calls_) {
      Require(call.slots.empty(), "permits return to zero");
      if (dice_.OneIn(4)) Replay(call);
      Count(call);
    }
    return broken_;
  }

 private:
  void Require(bool condition, const char* what) {
    if (!condition && broken_.empty()) broken_ = what;
  }
  static std::size_t At(int index) { return static_cast<std::size_t>(index); }

  bool AllFinished() const {
    return std::all_of(calls_.begin(), calls_.end(),
                       [](const SimCall& call) { return call.machine.finished(); });
  }

  void AddCall() {
    decide::Plan plan;
    plan.settings = &global_;
    plan.streaming = dice_.OneIn(2);
    plan.long_running = dice_.OneIn(4);
    plan.races = !dice_.OneIn(4);
    plan.replay_safe = !dice_.OneIn(6);
    plan.arrival = now_ - (dice_.OneIn(16) ? unit_ * 150 : Duration::zero());
    plan.seed = dice_.Bits();
    plan.direct = dice_.OneIn(6);
    const int count = plan.direct ? 1 : dice_.Below(kProviders + 1);
    std::vector<int> providers;
    for (int i = 0; i < count; ++i) {
      providers.push_back(dice_.Below(kProviders));
      plan.candidates.push_back(decide::CandidatePlan{dice_.OneIn(2) ? &global_ : &other_});
    }
    if (plan.direct) plan.settings = plan.candidates.front().settings;
    if (!plan.direct && dice_.OneIn(4)) {
      plan.skipped_open = 1 + dice_.Below(2);
      plan.skipped_pinned = dice_.Below(plan.skipped_open + 1);
      plan.earliest_retry = now_ + unit_ * 40;
    }
    calls_.emplace_back(std::move(plan), std::move(providers));
    Feed(calls_.back(), decide::Begin{});
  }

  void Step() {
    SimCall& call = calls_[At(dice_.Below(static_cast<int>(calls_.size())))];
    switch (dice_.Below(24)) {
      case 0:
      case 1:
      case 2:
        return MoveTime(/*to_wake=*/false);
      case 3:
        return MoveTime(/*to_wake=*/true);
      case 5:
        return Stray(call);
      case 6:
        return limiter_.Stir(dice_);
      case 7:
        if (dice_.OneIn(4)) return Feed(call, decide::ClientGone{});
        if (dice_.OneIn(8)) return Feed(call, decide::Shutdown{});
        if (calls_.size() < 5) AddCall();
        return;
      default:
        break;
    }
    // An open question mostly comes first, as with a breaker that answers on the spot.
    if (call.checker.question() && !dice_.OneIn(8)) return Answer(call);
    if (call.checker.committed() && dice_.OneIn(2)) return Flow(call);
    const int attempt = PickAttempt(call, State::kRunning);
    if (attempt < 0) return Feed(call, decide::Wake{});
    Upstream(call, attempt);
  }

  void Upstream(SimCall& call, int attempt) {
    switch (dice_.Below(12)) {
      case 0:
      case 1:
        return Feed(call, decide::HeadSeen{attempt, dice_.OneIn(3) ? 500 : 200});
      case 2:
        return Feed(call, decide::FirstEvent{attempt});
      case 3:
      case 4:
        return Feed(call, decide::FirstOutput{attempt});
      case 5:
        if (dice_.OneIn(3)) return Feed(call, decide::Unsendable{attempt});
        return;
      case 6:
      case 7:
        return;
      default:
        return Feed(call, decide::Ended{attempt, RandomEnd(dice_, unit_)});
    }
  }

  // A committed stream moves, or its client stops and goes on taking.
  void Flow(SimCall& call) {
    if (call.machine.finished()) return;
    if (dice_.OneIn(3)) return Feed(call, decide::ClientPaused{!call.checker.paused()});
    call.frames += static_cast<std::uint64_t>(dice_.Pick<int, 3>({0, 1, 60}));
    call.whole = dice_.OneIn(3);
    call.machine.Progress(now_, call.frames, call.whole);
    call.tape.push_back({decide::Wake{}, now_, true, call.frames, call.whole});
  }

  int PickAttempt(const SimCall& call, State state) {
    const auto& attempts = call.checker.attempts();
    if (attempts.empty()) return -1;
    const int count = static_cast<int>(attempts.size());
    const int first = dice_.Below(count);
    for (int i = 0; i < count; ++i) {
      const int index = (first + i) % count;
      if (attempts[At(index)].state == state) return index;
    }
    return -1;
  }

  // Events that are late, early or about attempts that never were: they must change nothing.
  void Stray(SimCall& call) {
    int wrong =
        dice_.OneIn(2) ? PickAttempt(call, State::kOver) : PickAttempt(call, State::kBetweenTries);
    if (wrong < 0) wrong = static_cast<int>(call.checker.attempts().size()) + 1;
    const std::uint64_t before = call.actions;
    switch (dice_.Below(9)) {
      case 0:
        Feed(call, decide::HeadSeen{wrong, 200});
        break;
      case 1:
        Feed(call, decide::FirstOutput{wrong});
        break;
      case 2:
        Feed(call, decide::Ended{wrong, RandomEnd(dice_, unit_)});
        break;
      case 3:
        Feed(call, decide::Unsendable{wrong});
        break;
      case 4:
        Feed(call, decide::Begin{});
        break;
      case 5:
        Feed(call, decide::FirstEvent{wrong});
        break;
      case 6:
        if (call.checker.line()) return;
        Feed(call, decide::SlotFree{dice_.Below(kProviders)});
        break;
      case 7:
        if (call.checker.question()) return;
        Feed(call, decide::Admitted{wrong, dice_.OneIn(2)});
        break;
      default:
        if (call.checker.question()) return;
        Feed(call, decide::Refused{wrong, now_ + milliseconds(1)});
        break;
    }
    Require(call.actions == before, "stray events change nothing");
  }

  void Answer(SimCall& call) {
    const decide::AskAdmission ask = *call.checker.question();
    const int provider = call.providers[At(ask.candidate)];
    const auto* own = call.plan.candidates[At(ask.candidate)].settings;
    const bool blocks = !call.plan.direct || own->circuit_breaker.block_direct;
    using Why = decide::Refused::Why;
    if (blocks && dice_.OneIn(6)) {
      const bool full = dice_.OneIn(4);
      return Refuse(call, {ask.attempt, now_ + unit_ * dice_.Pick<int, 3>({0, 9, 900}),
                           full ? Why::kCapacity : Why::kCircuit, dice_.OneIn(2)});
    }
    if (call.granted) {
      Require(*call.granted == provider, "a slot is used where it was waited for");
      call.granted.reset();
    } else if (limiter_.Room(provider)) {
      limiter_.Take(provider);
    } else {
      return Refuse(call, {ask.attempt, now_, Why::kBusy, false});
    }
    call.slots.emplace_back(ask.attempt, provider);
    const bool probe = blocks && dice_.OneIn(8);
    if (probe) ++coverage_->probes;
    Feed(call, decide::Admitted{ask.attempt, probe});
  }

  void Refuse(SimCall& call, const decide::Refused& refused) {
    DropGranted(call);
    ++coverage_->refusals[At(static_cast<int>(refused.why))];
    Feed(call, refused);
  }

  void DropGranted(SimCall& call) {
    if (!call.granted) return;
    limiter_.GiveBack(*call.granted);
    call.granted.reset();
  }

  // Who stands in line first gets the first slot, at its first candidate with room.
  void GrantSlots() {
    for (SimCall& call : calls_) {
      if (!call.checker.line() || !broken_.empty()) continue;
      const std::vector<int> line = *call.checker.line();
      const auto candidate = std::find_if(line.begin(), line.end(), [&](int index) {
        return limiter_.Room(call.providers[At(index)]);
      });
      if (candidate == line.end()) continue;
      const int provider = call.providers[At(*candidate)];
      limiter_.Take(provider);
      call.granted = provider;
      Feed(call, decide::SlotFree{*candidate});
      Require(call.checker.question() || call.machine.finished(), "a slot leads to a question");
      if (!call.checker.question()) DropGranted(call);
    }
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
      now_ += unit_ * dice_.Pick<int, 6>({0, 0, 1, 7, 40, 300});
    }
    for (SimCall& call : calls_) {
      const auto wake = call.machine.next_wake();
      // A busy loop wakes late: other events may come first.
      const bool late = !to_wake && dice_.OneIn(8);
      if (wake && *wake <= now_ && !late) Feed(call, decide::Wake{});
    }
  }

  void Feed(SimCall& call, const decide::Event& event) {
    ++coverage_->events;
    call.tape.push_back({event, now_});
    call.checker.Before(event, now_);
    actions_.clear();
    const bool finished = call.machine.finished();
    call.machine.Handle(event, now_, &actions_);
    for (const decide::Action& action : actions_) {
      ++call.actions;
      ++coverage_->actions[action.index()];
      call.fingerprint = Fingerprint(call.fingerprint, action);
      call.checker.OnAction(action);
      if (const auto* verdict = std::get_if<decide::ReportVerdict>(&action)) Settle(call, *verdict);
      if (const auto* end = std::get_if<decide::Finish>(&action)) {
        ++coverage_->hows[At(static_cast<int>(end->how))];
        ++coverage_->reasons[At(static_cast<int>(end->reason))];
        DropGranted(call);
      }
    }
    if (!finished) call.checker.After(call.machine);
    if (!call.checker.broken().empty()) Require(false, call.checker.broken().c_str());
    CountTimeout(call, event);
  }

  void Settle(SimCall& call, const decide::ReportVerdict& verdict) {
    const auto held = std::find_if(call.slots.begin(), call.slots.end(),
                                   [&](const auto& slot) { return slot.first == verdict.attempt; });
    if (held == call.slots.end()) return;  // the checker has noted it
    limiter_.GiveBack(held->second);
    if (verdict.cut) limiter_.Cut(held->second);
    call.slots.erase(held);
    ++coverage_->verdicts[At(static_cast<int>(verdict.report.verdict))];
    coverage_->superseded += verdict.kind == ErrorKind::kHedgeSuperseded;
    coverage_->cuts += verdict.cut.has_value();
    coverage_->slow += verdict.report.cause == "slow";
    coverage_->settled += verdict.settled;
  }

  void CountTimeout(const SimCall& call, const decide::Event& event) {
    const bool wake = std::holds_alternative<decide::Wake>(event);
    const bool gone = std::holds_alternative<decide::ClientGone>(event);
    if (const auto* pause = std::get_if<decide::ClientPaused>(&event)) {
      coverage_->pauses += pause->paused && call.checker.paused();
    }
    for (const decide::Action& action : actions_) {
      const auto* verdict = std::get_if<decide::ReportVerdict>(&action);
      if (verdict == nullptr) continue;
      if (gone && verdict->report.verdict != Verdict::kAbandoned) ++coverage_->overdue_when_left;
      if (!wake) continue;
      coverage_->whole_on_clock += verdict->kind == ErrorKind::kNone;
      if (const auto kind = call.machine.last_timeout()) {
        ++coverage_->timeouts[At(static_cast<int>(*kind))];
      }
    }
  }

  void Count(const SimCall& call) {
    ++coverage_->requests;
    coverage_->repeats += static_cast<std::uint64_t>(call.checker.repeats());
    coverage_->last_once_more += call.checker.repeated_last();
    coverage_->slots += call.checker.slot_used();
    coverage_->races += call.checker.raced();
  }

  void Replay(const SimCall& call) {
    decide::AttemptMachine again(call.plan);
    std::vector<decide::Action> actions;
    std::uint64_t fingerprint = 0;
    for (const TapeEntry& entry : call.tape) {
      if (entry.progress) {
        again.Progress(entry.at, entry.frames, entry.whole);
        continue;
      }
      actions.clear();
      again.Handle(entry.event, entry.at, &actions);
      for (const decide::Action& action : actions) fingerprint = Fingerprint(fingerprint, action);
    }
    Require(fingerprint == call.fingerprint, "same tape and seed, same actions");
  }

  Dice dice_;
  Coverage* coverage_;
  Duration unit_{};
  Duration other_unit_{};
  const EngineSettings global_;
  const EngineSettings other_;
  ShadowLimiter limiter_;
  std::deque<SimCall> calls_;
  std::vector<decide::Action> actions_;
  TimePoint now_{std::chrono::hours(1)};
  std::string broken_;
};

}  // namespace

std::string PlayTape(std::uint64_t seed, Coverage* coverage) {
  ++coverage->tapes;
  World world(seed, coverage);
  return world.Play();
}

}  // namespace hotel::model
