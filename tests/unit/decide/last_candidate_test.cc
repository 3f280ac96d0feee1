// The last candidate once more: a transient server error, or a provider that is merely busy (facts
// a "last candidate", F7 of the conflicts; decisions 2 and 4).
#include <algorithm>

#include "tests/support/catch.h"
#include "tests/unit/decide/machine_run.h"

namespace hotel::decide::test {
namespace {

EngineSettings WithRepeat() {
  EngineSettings s = FailoverFirst();
  s.failover.backoff_initial = {};
  for (const int code : {500, 502, 503, 504}) s.failover.last_candidate_statuses.AddCode(code);
  s.failover.wait_saturated = true;
  return s;
}

AttemptEnd Status(int status) { return End(EndKind::kHttpError, status); }

}  // namespace

TEST_CASE("facts a: a transient 5xx of the last candidate is asked once more after 0.5 to 1 s") {
  for (const int status : {500, 502, 503, 504}) {
    Duration least = Duration::max();
    Duration most{};
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      MachineRun run(2, false, WithRepeat());
      run.plan.seed = seed;
      run.Go().EndWith(Status(status));
      REQUIRE(run.Get<StartAttempt>()->candidate == 1);
      run.EndWith(Status(status));
      REQUIRE(run.Words() == "verdict");
      const TimePoint before = run.now;
      run.Sleep();
      REQUIRE(run.Words() == "ask start");
      REQUIRE(run.Get<StartAttempt>()->candidate == 1);
      REQUIRE(run.Get<StartAttempt>()->attempt == 2);
      least = std::min(least, run.now - before);
      most = std::max(most, run.now - before);
    }
    CHECK(least >= Duration(milliseconds(500)));
    CHECK(most < Duration(milliseconds(1000)));
    CHECK(most - least > Duration(milliseconds(400)));
  }
}

TEST_CASE("decisions 4: the repeat is an attempt of its own: its own charge, its own answer") {
  MachineRun bad(1, false, WithRepeat());
  bad.Go().EndWith(Status(503));
  bad.Sleep();
  bad.EndWith(Status(500));
  CHECK(bad.Words() == "verdict finish");
  CHECK(bad.Count<ReportVerdict>() == 2);
  CHECK(bad.verdict().report.status == 500);
  CHECK(bad.finish().contacted == 2);
  CHECK(bad.finish().attempt == 1);
  CHECK(bad.Terminal().status == 500);

  MachineRun good(1, false, WithRepeat());
  good.Go().EndWith(Status(503));
  good.Sleep();
  good.EndWith(End(EndKind::kAnswer));
  CHECK(good.verdict().report.verdict == Verdict::kSuccess);
  CHECK(good.finish().how == How::kServed);
}

TEST_CASE("facts a: once per request, a 501 and other statuses never") {
  for (const int status : {501, 505, 529, 401, 404}) {
    MachineRun run(1, false, WithRepeat());
    run.Go().EndWith(Status(status));
    CHECK(run.Words() == "verdict finish");
  }
  EngineSettings off = WithRepeat();
  off.failover.last_candidate_statuses = StatusSet();
  MachineRun run(1, false, off);
  run.Go().EndWith(Status(503));
  CHECK(run.Words() == "verdict finish");
}

TEST_CASE("transport failures, timeouts and unusable answers are not repeated") {
  const AttemptEnd ends[] = {Transport(TransportError::kInterrupted, TransportPhase::kSent),
                             End(EndKind::kBadAnswer), End(EndKind::kEmptyAnswer),
                             End(EndKind::kEmptyStream)};
  for (const AttemptEnd& end : ends) {
    MachineRun run(1, false, WithRepeat());
    run.Go().EndWith(end);
    CHECK(run.Words() == "verdict finish");
  }
  MachineRun slow(2, false, WithRepeat());
  slow.Go().EndWith(Status(503));
  slow.Sleep();  // the head of candidate 1 does not come
  CHECK(slow.Words() == "cancel verdict finish");
  CHECK(slow.Terminal().status == 502);
}

TEST_CASE("a hidden 503 is repeated like a real one") {
  MachineRun run(1, true, WithRepeat());
  run.Go().EndWith(End(EndKind::kHiddenError, 503));
  run.Sleep();
  CHECK(run.Words() == "ask start");
}

TEST_CASE("facts f.7 1: status retries spent, nothing is asked once more") {
  EngineSettings settings = WithRepeat();
  settings.timeouts.deadline_factor = 0;
  settings.retry.max_retries = 3;
  settings.retry.retry_on_statuses.AddCode(503).AddCode(429);
  MachineRun run(1, false, settings);
  run.Go();
  for (int n = 0; n < 3; ++n) {
    run.EndWith(Status(503));
    run.Sleep();
  }
  run.EndWith(Status(503));
  CHECK(run.Words() == "verdict finish");
  CHECK(run.Count<StartAttempt>() == 4);

  // A busy one that was repeated as well.
  MachineRun busy(1, false, settings);
  busy.Go();
  for (int n = 0; n < 3; ++n) {
    busy.EndWith(Saturated(seconds(1)));
    busy.Sleep();
  }
  busy.EndWith(Saturated(seconds(1)));
  CHECK(busy.Words() == "verdict finish");
}

TEST_CASE("F7: a stream whose statuses are not repeated is still asked once more") {
  EngineSettings settings = WithRepeat();
  settings.retry.max_retries = 3;
  settings.retry.retry_on_statuses.AddCode(503);
  settings.retry.streaming = RetrySettings::Streaming::kTransport;
  MachineRun run(1, true, settings);
  run.Go().EndWith(Status(503));
  CHECK(run.Words() == "verdict");
  run.Sleep();
  CHECK(run.Words() == "ask start");
}

TEST_CASE("F7: a half-open probe is never asked once more") {
  for (const AttemptEnd& end : {Status(503), Saturated(seconds(3))}) {
    MachineRun run(1, false, WithRepeat());
    run.probe = true;
    run.Go().EndWith(end);
    CHECK(run.Words() == "verdict finish");
  }
}

TEST_CASE("facts a: a saturated last candidate is asked once more after the wait it stated") {
  MachineRun run(1, false, WithRepeat());
  run.Go().EndWith(Saturated(seconds(9)));
  CHECK(run.Words() == "verdict");
  CHECK(run.machine->next_wake() == run.now + seconds(9));
  run.Sleep();
  CHECK(run.Words() == "ask start");
  run.EndWith(Saturated(seconds(5)));
  CHECK(run.Words() == "verdict finish");
  CHECK(run.Terminal().status == 429);
  CHECK(run.Terminal().retry_after_seconds == 5);
}

TEST_CASE("facts e: the wait is 2 s without a stated one, and at most saturation_max_wait") {
  AttemptEnd fallback = Refusal(RefusalClass::kUnknown);
  fallback.refusal.recent_success = true;
  MachineRun unknown(1, false, WithRepeat());
  unknown.Go().EndWith(fallback);
  CHECK(unknown.machine->next_wake() == unknown.now + seconds(2));

  EngineSettings settings = WithRepeat();
  settings.rate_limit.saturation_max_wait = seconds(20);
  MachineRun capped(1, false, settings);
  capped.Go().EndWith(Saturated(seconds(45)));
  CHECK(capped.machine->next_wake() == capped.now + seconds(20));
}

TEST_CASE("wait_saturated off, spent and unrecognised: no repeat") {
  EngineSettings off = WithRepeat();
  off.failover.wait_saturated = false;
  MachineRun busy(1, false, off);
  busy.Go().EndWith(Saturated(seconds(1)));
  CHECK(busy.Words() == "verdict finish");
  for (const AttemptEnd& end :
       {Exhausted(seconds(90)), Refusal(RefusalClass::kUnknown), Status(429)}) {
    MachineRun run(1, false, WithRepeat());
    run.Go().EndWith(end);
    CHECK(run.Words() == "verdict finish");
  }
}

TEST_CASE("F21: a wait that the deadline has no room for is not begun") {
  EngineSettings settings = WithRepeat();
  settings.timeouts.request_timeout = seconds(10);  // 20 s in all
  MachineRun exact(1, false, settings);
  exact.Go().EndWith(Saturated(seconds(20)));
  CHECK(exact.Words() == "verdict finish");
  CHECK(exact.Terminal().status == 429);
  MachineRun fits(1, false, settings);
  fits.Go().EndWith(Saturated(seconds(19)));
  CHECK(fits.Words() == "verdict");
  MachineRun late(1, false, settings);
  late.plan.arrival = late.now - milliseconds(19'600);
  late.Go().EndWith(Status(503));
  CHECK(late.Words() == "verdict finish");
  CHECK(late.Terminal().status == 503);
}

TEST_CASE("the repeat is of the last one contacted when the others were skipped") {
  MachineRun run(3, false, WithRepeat());
  run.refuse[2] = Open(run.now + seconds(30));
  run.Go().EndWith(Status(503));
  run.EndWith(Status(502));
  CHECK(run.Words() == "verdict ask");  // candidate 2 was refused
  run.Sleep();
  CHECK(run.Get<StartAttempt>()->candidate == 1);
}

TEST_CASE("a circuit that opened meanwhile leaves the failure as the answer") {
  MachineRun run(1, false, WithRepeat());
  run.Go().EndWith(Status(503));
  run.refuse[0] = Open(run.now + seconds(30));
  run.Sleep();
  CHECK(run.Words() == "ask finish");
  CHECK(run.Terminal().status == 503);
  CHECK(run.finish().contacted == 1);
}

TEST_CASE("client gone, shutdown and the deadline end the wait") {
  MachineRun gone(1, false, WithRepeat());
  gone.Go().EndWith(Status(503));
  gone.Feed(ClientGone{});
  CHECK(gone.Words() == "finish");
  MachineRun down(1, false, WithRepeat());
  down.Go().EndWith(Status(503));
  down.Feed(Shutdown{});
  CHECK(down.Terminal().status == 503);
  CHECK(down.finish().reason == Reason::kShutdown);
  MachineRun late(1, false, WithRepeat());
  late.Go().EndWith(Saturated(seconds(30)));
  late.Advance(seconds(300));  // a wake that comes too late
  CHECK(late.finish().reason == Reason::kDeadline);
}

TEST_CASE("B11 a later failure that is not judged is asked once more by its status alone") {
  EngineSettings settings = WithRepeat();
  settings.failover.judge = FailoverSettings::Judge::kFirst;
  MachineRun run(2, false, settings);
  run.Go().EndWith(Status(500));
  run.EndWith(Status(400));
  CHECK(run.Words() == "verdict finish");
  CHECK(run.finish().status == 400);
}

}  // namespace hotel::decide::test
