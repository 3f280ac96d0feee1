// `<provider>/<model>`: a route of one (R50; decisions 7).
#include "tests/support/catch.h"
#include "tests/unit/decide/machine_run.h"

namespace hotel::decide::test {
namespace {

struct Direct : MachineRun {
  explicit Direct(EngineSettings s = FailoverFirst(), bool streaming = false)
      : MachineRun(1, streaming, std::move(s)) {
    plan.direct = true;
  }
};

}  // namespace

TEST_CASE("R50 an open circuit: 503 in R50's words, Retry-After to the next probe") {
  for (const bool honest : {false, true}) {
    EngineSettings settings = FailoverFirst();
    settings.failover.exhaustion_status_429 = honest;
    Direct run(settings);
    run.refuse[0] = Open(run.now + seconds(17));
    run.Go();
    CHECK(run.Words() == "ask finish");
    CHECK(run.finish().reason == Reason::kCircuitOpen);
    CHECK(run.finish().contacted == 0);
    const TerminalAnswer answer = run.Terminal();
    CHECK(answer.status == 503);
    CHECK(answer.code == "circuit_open");
    CHECK(answer.message == "circuit breaker is open - provider acme temporarily unavailable");
    CHECK(answer.retry_after_seconds == 17);
  }
}

TEST_CASE("R50 a quota pin answers the same, its hint within a minute") {
  Direct run;
  run.refuse[0] = Open(run.now + std::chrono::hours(5), /*pinned=*/true);
  run.Go();
  CHECK(run.finish().reason == Reason::kCircuitOpen);
  CHECK(run.Terminal().status == 503);
  CHECK(run.Terminal().retry_after_seconds == 60);
}

TEST_CASE("R70 no room for its circuit: 503") {
  Direct run;
  Refused full{};
  full.why = Refused::Why::kCapacity;
  run.refuse[0] = full;
  run.Go();
  CHECK(run.finish().reason == Reason::kCircuitCapacity);
  CHECK(run.Terminal().status == 503);
}

TEST_CASE("R51 the probe that is due is taken, and is one try") {
  EngineSettings settings = FailoverFirst();
  settings.retry.max_retries = 2;
  settings.retry.retry_on_statuses.AddCode(503);
  Direct run(settings);
  run.probe = true;
  run.Go();
  CHECK(run.Words() == "ask start");
  run.EndWith(End(EndKind::kHttpError, 503));
  CHECK(run.Words() == "verdict finish");
  CHECK(run.Terminal().status == 503);
  CHECK(run.finish().reason == Reason::kUpstreamStatus);
}

TEST_CASE(
    "decisions 7: in-flight windows hold: a bounded wait, then 429 whatever exhaustion says") {
  for (const bool honest : {false, true}) {
    EngineSettings settings = FailoverFirst();
    settings.failover.exhaustion_status_429 = honest;
    Direct run(settings);
    run.refuse[0] = Busy();
    run.Go();
    CHECK(run.Words() == "ask wait");
    run.Sleep();
    CHECK(run.now == run.plan.arrival + seconds(60));
    CHECK(run.finish().reason == Reason::kAllBusy);
    CHECK(run.Terminal().status == 429);
    CHECK(run.Terminal().retry_after_seconds == 2);
  }
}

TEST_CASE("decisions 7: a direct name gets the last candidate's repeat") {
  EngineSettings settings = FailoverFirst();
  settings.failover.last_candidate_statuses.AddCode(503);
  Direct run(settings);
  run.Go().EndWith(End(EndKind::kHttpError, 503));
  CHECK(run.Words() == "verdict");
  run.refuse[0] = Open(run.now + seconds(60));  // block_direct, and this was one failure too many
  run.Sleep();
  CHECK(run.Words() == "ask finish");
  CHECK(run.finish().reason == Reason::kUpstreamStatus);
}

TEST_CASE("a direct stream is never raced") {
  EngineSettings settings = FailoverFirst();
  settings.hedging.enabled = true;
  settings.hedging.delay = seconds(1);
  Direct run(settings, true);
  run.Go();
  CHECK_FALSE(run.machine->racing());
  CHECK(run.machine->next_wake() == run.now + seconds(30));  // the head's
}

}  // namespace hotel::decide::test
