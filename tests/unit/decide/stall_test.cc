// Silence behind the commit (facts f; decisions 5 and 10).
#include "tests/support/catch.h"
#include "tests/unit/decide/machine_run.h"

namespace hotel::decide::test {
namespace {

EngineSettings WithWatchdog() {
  EngineSettings s = FailoverFirst();
  s.timeouts.stream_stall_timeout = seconds(30);
  s.timeouts.stream_stall_factor = 3;
  return s;
}

/// Committed a second after it was started.
struct Stream : MachineRun {
  explicit Stream(EngineSettings s = WithWatchdog()) : MachineRun(2, true, std::move(s)) {
    Go();
    Feed(HeadSeen{0, 200});
    now += seconds(1);
    Feed(FirstOutput{0});
  }
  void Progress(std::uint64_t frames, bool whole = false) { machine->Progress(now, frames, whole); }
};

}  // namespace

TEST_CASE(
    "facts f: silence for stream_stall_timeout behind the commit is charged, the stream told") {
  Stream run;
  CHECK(run.machine->next_wake() == run.now + seconds(30));
  run.Sleep();
  CHECK(run.Words() == "cancel verdict finish");
  CHECK(run.verdict().report.verdict == Verdict::kFailure);
  CHECK(run.verdict().report.cause == "stream stalled");
  CHECK(run.verdict().kind == ErrorKind::kProviderTimeout);
  CHECK(run.finish().how == How::kServedBroken);
  CHECK(run.finish().attempt == 0);
  CHECK(run.Terminal().code == "stream_incomplete");
  CHECK(run.machine->last_timeout() == TimeoutKind::kStall);
}

TEST_CASE("facts f: anything that comes re-arms it, a wake that comes too early does nothing") {
  Stream run;
  run.now += seconds(29);
  run.Progress(2);
  CHECK(run.machine->next_wake() == run.now + seconds(30));
  run.Advance(seconds(1));
  CHECK(run.Words().empty());
  run.Advance(seconds(29));
  CHECK(run.Words() == "cancel verdict finish");
}

TEST_CASE("facts f: three times as long behind the 50th frame") {
  Stream run;
  run.Progress(50);
  CHECK(run.machine->next_wake() == run.now + seconds(30));
  run.Progress(51);
  CHECK(run.machine->next_wake() == run.now + seconds(90));
  run.Sleep();
  CHECK(run.machine->last_timeout() == TimeoutKind::kStall);
}

TEST_CASE("stream_stall_timeout 0: not watched, the attempt's own limit holds") {
  EngineSettings settings = WithWatchdog();
  settings.timeouts.stream_stall_timeout = {};
  Stream run(settings);
  CHECK(run.machine->next_wake() == run.plan.arrival + seconds(600));
}

TEST_CASE("decisions 5: silence behind a whole answer ends it well") {
  Stream run;
  run.Progress(7, /*whole=*/true);
  run.Sleep();
  CHECK(run.Words() == "cancel verdict finish");
  CHECK(run.verdict().report.verdict == Verdict::kSuccess);
  CHECK(run.verdict().kind == ErrorKind::kNone);
  CHECK(run.finish().how == How::kServed);
  CHECK_FALSE(run.verdict().clean);
}

TEST_CASE("decisions 5: the deadlines end a whole answer well, too, slow or not") {
  for (const bool slow : {false, true}) {
    EngineSettings settings = WithWatchdog();
    settings.timeouts.request_timeout = seconds(1);
    settings.timeouts.deadline_factor = 1;
    if (slow) settings.circuit_breaker.slow_call_threshold = milliseconds(500);
    Stream run(settings);
    run.Progress(7, /*whole=*/true);
    run.Advance(seconds(20));
    CHECK(run.machine->last_timeout() == TimeoutKind::kOverall);
    CHECK(run.verdict().report.cause == (slow ? "slow" : "success"));
    CHECK(run.finish().how == How::kServed);
  }
}

TEST_CASE("decisions 10: time in which the client takes nothing is not the provider's") {
  Stream run;
  run.now += seconds(10);
  run.Feed(ClientPaused{true});
  CHECK_FALSE(run.machine->next_wake().has_value());
  run.Advance(std::chrono::hours(2));
  CHECK(run.Words().empty());
  run.Feed(ClientPaused{false});
  CHECK(run.machine->next_wake() == run.now + seconds(20));
  run.Sleep();
  CHECK(run.machine->last_timeout() == TimeoutKind::kStall);
}

TEST_CASE("what still came in while the client took nothing counts from its return") {
  Stream run;
  run.Feed(ClientPaused{true});
  run.now += seconds(100);
  run.Progress(3);
  run.now += seconds(100);
  run.Feed(ClientPaused{false});
  CHECK(run.machine->next_wake() == run.now + seconds(30));
}

TEST_CASE("a pause moves the attempt's limit and the overall deadline as well") {
  EngineSettings settings = WithWatchdog();
  settings.timeouts.stream_stall_timeout = {};
  settings.timeouts.request_timeout = seconds(1);  // 10 s an attempt
  settings.timeouts.deadline_factor = 1;
  Stream run(settings);
  run.Feed(ClientPaused{true});
  run.now += seconds(60);
  run.Feed(ClientPaused{true});  // said twice
  run.Feed(ClientPaused{false});
  run.Feed(ClientPaused{false});
  CHECK(run.machine->next_wake() == run.plan.arrival + seconds(70));
  run.Sleep();
  CHECK(run.finish().reason == Reason::kDeadline);
  CHECK(run.Terminal().status == 504);
}

TEST_CASE("an end and a client that leaves are heard in a pause") {
  Stream ended;
  ended.Feed(ClientPaused{true});
  ended.EndWith(End(EndKind::kAnswer));
  CHECK(ended.finish().how == How::kServed);
  Stream gone;
  gone.Feed(ClientPaused{true});
  gone.now += std::chrono::hours(1);
  gone.Feed(ClientGone{});
  CHECK(gone.verdict().report.verdict == Verdict::kAbandoned);
}

TEST_CASE("a pause before the commit means nothing") {
  MachineRun run(1, true, WithWatchdog());
  run.Go().Feed(ClientPaused{true});
  CHECK(run.machine->next_wake().has_value());
}

TEST_CASE(
    "decisions 10: a client that leaves a silent stream abandons it, past the limit it does not") {
  Stream within;
  within.now += seconds(29);
  within.Feed(ClientGone{});
  CHECK(within.Words() == "cancel verdict finish");
  CHECK(within.verdict().report.verdict == Verdict::kAbandoned);
  CHECK(within.verdict().kind == ErrorKind::kClientDisconnect);

  Stream past;  // the wake is late
  past.now += seconds(30);
  past.Feed(ClientGone{});
  CHECK(past.Words() == "cancel verdict finish");
  CHECK(past.verdict().report.verdict == Verdict::kFailure);
  CHECK(past.verdict().report.cause == "stream stalled");
  CHECK(past.verdict().kind == ErrorKind::kProviderTimeout);
  CHECK(past.finish().how == How::kClientGone);
}

TEST_CASE("decisions 10: a client that leaves behind a probe's limit leaves a charge") {
  MachineRun run(2, true, WithWatchdog());
  run.Go().Feed(HeadSeen{0, 200});
  run.now += seconds(60);
  run.Feed(ClientGone{});
  CHECK(run.verdict().report.cause == "TTFT probe failed");
  MachineRun early(2, true, WithWatchdog());
  early.Go().Feed(HeadSeen{0, 200});
  early.now += seconds(59);
  early.Feed(ClientGone{});
  CHECK(early.verdict().report.verdict == Verdict::kAbandoned);
}

TEST_CASE("a stall under stream_verdict start is for the record alone") {
  EngineSettings settings = WithWatchdog();
  settings.circuit_breaker.stream_verdict = CircuitBreakerSettings::StreamVerdict::kStart;
  Stream run(settings);
  run.Sleep();
  CHECK(run.verdict().settled);
  CHECK(run.verdict().kind == ErrorKind::kProviderTimeout);
  CHECK(run.finish().how == How::kServedBroken);
}

}  // namespace hotel::decide::test
