// Good answers that took too long (R59 to R63; decisions 4, step 7).
#include "tests/support/catch.h"
#include "tests/unit/decide/machine_run.h"

namespace hotel::decide::test {
namespace {

EngineSettings WithThreshold() {
  EngineSettings s = FailoverFirst();
  s.circuit_breaker.slow_call_threshold = seconds(5);
  return s;
}

CircuitReport Served(MachineRun& run, Duration after) {
  run.now += after;
  run.EndWith(End(EndKind::kAnswer));
  REQUIRE(run.Words() == "verdict commit finish");
  CHECK(run.finish().how == How::kServed);
  CHECK(run.finish().kind == ErrorKind::kNone);
  return run.verdict().report;
}

}  // namespace

TEST_CASE(
    "R59 R62 slower than the threshold is charged, as slow as it is not; the client is served") {
  MachineRun slow(1, false, WithThreshold());
  const CircuitReport charged = Served(slow.Go(), seconds(5) + Duration(1));
  CHECK(charged.verdict == Verdict::kFailure);
  CHECK(charged.cause == "slow");
  CHECK(charged.status == 200);
  CHECK(slow.verdict().clean);
  CHECK(slow.verdict().kind == ErrorKind::kNone);
  MachineRun equal(1, false, WithThreshold());
  CHECK(Served(equal.Go(), seconds(5)).verdict == Verdict::kSuccess);
}

TEST_CASE("R59 threshold 0: off") {
  MachineRun run(1, false, FailoverFirst());
  CHECK(Served(run.Go(), seconds(59)).verdict == Verdict::kSuccess);
}

TEST_CASE("R60 tries that failed and the waits between them count") {
  EngineSettings settings = WithThreshold();
  settings.retry.max_retries = 1;
  settings.retry.retry_on_statuses.AddCode(503);
  settings.retry.initial_backoff = settings.retry.max_backoff = seconds(4);
  MachineRun run(1, false, settings);
  run.Go().EndWith(End(EndKind::kHttpError, 503));
  run.Sleep();
  CHECK(Served(run, seconds(2)).cause == "slow");
}

TEST_CASE("R60 the wait for a slot and other candidates do not count") {
  EngineSettings settings = WithThreshold();
  settings.failover.backoff_initial = {};
  MachineRun run(2, false, settings);
  run.Go();
  run.now += seconds(20);
  run.EndWith(End(EndKind::kHttpError, 500));
  CHECK(Served(run, seconds(4)).verdict == Verdict::kSuccess);

  MachineRun busy(1, false, settings);
  busy.refuse[0] = Busy();
  busy.Go();
  busy.refuse.clear();
  busy.now += seconds(20);
  busy.Feed(SlotFree{0});
  CHECK(Served(busy, seconds(4)).verdict == Verdict::kSuccess);
}

TEST_CASE("R60 on a stream the clock stops at the first data event of any kind") {
  MachineRun fast(1, true, WithThreshold());
  fast.Go();
  fast.now += seconds(4);
  fast.Feed(FirstEvent{0});
  fast.now += seconds(20);
  fast.Feed(FirstOutput{0});
  fast.EndWith(End(EndKind::kAnswer));
  CHECK(fast.verdict().report.verdict == Verdict::kSuccess);

  MachineRun slow(1, true, WithThreshold());
  slow.Go();
  slow.now += seconds(6);
  slow.Feed(FirstOutput{0});
  slow.EndWith(End(EndKind::kAnswer));
  CHECK(slow.verdict().report.cause == "slow");
  CHECK(slow.finish().how == How::kServed);
}

TEST_CASE("R60 the first event of a try that failed is not that of the answer") {
  EngineSettings settings = WithThreshold();
  settings.retry.max_retries = 1;
  settings.retry.retry_on_statuses.AddCode(503);
  settings.retry.streaming = RetrySettings::Streaming::kBeforeCommit;
  MachineRun run(1, true, settings);
  run.Go();
  run.now += seconds(1);
  run.Feed(FirstEvent{0});
  run.EndWith(End(EndKind::kHiddenError, 503));
  run.Sleep();
  run.now += seconds(6);
  run.Feed(FirstOutput{0});
  run.EndWith(End(EndKind::kAnswer));
  CHECK(run.verdict().report.cause == "slow");
}

TEST_CASE("R60 a client that holds up its stream makes nothing slower or faster") {
  for (const bool late : {false, true}) {
    MachineRun run(1, true, WithThreshold());
    run.Go();
    run.now += seconds(late ? 6 : 4);
    run.Feed(FirstOutput{0});
    run.Feed(ClientPaused{true});
    run.now += seconds(30);
    run.Feed(ClientPaused{false});
    run.EndWith(End(EndKind::kAnswer));
    CHECK(run.verdict().report.cause == (late ? "slow" : "success"));
  }
}

TEST_CASE("R61 a slow probe is charged like a slow call") {
  MachineRun run(1, false, WithThreshold());
  run.probe = true;
  CHECK(Served(run.Go(), seconds(6)).verdict == Verdict::kFailure);
}

TEST_CASE("R59 what failed is charged once, by its own cause") {
  MachineRun run(1, false, WithThreshold());
  run.Go();
  run.now += seconds(20);
  run.EndWith(End(EndKind::kHttpError, 503));
  CHECK(run.verdict().report.cause == "upstream status 503");
  MachineRun alive(1, false, WithThreshold());
  alive.Go();
  alive.now += seconds(20);
  alive.EndWith(End(EndKind::kHttpError, 400));
  CHECK(alive.verdict().report.verdict == Verdict::kAlive);
}

TEST_CASE("decisions 10: stream_verdict start: settled at the commit, nothing behind it counts") {
  EngineSettings settings = WithThreshold();
  settings.circuit_breaker.stream_verdict = CircuitBreakerSettings::StreamVerdict::kStart;
  for (const bool slow : {false, true}) {
    MachineRun run(1, true, settings);
    run.Go().Feed(HeadSeen{0, 201});
    run.now += seconds(slow ? 6 : 1);
    run.Feed(FirstOutput{0});
    CHECK(run.Words() == "commit settle");
    CHECK(run.Get<SettleCircuit>()->report.verdict ==
          (slow ? Verdict::kFailure : Verdict::kSuccess));
    CHECK(run.Get<SettleCircuit>()->report.status == 201);
    run.EndWith(End(EndKind::kStreamCut));
    CHECK(run.Words() == "verdict finish");
    CHECK(run.verdict().settled);
    CHECK(run.finish().how == How::kServedBroken);
  }
  MachineRun gone(1, true, settings);
  gone.Go().Feed(FirstOutput{0});
  gone.Feed(ClientGone{});
  CHECK(gone.verdict().settled);
  MachineRun whole(1, true, settings);
  whole.Go().EndWith(End(EndKind::kAnswer));
  CHECK(whole.Words() == "verdict commit finish");
  CHECK_FALSE(whole.verdict().settled);
}

TEST_CASE("decisions 2: stream_verdict end: one report, with the last byte") {
  MachineRun run(1, true, WithThreshold());
  run.Go().Feed(FirstOutput{0});
  CHECK(run.Words() == "commit");
  run.EndWith(End(EndKind::kStreamCut));
  CHECK_FALSE(run.verdict().settled);
  CHECK(run.verdict().report.verdict == Verdict::kFailure);
}

}  // namespace hotel::decide::test
