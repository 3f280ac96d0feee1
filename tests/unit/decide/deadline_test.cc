// Clocks: what ends an attempt, what ends the request (facts a; decisions 10).
#include "tests/support/catch.h"
#include "tests/unit/decide/machine_run.h"

namespace hotel::decide::test {

TEST_CASE("F125 an attempt may take request_timeout, a stream ten times that") {
  EngineSettings settings = FailoverFirst();
  settings.timeouts.upstream_header_timeout = Duration::zero();
  settings.timeouts.ttft_timeout = Duration::zero();
  MachineRun plain(2, false, settings);
  plain.Go();
  CHECK(*plain.machine->next_wake() == plain.now + seconds(60));
  MachineRun stream(2, true, settings);
  stream.Go();
  CHECK(*stream.machine->next_wake() == stream.now + seconds(600));
}

TEST_CASE("F129 an attempt's own timeout is a charged failure and the next candidate is asked") {
  EngineSettings settings = FailoverFirst();
  settings.timeouts.request_timeout = seconds(1);
  MachineRun run(2, false, settings);
  run.Go();
  run.Sleep();
  CHECK(run.now == run.plan.arrival + seconds(1));
  CHECK(run.Words() == "cancel verdict");
  CHECK(run.Get<ReportVerdict>()->report.verdict == Verdict::kFailure);
  CHECK(run.Get<ReportVerdict>()->report.cause == "upstream request failed");
  CHECK(run.Get<ReportVerdict>()->kind == ErrorKind::kProviderTimeout);
  CHECK(run.machine->last_timeout() == TimeoutKind::kAttempt);
  run.Sleep();
  CHECK(run.Words() == "ask start");
  run.now += milliseconds(500);
  run.EndWith(End(EndKind::kAnswer));
  CHECK(run.finish().how == How::kServed);
}

TEST_CASE("F127 one deadline over all candidates: the second is cut, 504 at twice the timeout") {
  EngineSettings settings = FailoverFirst();
  settings.timeouts.request_timeout = seconds(1);
  MachineRun run(5, false, settings);
  run.Go();
  run.Sleep();  // the first one's full second
  run.Sleep();  // the pause
  CHECK(run.Words() == "ask start");
  run.Sleep();
  CHECK(run.now == run.plan.arrival + seconds(2));
  CHECK(run.Words() == "cancel verdict finish");
  CHECK(run.Get<ReportVerdict>()->report.verdict == Verdict::kFailure);
  CHECK(run.Get<ReportVerdict>()->kind == ErrorKind::kFailoverTimeout);
  CHECK(run.finish().reason == Reason::kDeadline);
  CHECK(run.finish().contacted == 2);
  CHECK(run.Terminal().status == 504);
  CHECK(run.Terminal().code == "failover_timeout");
  CHECK(run.machine->last_timeout() == TimeoutKind::kOverall);
}

TEST_CASE("the overall deadline ends a pause as well") {
  EngineSettings settings = FailoverFirst();
  settings.timeouts.request_timeout = seconds(1);
  MachineRun run(3, false, settings);
  run.Go();
  run.now = run.plan.arrival + seconds(2) - milliseconds(10);
  run.EndWith(End(EndKind::kHttpError, 500));
  CHECK(*run.machine->next_wake() == run.plan.arrival + seconds(2));
  run.Sleep();
  CHECK(run.Words() == "finish");
  CHECK(run.finish().reason == Reason::kDeadline);
  CHECK(run.finish().attempt == 0);
}

TEST_CASE("a failure past the deadline asks nobody else") {
  MachineRun run(3);
  run.Go();
  run.now = run.plan.arrival + seconds(200);
  run.EndWith(End(EndKind::kHttpError, 500));
  CHECK(run.Words() == "verdict finish");
  CHECK(run.finish().reason == Reason::kDeadline);
}

TEST_CASE("an answer that is in at the deadline is served") {
  MachineRun run(3);
  run.Go();
  run.now = run.plan.arrival + seconds(120);
  run.EndWith(End(EndKind::kAnswer));
  CHECK(run.finish().how == How::kServed);
}

TEST_CASE("an admission that comes past the deadline is given back") {
  MachineRun run(1);
  run.admit = false;
  run.Go();
  CHECK(*run.machine->next_wake() == run.plan.arrival + seconds(120));
  run.now = run.plan.arrival + seconds(120);
  run.Feed(Admitted{0});
  CHECK(run.Words() == "verdict finish");
  CHECK(run.Get<ReportVerdict>()->report.verdict == Verdict::kAbandoned);
  CHECK(run.finish().reason == Reason::kDeadline);
  CHECK(run.finish().contacted == 0);
}

TEST_CASE("deadline_factor 0: no overall deadline") {
  EngineSettings settings = FailoverFirst();
  settings.timeouts.deadline_factor = 0;
  MachineRun run(3, false, settings);
  run.Go();
  for (int i = 0; i < 2; ++i) {
    run.now += seconds(10'000);
    run.EndWith(End(EndKind::kHttpError, 500));
    run.Sleep();
    CHECK(run.Words() == "ask start");
  }
}

TEST_CASE("r48 a missing head is charged and fails over; 502 as the last") {
  EngineSettings settings = FailoverFirst();
  settings.timeouts.upstream_header_timeout = seconds(5);
  MachineRun run(2, false, settings);
  run.Go();
  run.Sleep();
  CHECK(run.now == run.plan.arrival + seconds(5));
  CHECK(run.Words() == "cancel verdict");
  CHECK(run.Get<ReportVerdict>()->report.verdict == Verdict::kFailure);
  CHECK(run.Get<ReportVerdict>()->kind == ErrorKind::kProviderTimeout);
  CHECK(run.machine->last_timeout() == TimeoutKind::kHead);
  run.Sleep();
  run.Sleep();
  CHECK(run.finish().reason == Reason::kAllFailed);
  CHECK(run.finish().kind == ErrorKind::kProviderTimeout);
  CHECK(run.Terminal().status == 502);
}

TEST_CASE("a head ends the wait for the head") {
  MachineRun run(2);
  run.Go();
  CHECK(*run.machine->next_wake() == run.now + seconds(30));
  run.Feed(HeadSeen{0, 200});
  CHECK(*run.machine->next_wake() == run.now + seconds(60));
}

TEST_CASE("no output in time: TTFT probe failed, fails over, 502 as the last") {
  EngineSettings settings = FailoverFirst();
  settings.timeouts.ttft_timeout = seconds(5);
  MachineRun run(2, true, settings);
  run.Go();
  run.Feed(HeadSeen{0, 200});
  run.Sleep();
  CHECK(run.now == run.plan.arrival + seconds(5));
  CHECK(run.Words() == "cancel verdict");
  CHECK(run.Get<ReportVerdict>()->report.cause == "TTFT probe failed");
  CHECK(run.Get<ReportVerdict>()->report.status == 200);
  CHECK(run.Get<ReportVerdict>()->kind == ErrorKind::kProviderTimeout);
  run.Sleep();
  run.Sleep();
  CHECK(run.finish().reason == Reason::kAllFailed);
  CHECK(run.Terminal().status == 502);
}

TEST_CASE("ttft_timeout 0 and requests that are not streams have no probe") {
  EngineSettings settings = FailoverFirst();
  settings.timeouts.ttft_timeout = seconds(1);
  MachineRun plain(1, false, settings);
  plain.Go();
  CHECK(*plain.machine->next_wake() == plain.now + seconds(30));
  settings.timeouts.ttft_timeout = Duration::zero();
  MachineRun stream(1, true, settings);
  stream.Go();
  stream.Feed(HeadSeen{0, 200});
  CHECK(*stream.machine->next_wake() == stream.now + seconds(600));
}

TEST_CASE("the attempt's timeout as the last failure: 504") {
  EngineSettings settings = FailoverFirst();
  settings.timeouts.request_timeout = seconds(1);
  MachineRun run(1, false, settings);
  run.Go();
  run.Sleep();
  CHECK(run.Words() == "cancel verdict finish");
  CHECK(run.finish().reason == Reason::kAttemptTimeout);
  CHECK(run.Terminal().status == 504);
  CHECK(run.Terminal().kind == ErrorKind::kProviderTimeout);
}

TEST_CASE("a stream behind the commit is still bounded: cut by its attempt's timeout") {
  EngineSettings settings = FailoverFirst();
  settings.timeouts.ttft_timeout = seconds(1);
  MachineRun run(2, true, settings);
  run.Go();
  run.Feed(FirstOutput{0});
  run.Sleep();
  CHECK(run.now == run.plan.arrival + seconds(600));
  CHECK(run.Words() == "cancel verdict finish");
  CHECK(run.Get<ReportVerdict>()->report.verdict == Verdict::kFailure);
  CHECK(run.Get<ReportVerdict>()->report.cause == "response failed after headers");
  CHECK(run.finish().how == How::kServedBroken);
  CHECK(run.finish().reason == Reason::kAttemptTimeout);
  CHECK(run.Terminal().code == "stream_incomplete");
}

TEST_CASE("a stream behind the commit is cut by the overall deadline") {
  EngineSettings settings = FailoverFirst();
  settings.timeouts.deadline_factor = 1;
  MachineRun run(2, true, settings);
  run.Go();
  run.Feed(FirstOutput{0});
  run.Sleep();
  CHECK(run.finish().how == How::kServedBroken);
  CHECK(run.finish().reason == Reason::kDeadline);
  CHECK(run.finish().kind == ErrorKind::kFailoverTimeout);
  CHECK(run.Terminal().code == "stream_incomplete");
}

TEST_CASE("r1 the attempt's deadline is cut at the overall one, connecting included") {
  EngineSettings settings = FailoverFirst();
  settings.timeouts.request_timeout = seconds(4);
  MachineRun run(2, false, settings);
  run.Go();
  run.now = run.plan.arrival + seconds(7);
  run.EndWith(End(EndKind::kHttpError, 500));
  run.Sleep();
  REQUIRE(run.Get<StartAttempt>() != nullptr);
  CHECK(run.Get<StartAttempt>()->connect_timeout == run.plan.arrival + seconds(8) - run.now);
  CHECK(*run.machine->next_wake() == run.plan.arrival + seconds(8));
}

TEST_CASE("spans beyond the clock's range mean never") {
  EngineSettings settings = FailoverFirst();
  settings.timeouts.request_timeout = Duration::max();
  settings.timeouts.upstream_header_timeout = Duration::max();
  settings.timeouts.ttft_timeout = Duration::max();
  MachineRun run(1, true, settings);
  run.Go();
  CHECK(*run.machine->next_wake() == TimePoint::max());
  run.EndWith(End(EndKind::kAnswer));
  CHECK(run.finish().how == How::kServed);
}

TEST_CASE("a wake that comes late decides like one in time") {
  EngineSettings settings = FailoverFirst();
  settings.timeouts.upstream_header_timeout = seconds(3);
  settings.timeouts.ttft_timeout = seconds(5);
  MachineRun run(2, true, settings);
  run.Go();
  run.Advance(seconds(20));
  CHECK(run.machine->last_timeout() == TimeoutKind::kHead);
}

}  // namespace hotel::decide::test
