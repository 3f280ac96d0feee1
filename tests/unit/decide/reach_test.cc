// How far a request may go: failover.enabled and failover.max_attempts (B8, B12).
#include "tests/support/catch.h"
#include "tests/unit/decide/machine_run.h"

namespace hotel::decide::test {
namespace {

EngineSettings Reaching(bool enabled, int max_attempts) {
  EngineSettings s = FailoverFirst();
  s.failover.backoff_initial = {};
  s.failover.enabled = enabled;
  s.failover.max_attempts = max_attempts;
  return s;
}

AttemptEnd Broken() { return End(EndKind::kHttpError, 500); }

}  // namespace

TEST_CASE("B8 with failover off the first candidate's answer is the answer") {
  MachineRun run(3, false, Reaching(false, 0));
  run.Go().EndWith(Broken());
  CHECK(run.Words() == "verdict finish");
  CHECK(run.finish().status == 500);
  CHECK(run.finish().contacted == 1);
}

TEST_CASE("B8 max_attempts counts the candidates behind the first") {
  MachineRun run(4, false, Reaching(true, 2));
  run.Go().EndWith(Broken());
  CHECK(run.Words() == "verdict ask start");
  run.EndWith(Broken());
  CHECK(run.Words() == "verdict ask start");
  run.EndWith(Broken());
  CHECK(run.Words() == "verdict finish");
  CHECK(run.finish().contacted == 3);
}

TEST_CASE("B12 candidates that were not contacted do not count, failover on or off") {
  for (const bool enabled : {true, false}) {
    MachineRun run(3, false, Reaching(enabled, 1));
    run.admit = false;
    run.Go();
    run.Feed(Refused{0, run.now + seconds(5)});
    CHECK(run.Words() == "ask");
    CHECK(run.Get<AskAdmission>()->candidate == 1);
  }
}

TEST_CASE("B8 a race starts no more candidates than may be contacted") {
  EngineSettings settings = Reaching(true, 1);
  settings.hedging.enabled = true;
  settings.hedging.delay = seconds(1);
  MachineRun run(3, true, settings);
  run.Go();
  run.Advance(seconds(1));
  CHECK(run.Words() == "ask start");
  run.Advance(seconds(1));
  CHECK(run.Words().empty());
}

}  // namespace hotel::decide::test
