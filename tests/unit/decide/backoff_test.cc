// Probe backoff and the streak of 429s (facts d, "Cooldown arithmetic"; seed 000, "Probe backoff").
#include "tests/support/catch.h"
#include "tests/unit/decide/circuit_run.h"

namespace hotel::decide::circuit_test {

TEST_CASE("the waits of failed probes run 1, 2, 4, 8, 15, 15 minutes") {
  CircuitRun run;
  run.OpenNow();
  for (const int wait : {1, 2, 4, 8, 15, 15, 15}) {
    CHECK(run.cooldown().span == minutes(wait));
    CHECK(run.cooldown().backed_off == (wait > 1));
    CHECK(run.cooldown().backoff_governs == (wait > 1));
    run.Probe();
    run.Fail();
  }
  CHECK(run.circuit.failed_probes == 7);
}

TEST_CASE("a successful probe clears the count: the next outage starts from the base again") {
  CircuitRun run;
  run.OpenNow();
  for (int i = 0; i < 4; ++i) {
    run.Probe();
    run.Fail();
  }
  run.Probe();
  run.Succeed();
  CHECK(run.circuit.failed_probes == 0);
  for (int i = 0; i < 5; ++i) run.Fail();
  CHECK(run.circuit.state == CircuitState::kOpen);
  CHECK(run.cooldown().span == minutes(1));
  CHECK_FALSE(run.cooldown().backed_off);
}

TEST_CASE("the doubling stops at the ceiling whatever it is") {
  CircuitRun run;
  run.settings.backoff_max = seconds(150);
  run.OpenNow();
  for (const int wait : {60, 120, 150, 150}) {
    CHECK(run.cooldown().span == seconds(wait));
    run.Probe();
    run.Fail();
  }
  // Nor does it overflow where the ceiling is out of reach.
  run.settings.backoff_max = Duration::max();
  for (int i = 0; i < 200; ++i) {
    run.circuit.state = CircuitState::kHalfOpen;
    run.Fail();
    CHECK(run.cooldown().span >= seconds(60));
  }
  CHECK(run.cooldown().span == Duration::max());
  CHECK(run.until() == TimePoint::max());
}

TEST_CASE("backoff_max 0 releases a backoff at once, the count goes on") {
  CircuitRun run;
  run.OpenNow();
  for (int i = 0; i < 3; ++i) {
    run.Probe();
    run.Fail();
  }
  REQUIRE(run.cooldown().span == minutes(8));
  run.settings.backoff_max = Duration::zero();
  CHECK(run.cooldown().span == minutes(1));
  CHECK_FALSE(run.cooldown().backed_off);
  run.Probe();
  run.Fail();
  CHECK(run.circuit.failed_probes == 4);
  CHECK(run.cooldown().span == minutes(1));
  // Back on: the next failed probe earns what all of them earned.
  run.settings.backoff_max = hours(2);
  CHECK(run.cooldown().span == minutes(1));
  run.Probe();
  run.Fail();
  CHECK(run.cooldown().span == minutes(32));
}

TEST_CASE("a ceiling at or below the base is no backoff") {
  for (const int ceiling : {30, 60}) {
    CircuitRun run;
    run.settings.backoff_max = seconds(ceiling);
    run.OpenNow();
    run.Probe();
    run.Fail();
    CHECK(run.cooldown().span == seconds(60));
    CHECK_FALSE(run.cooldown().backed_off);
  }
}

TEST_CASE("raising the base past an earlier backoff makes the base govern") {
  CircuitRun run;
  run.OpenNow();
  run.Probe();
  run.Fail();
  REQUIRE(run.cooldown().span == minutes(2));
  run.settings.timeout = minutes(3);
  CHECK(run.cooldown().span == minutes(3));
  CHECK_FALSE(run.cooldown().backed_off);
}

TEST_CASE("from the third opening in a row by a 429 the ceiling is that of the pins") {
  CircuitRun run;
  run.OpenNow();
  for (const int wait : {1, 2, 4, 8, 16, 32, 64}) {
    CHECK(run.cooldown().span == minutes(wait));
    run.Probe();
    run.OpenNow();
  }
  for (int i = 0; i < 6; ++i) {
    run.Probe();
    run.OpenNow();
  }
  CHECK(run.cooldown().span == hours(24));
}

TEST_CASE("any other cause ends the streak of 429s") {
  CircuitRun run;
  run.OpenNow();
  for (int i = 0; i < 6; ++i) {
    run.Probe();
    run.OpenNow();
  }
  REQUIRE(run.cooldown().span > minutes(15));
  run.Probe();
  run.Report({Verdict::kOpenNow, "upstream status 402", 402});
  CHECK(run.circuit.limited_opens == 0);
  CHECK(run.cooldown().span == minutes(15));
}

TEST_CASE("a streak of 429s spans 24 hours from its first") {
  CircuitRun run;
  run.OpenNow();
  run.now += hours(23);
  run.Probe();
  run.OpenNow();
  CHECK(run.circuit.limited_opens == 2);
  run.now = kStart + hours(24);
  run.Probe();
  run.OpenNow();
  CHECK(run.circuit.limited_opens == 1);
}

TEST_CASE("a closing probe clears the streak of 429s") {
  CircuitRun run;
  run.OpenNow();
  run.Probe();
  run.OpenNow();
  run.Probe();
  run.Succeed();
  CHECK(run.circuit.limited_opens == 0);
}

TEST_CASE("with backoff off a streak of 429s escalates nothing") {
  CircuitRun run;
  run.settings.backoff_max = Duration::zero();
  for (int i = 0; i < 6; ++i) {
    run.OpenNow();
    run.Probe();
  }
  run.OpenNow();
  CHECK(run.cooldown().span == minutes(1));
}

TEST_CASE("unstable: the third opening within 24 hours of the first, told once per window") {
  CircuitRun run;
  run.settings.backoff_max = Duration::zero();
  CHECK_FALSE(run.OpenNow().unstable);
  run.Probe();
  CHECK_FALSE(run.Fail().unstable);
  run.Probe();
  run.Succeed();  // a success does not begin the window anew
  CHECK(run.OpenNow().unstable);
  CHECK(run.circuit.opens == 3);
  for (int i = 0; i < 10; ++i) {
    run.Probe();
    CHECK_FALSE(run.Fail().unstable);
  }
  run.now = kStart + hours(24);
  run.Probe();
  CHECK_FALSE(run.Fail().unstable);
  CHECK(run.circuit.opens == 1);
  run.Probe();
  CHECK_FALSE(run.Fail().unstable);
  run.Probe();
  CHECK(run.Fail().unstable);
}

}  // namespace hotel::decide::circuit_test
