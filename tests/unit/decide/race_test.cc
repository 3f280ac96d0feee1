// Streaming candidates that run against each other (facts f "Hedging"; decisions 10).
#include <set>
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/decide/machine_run.h"

namespace hotel::decide::test {
namespace {

EngineSettings WithHedging(Duration delay = seconds(4)) {
  EngineSettings s = FailoverFirst();
  s.hedging.enabled = true;
  s.hedging.delay = delay;
  return s;
}

struct Race : MachineRun {
  explicit Race(int candidates, EngineSettings s = WithHedging())
      : MachineRun(candidates, true, std::move(s)) {}
  /// Begins, and lets `more` delays pass.
  Race& Launch(int more = 0) {
    Go();
    for (int i = 0; i < more; ++i) {
      Sleep();
      REQUIRE(Words() == "ask start");
    }
    return *this;
  }
  void EndOf(int index, const AttemptEnd& end) { Feed(Ended{index, end}); }
  /// The attempts that the last event cancelled.
  std::set<int> Cancelled() const {
    std::set<int> found;
    for (const Action& action : actions) {
      if (const auto* cancel = std::get_if<CancelAttempt>(&action)) found.insert(cancel->attempt);
    }
    return found;
  }
  /// What the last event said about an attempt.
  const ReportVerdict* About(int index) const {
    for (const Action& action : actions) {
      const auto* verdict = std::get_if<ReportVerdict>(&action);
      if (verdict != nullptr && verdict->attempt == index) return verdict;
    }
    return nullptr;
  }
};

AttemptEnd Status(int status) { return End(EndKind::kHttpError, status); }

}  // namespace

TEST_CASE("facts f: the first at once, the next with each delay without a first output") {
  Race run(3);
  run.Launch();
  CHECK(run.Words() == "ask start");
  CHECK(run.machine->racing());
  for (int n = 1; n < 3; ++n) {
    CHECK(run.machine->next_wake() == run.plan.arrival + seconds(4 * n));
    run.Sleep();
    CHECK(run.Words() == "ask start");
    CHECK(run.Get<StartAttempt>()->candidate == n);
    CHECK(run.Get<StartAttempt>()->attempt == n);
  }
  // Nobody is left to be sent: the next thing is the first head's limit.
  CHECK(run.machine->next_wake() == run.plan.arrival + seconds(30));
}

TEST_CASE("facts f: the delay is at least 100 ms whatever is configured") {
  for (const Duration delay : {Duration::zero(), Duration(milliseconds(99))}) {
    Race run(2, WithHedging(delay));
    run.Launch();
    CHECK(run.machine->next_wake() == run.now + milliseconds(100));
  }
}

TEST_CASE("B12 when nobody more may join, the race's delay wakes nobody again") {
  for (const bool enabled : {true, false}) {
    EngineSettings settings = WithHedging();
    settings.failover.enabled = enabled;
    settings.failover.max_attempts = 1;
    Race run(4, settings);
    run.Launch(enabled ? 1 : 0);
    run.now = run.plan.arrival + seconds(20);  // behind every delay
    run.Feed(Wake{});
    CHECK(run.Words().empty());
    REQUIRE(run.machine->next_wake().has_value());
    CHECK(*run.machine->next_wake() > run.now);
  }
}

TEST_CASE("facts f: only streams, only with a choice, only when switched on") {
  MachineRun whole(2, false, WithHedging());
  CHECK_FALSE(whole.Go().machine->racing());
  MachineRun one(1, true, WithHedging());
  CHECK_FALSE(one.Go().machine->racing());
  MachineRun off(2, true);
  CHECK_FALSE(off.Go().machine->racing());
}

TEST_CASE("facts f: who fails makes room for the next at once, without a pause") {
  Race run(3);
  run.Launch(1);
  run.now += seconds(1);
  run.EndOf(1, Status(500));
  CHECK(run.Words() == "verdict ask start");
  CHECK(run.Get<StartAttempt>()->candidate == 2);
  CHECK(run.verdict().hedged);
  run.EndOf(2, Status(500));
  CHECK(run.Words() == "verdict");  // candidate 0 still runs
  run.EndOf(0, Status(503));
  CHECK(run.Words() == "verdict finish");
  CHECK(run.Terminal().status == 503);
  CHECK(run.finish().contacted == 3);
}

TEST_CASE("facts f: the delay of the one after runs from the launch") {
  Race run(3);
  run.Launch();
  run.now += seconds(3);
  run.EndOf(0, Status(500));
  CHECK(run.machine->next_wake() == run.now + seconds(4));
}

TEST_CASE("facts f: a failed probe makes room as well") {
  EngineSettings settings = WithHedging(seconds(60));
  settings.timeouts.ttft_timeout = seconds(3);
  settings.timeouts.upstream_header_timeout = {};
  Race run(2, settings);
  run.Launch();
  run.Sleep();
  CHECK(run.Words() == "cancel verdict ask start");
  CHECK(run.About(0)->report.cause == "TTFT probe failed");
  CHECK(run.About(0)->hedged);
}

TEST_CASE("facts f: first output wins: one commit, the others cancelled and abandoned") {
  for (int winner = 0; winner < 3; ++winner) {
    Race run(3);
    run.Launch(2);
    run.Feed(FirstOutput{winner});
    CHECK(run.Words() == "cancel verdict cancel verdict commit");
    CHECK(run.Get<Commit>()->attempt == winner);
    for (int loser = 0; loser < 3; ++loser) {
      if (loser == winner) continue;
      CHECK(run.Cancelled().count(loser) == 1);
      REQUIRE(run.About(loser) != nullptr);
      CHECK(run.About(loser)->report.verdict == Verdict::kAbandoned);
      CHECK(run.About(loser)->kind == ErrorKind::kHedgeSuperseded);
      CHECK(run.About(loser)->hedged);
      CHECK_FALSE(run.About(loser)->clean);
    }
    for (int loser = 0; loser < 3; ++loser) {
      if (loser == winner) continue;
      run.EndOf(loser, End(EndKind::kAnswer));  // on its way
      CHECK(run.Words().empty());
      run.Feed(FirstOutput{loser});
      CHECK(run.Words().empty());
    }
    run.EndOf(winner, End(EndKind::kAnswer));
    CHECK(run.Words() == "verdict finish");
    CHECK(run.verdict().report.verdict == Verdict::kSuccess);
    CHECK(run.verdict().hedged);
    CHECK(run.finish().attempt == winner);
    CHECK(run.finish().contacted == 3);
    CHECK(run.Count<Commit>() == 1);
  }
}

TEST_CASE("facts f: nobody is sent behind the commit") {
  Race run(3);
  run.Launch();
  run.Feed(FirstOutput{0});
  run.Advance(seconds(20));
  CHECK(run.Words().empty());
  run.EndOf(0, End(EndKind::kStreamCut));
  CHECK(run.Words() == "verdict finish");
  CHECK(run.finish().how == How::kServedBroken);
}

TEST_CASE("facts f: a completed empty answer wins") {
  for (const EndKind kind : {EndKind::kEmptyCharged, EndKind::kAnswer}) {
    Race run(2);
    run.Launch(1);
    run.EndOf(1, End(kind));
    CHECK(run.Words() == "verdict cancel verdict commit finish");
    CHECK(run.About(0)->kind == ErrorKind::kHedgeSuperseded);
    CHECK(run.About(1)->report.verdict ==
          (kind == EndKind::kAnswer ? Verdict::kSuccess : Verdict::kFailure));
    CHECK(run.finish().attempt == 1);
    CHECK(run.finish().how == How::kServed);
  }
}

TEST_CASE("facts f: a loser that had failed before keeps its own verdict") {
  Race run(2);
  run.Launch(1);
  run.EndOf(0, End(EndKind::kEmptyStream));
  CHECK(run.About(0)->report.verdict == Verdict::kFailure);
  run.Feed(FirstOutput{1});
  CHECK(run.Words() == "commit");
}

TEST_CASE("decisions 10: an answer that does not fail over ends the race and is the answer") {
  for (const AttemptEnd& end : {Status(400), Status(422), End(EndKind::kHiddenError, 400)}) {
    Race run(3);
    run.Launch(1);
    run.EndOf(1, end);
    CHECK(run.Words() == "verdict cancel verdict finish");
    CHECK(run.About(0)->kind == ErrorKind::kHedgeSuperseded);
    CHECK(run.About(1)->report.verdict == Verdict::kAlive);
    CHECK(run.finish().how == How::kProviderError);
    CHECK(run.finish().attempt == 1);
    CHECK(run.finish().status == end.status);
  }
}

TEST_CASE("B11 judge first in a race: the first contacted one's error ends it, a later one's not") {
  EngineSettings settings = WithHedging();
  settings.failover.judge = FailoverSettings::Judge::kFirst;
  Race first(3, settings);
  first.Launch(1);
  first.EndOf(0, Status(400));
  CHECK(first.Words() == "verdict cancel verdict finish");
  CHECK(first.finish().status == 400);
  Race later(3, settings);
  later.Launch(1);
  later.EndOf(1, Status(400));
  CHECK(later.Words() == "verdict ask start");
}

TEST_CASE("decisions 10: all probes timed out: 502, each charged") {
  EngineSettings settings = WithHedging();
  settings.timeouts.upstream_header_timeout = {};
  settings.timeouts.ttft_timeout = seconds(10);
  settings.failover.last_candidate_statuses.AddClass(5);
  Race run(2, settings);
  run.Launch(1);
  run.Feed(HeadSeen{0, 200});
  run.Sleep();
  CHECK(run.Words() == "cancel verdict");
  CHECK(run.now == run.plan.arrival + seconds(10));
  run.Sleep();
  CHECK(run.Words() == "cancel verdict finish");
  CHECK(run.verdict().report.verdict == Verdict::kFailure);
  CHECK(run.Terminal().status == 502);
  CHECK(run.finish().reason == Reason::kAllFailed);
}

TEST_CASE("decisions 10: probes that time out at one instant: one wake ends them all") {
  EngineSettings settings = WithHedging();
  settings.timeouts.upstream_header_timeout = {};
  settings.timeouts.ttft_timeout = seconds(10);
  Race run(2, settings);
  run.Launch(1);
  run.Advance(seconds(60));  // a wake that comes too late
  CHECK(run.Words() == "cancel verdict cancel verdict finish");
  CHECK(run.Terminal().status == 502);
}

TEST_CASE("facts f: the overall deadline ends the race: 504, each charged") {
  EngineSettings settings = WithHedging();
  settings.timeouts.request_timeout = seconds(1);  // 10 s an attempt
  settings.timeouts.deadline_factor = 1;
  Race run(3, settings);
  run.Launch(2);
  run.Advance(seconds(2));
  CHECK(run.Words() == "cancel verdict cancel verdict cancel verdict finish");
  for (int index = 0; index < 3; ++index) {
    CHECK(run.About(index)->report.verdict == Verdict::kFailure);
    CHECK(run.About(index)->kind == ErrorKind::kFailoverTimeout);
  }
  CHECK(run.finish().reason == Reason::kDeadline);
  CHECK(run.Terminal().status == 504);
  CHECK(run.machine->last_timeout() == TimeoutKind::kOverall);
}

TEST_CASE("facts f: busy and open ones are passed over at once, the delay is for who runs") {
  Race run(4);
  run.refuse[1] = Busy();
  run.refuse[2] = Open(run.now + seconds(9));
  run.Launch();
  run.Sleep();
  CHECK(run.Words() == "ask ask ask start");
  CHECK(run.Get<StartAttempt>()->candidate == 3);
  CHECK(run.Get<StartAttempt>()->attempt == 1);

  Race first(2);
  first.refuse[0] = Busy();
  first.Launch();
  CHECK(first.Words() == "ask ask start");
  CHECK(first.Get<StartAttempt>()->candidate == 1);
}

TEST_CASE("facts f: all that ran failed and one is busy: the bounded line, then one by one") {
  EngineSettings settings = WithHedging();
  Race run(3, settings);
  run.refuse[1] = Busy();
  run.Launch(0);
  run.Sleep();
  CHECK(run.Get<StartAttempt>()->candidate == 2);
  run.EndOf(0, Status(500));
  CHECK(run.Words() == "verdict");
  run.EndOf(1, Status(500));
  CHECK(run.Words() == "verdict wait");
  CHECK_FALSE(run.machine->racing());
  run.refuse.clear();
  run.Feed(SlotFree{1});
  CHECK(run.Words() == "ask start");
  CHECK(run.Get<StartAttempt>()->attempt == 2);
  run.Feed(FirstOutput{2});
  run.EndOf(2, End(EndKind::kAnswer));
  CHECK_FALSE(run.verdict().hedged);
  CHECK(run.finish().how == How::kServed);
}

TEST_CASE("seed 000: hedging never makes a merely saturated group fail faster") {
  Race run(2);
  run.refuse[0] = run.refuse[1] = Busy();
  run.Launch();
  CHECK(run.Words() == "ask ask wait");
  run.Sleep();
  CHECK(run.now == run.plan.arrival + seconds(60));
  CHECK(run.finish().reason == Reason::kAllBusy);
}

TEST_CASE("a delay that was left over from the race wakes nobody in the line") {
  Race run(2, WithHedging(seconds(9)));
  run.refuse[1] = Busy();
  run.Launch();
  run.now += seconds(1);
  run.EndOf(0, Status(500));
  CHECK(run.Words() == "verdict ask wait");
  CHECK(run.machine->next_wake() == run.now + seconds(60));
}

TEST_CASE("the last that failed in a race is asked once more, alone") {
  EngineSettings settings = WithHedging();
  settings.failover.last_candidate_statuses.AddCode(503);
  Race run(2, settings);
  run.Launch(1);
  run.EndOf(1, Status(503));
  CHECK(run.Words() == "verdict");
  run.EndOf(0, Status(503));
  CHECK(run.Words() == "verdict");
  run.Sleep();
  CHECK(run.Words() == "ask start");
  CHECK(run.Get<StartAttempt>()->candidate == 0);
  CHECK(run.Get<StartAttempt>()->attempt == 2);
}

TEST_CASE("client gone in a race: all stopped, all abandoned") {
  Race run(3);
  run.Launch(2);
  run.Feed(ClientGone{});
  CHECK(run.Words() == "cancel verdict cancel verdict cancel verdict finish");
  for (int index = 0; index < 3; ++index) {
    CHECK(run.About(index)->report.verdict == Verdict::kAbandoned);
    CHECK(run.About(index)->kind == ErrorKind::kClientDisconnect);
  }
  CHECK(run.finish().how == How::kClientGone);
}

TEST_CASE("facts f: a client that leaves behind a stall in the race leaves that one charged") {
  EngineSettings settings = WithHedging();
  settings.timeouts.upstream_header_timeout = {};
  settings.timeouts.ttft_timeout = seconds(5);
  Race run(2, settings);
  run.Launch(1);
  run.now += seconds(2);  // 6 s for the first, 2 s for the second; the wake is late
  run.Feed(ClientGone{});
  CHECK(run.About(0)->report.verdict == Verdict::kFailure);
  CHECK(run.About(1)->report.verdict == Verdict::kAbandoned);
}

TEST_CASE("shutdown in a race: all stopped, charged to nobody, 503") {
  Race run(2);
  run.Launch(1);
  run.Feed(Shutdown{});
  CHECK(run.Words() == "cancel verdict cancel verdict finish");
  for (int index = 0; index < 2; ++index) {
    CHECK(run.About(index)->report.verdict == Verdict::kAbandoned);
    CHECK(run.About(index)->kind == ErrorKind::kInternal);
  }
  CHECK(run.Terminal().status == 503);
}

TEST_CASE("a permit that comes when another has won is given back") {
  Race run(2);
  run.admit = false;
  run.Go();
  run.Feed(Admitted{0});
  run.Sleep();
  CHECK(run.Words() == "ask");
  run.Feed(FirstOutput{0});
  CHECK(run.Words() == "commit");
  run.Feed(Admitted{1});
  CHECK(run.Words() == "verdict");
  CHECK(run.About(1)->report.verdict == Verdict::kAbandoned);
  CHECK(run.About(1)->kind == ErrorKind::kHedgeSuperseded);
  run.EndOf(0, End(EndKind::kAnswer));
  CHECK(run.finish().contacted == 1);
}

TEST_CASE("one question at a time, also when somebody fails meanwhile") {
  Race run(3);
  run.admit = false;
  run.Go();
  run.Feed(Admitted{0});
  run.Sleep();
  CHECK(run.Words() == "ask");
  run.EndOf(0, Status(500));
  CHECK(run.Words() == "verdict");
  run.Feed(Refused{1, run.now + seconds(1)});
  CHECK(run.Words() == "ask");
  CHECK(run.Get<AskAdmission>()->candidate == 2);
}

TEST_CASE("tries inside a race: the wait for the next try is that attempt's alone") {
  EngineSettings settings = WithHedging();
  settings.retry.max_retries = 1;
  settings.retry.initial_backoff = settings.retry.max_backoff = seconds(6);
  Race run(2, settings);
  run.Launch();
  run.EndOf(0, Transport(TransportError::kInterrupted, TransportPhase::kSent));
  CHECK(run.Words().empty());
  run.Sleep();
  CHECK(run.Get<StartAttempt>()->attempt == 1);  // the delay
  run.Sleep();
  CHECK(run.Words() == "start");
  CHECK(run.Get<StartAttempt>()->attempt == 0);  // the next try
  run.Feed(FirstOutput{0});
  CHECK(run.Cancelled() == std::set<int>{1});

  Race waiting(2, settings);
  waiting.Launch();
  waiting.EndOf(0, Transport(TransportError::kInterrupted, TransportPhase::kSent));
  waiting.Sleep();
  waiting.Feed(FirstOutput{1});
  CHECK(waiting.Cancelled() == std::set<int>{0});  // between its tries
}

TEST_CASE("who cannot be sent makes room at once and is not counted") {
  Race run(3);
  run.Launch();
  run.Feed(Unsendable{0});
  CHECK(run.Words() == "verdict ask start");
  CHECK(run.Get<StartAttempt>()->candidate == 1);
  run.Feed(FirstOutput{1});
  run.EndOf(1, End(EndKind::kAnswer));
  CHECK(run.finish().contacted == 1);
}

TEST_CASE("decisions 10: stream_verdict start settles the winner alone") {
  EngineSettings settings = WithHedging();
  settings.circuit_breaker.stream_verdict = CircuitBreakerSettings::StreamVerdict::kStart;
  Race run(2, settings);
  run.Launch(1);
  run.Feed(FirstOutput{1});
  CHECK(run.Words() == "cancel verdict commit settle");
  CHECK_FALSE(run.About(0)->settled);
  CHECK(run.Get<SettleCircuit>()->attempt == 1);
}

}  // namespace hotel::decide::test
