// Drives one attempt machine by hand: virtual time, events in, the actions of the last event out.
#ifndef HOTEL_TESTS_UNIT_DECIDE_MACHINE_RUN_H_
#define HOTEL_TESTS_UNIT_DECIDE_MACHINE_RUN_H_

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "hotel/settings.h"

#include "libhotel/decide/attempt_machine.h"
#include "libhotel/decide/terminal.h"

namespace hotel::decide::test {

using std::chrono::milliseconds;
using std::chrono::seconds;
using EndKind = AttemptEnd::Kind;
using How = Finish::How;
using Reason = Finish::Reason;

/// The defaults of failover_first, written out so that a test reads on its own; without repeats of
/// any kind.
inline EngineSettings FailoverFirst() {
  EngineSettings s;
  for (int code : {401, 402, 403, 404, 429, 499}) s.failover.retry_on_statuses.AddCode(code);
  s.failover.retry_on_statuses.AddClass(5);
  s.failover.backoff_initial = milliseconds(100);
  s.failover.backoff_max = seconds(2);
  s.failover.wait_saturated = false;
  s.rate_limit.saturation_max_wait = seconds(60);
  s.timeouts.request_timeout = seconds(60);
  s.timeouts.long_factor = 10;
  s.timeouts.deadline_factor = 2;
  s.timeouts.ttft_timeout = seconds(60);
  s.timeouts.upstream_header_timeout = seconds(30);
  s.timeouts.connect_timeout = seconds(10);
  s.circuit_breaker.timeout = seconds(60);
  for (int code : {401, 403, 429}) s.circuit_breaker.failure_on_statuses.AddCode(code);
  s.circuit_breaker.failure_on_statuses.AddClass(5);
  s.circuit_breaker.open_on_statuses.AddCode(402);
  s.circuit_breaker.neutral_on_statuses.AddCode(404).AddCode(499);
  return s;
}

inline AttemptEnd End(EndKind kind, int status = 200) {
  AttemptEnd end;
  end.kind = kind;
  end.status = status;
  return end;
}

/// A 429 that was read.
inline AttemptEnd Refusal(RefusalClass read, Duration wait = {}, bool stated = false) {
  AttemptEnd end = End(EndKind::kHttpError, 429);
  end.refusal.read = read;
  end.refusal.wait = wait;
  end.refusal.stated = stated;
  return end;
}
inline AttemptEnd Saturated(Duration wait, bool stated = true) {
  return Refusal(RefusalClass::kSaturated, wait, stated);
}
inline AttemptEnd Exhausted(Duration wait, bool stated = true) {
  return Refusal(RefusalClass::kExhausted, wait, stated);
}

/// Answers to a question that are no.
inline Refused Busy() {
  Refused refused{};
  refused.why = Refused::Why::kBusy;
  return refused;
}
inline Refused Open(TimePoint retry_at, bool pinned = false) {
  Refused refused{};
  refused.retry_at = retry_at;
  refused.pinned = pinned;
  return refused;
}

inline AttemptEnd Transport(TransportError error, TransportPhase phase, bool body_seen = false) {
  AttemptEnd end;
  end.body_seen = body_seen;
  end.kind = EndKind::kTransport;
  end.transport = error;
  end.phase = phase;
  return end;
}

class MachineRun {
 public:
  explicit MachineRun(int candidates, bool streaming = false, EngineSettings s = FailoverFirst())
      : settings(std::move(s)) {
    plan.candidates.assign(static_cast<std::size_t>(candidates), CandidatePlan{&settings});
    plan.settings = &settings;
    plan.streaming = streaming;
    plan.arrival = now;
    plan.seed = 7;
  }
  MachineRun(const MachineRun&) = delete;
  MachineRun& operator=(const MachineRun&) = delete;

  /// Feeds one event; `actions` holds what came of it, answers to AskAdmission included when
  /// `admit`.
  void Feed(const Event& event) {
    if (!machine) machine.emplace(plan);
    actions.clear();
    FeedMore(event);
  }
  /// Begins and has the first candidate started.
  MachineRun& Go() {
    Feed(Begin{});
    return *this;
  }
  void EndWith(const AttemptEnd& end) { Feed(Ended{attempt(), end}); }
  void Advance(Duration by) {
    now += by;
    Feed(Wake{});
  }
  /// Sleeps to the machine's next wake.
  void Sleep() {
    now = machine->next_wake().value();
    Feed(Wake{});
  }

  template <typename T>
  const T* Get() const {
    for (const Action& action : actions) {
      if (const T* found = std::get_if<T>(&action)) return found;
    }
    return nullptr;
  }
  /// How many such actions there were in all.
  template <typename T>
  int Count() const {
    int count = 0;
    for (const Action& action : all) count += std::holds_alternative<T>(action);
    return count;
  }
  const Finish& finish() const { return std::get<Finish>(all.back()); }
  /// The last verdict.
  const ReportVerdict& verdict() const {
    for (auto it = all.rbegin(); it != all.rend(); ++it) {
      if (const auto* found = std::get_if<ReportVerdict>(&*it)) return *found;
    }
    throw std::logic_error("no verdict");
  }
  /// The index of the attempt that was started last.
  int attempt() const {
    for (auto it = all.rbegin(); it != all.rend(); ++it) {
      if (const auto* start = std::get_if<StartAttempt>(&*it)) return start->attempt;
    }
    return -1;
  }
  /// The names of the last event's actions, in order: "cancel verdict ask".
  std::string Words() const {
    std::string words;
    for (const Action& action : actions) {
      static constexpr const char* kNames[] = {"ask",    "start",   "cancel", "commit",
                                               "settle", "verdict", "wait",   "finish"};
      words += (words.empty() ? "" : " ") + std::string(kNames[action.index()]);
    }
    return words;
  }
  TerminalAnswer Terminal() const {
    return MakeTerminal(finish(), TerminalNames{"hotel/glm-4.6", "acme"}, now);
  }

  EngineSettings settings;
  Plan plan;
  TimePoint now{std::chrono::hours(1)};
  bool admit = true;
  bool probe = false;  ///< half-open circuits admit
  /// Candidates whose question is answered like this instead; the attempt is filled in.
  std::map<int, Refused> refuse;
  std::optional<AttemptMachine> machine;
  std::vector<Action> actions;  ///< of the last event
  std::vector<Action> all;

 private:
  void FeedMore(const Event& event) {
    std::vector<Action> out;
    machine->Handle(event, now, &out);
    for (const Action& action : out) {
      actions.push_back(action);
      all.push_back(action);
      const auto* ask = std::get_if<AskAdmission>(&action);
      if (ask == nullptr) continue;
      if (const auto found = refuse.find(ask->candidate); found != refuse.end()) {
        Refused refused = found->second;
        refused.attempt = ask->attempt;
        FeedMore(refused);
      } else if (admit) {
        FeedMore(Admitted{ask->attempt, probe});
      }
    }
  }
};

}  // namespace hotel::decide::test

#endif  // HOTEL_TESTS_UNIT_DECIDE_MACHINE_RUN_H_
