// Half-open circuits with a limit and a success threshold (R51-R53, R58, R61).
#include "tests/support/catch.h"
#include "tests/unit/decide/circuit_run.h"

namespace hotel::decide::circuit_test {
namespace {

CircuitRun RetryFirst() {
  CircuitRun run;
  run.settings.timeout = seconds(30);
  run.settings.success_threshold = 2;
  run.settings.half_open_max_in_flight = 1;
  run.settings.backoff_max = run.settings.quota_pin_max = run.settings.pin_probe_interval = {};
  for (int i = 0; i < 5; ++i) run.Fail();
  run.now += seconds(30);
  return run;
}

Settled End(CircuitRun& run, Verdict verdict) {
  return run.Report({verdict, "cause", 500}, false, /*probe=*/true);
}

}  // namespace

TEST_CASE("R51 ready when exactly the timeout has passed, and one probe at a time") {
  CircuitRun run = RetryFirst();
  run.now -= Duration(1);
  CHECK(run.until().has_value());
  run.now += Duration(1);
  CHECK_FALSE(run.until().has_value());
  CHECK_FALSE(ProbesBusy(run.circuit, run.settings));
  CHECK(AdmitRequest(run.circuit, run.settings, run.now).probe);
  CHECK(ProbesBusy(run.circuit, run.settings));
}

TEST_CASE("R52 two successes in a row close; they come one after the other") {
  CircuitRun run = RetryFirst();
  AdmitRequest(run.circuit, run.settings, run.now);
  CHECK(End(run, Verdict::kSuccess).transition == Transition::kNone);
  CHECK(run.circuit.state == CircuitState::kHalfOpen);
  CHECK_FALSE(ProbesBusy(run.circuit, run.settings));
  AdmitRequest(run.circuit, run.settings, run.now);
  CHECK(End(run, Verdict::kSuccess).transition == Transition::kClosed);
  CHECK(run.circuit.consecutive_fails == 0);
}

TEST_CASE("R52 a failure between the successes reopens for another timeout") {
  CircuitRun run = RetryFirst();
  AdmitRequest(run.circuit, run.settings, run.now);
  End(run, Verdict::kSuccess);
  AdmitRequest(run.circuit, run.settings, run.now);
  CHECK(End(run, Verdict::kFailure).transition == Transition::kReopened);
  CHECK(run.until() == run.now + seconds(30));
  // The count of successes starts again.
  run.now += seconds(30);
  AdmitRequest(run.circuit, run.settings, run.now);
  CHECK(End(run, Verdict::kSuccess).transition == Transition::kNone);
}

TEST_CASE("R53 a probe without a verdict returns its slot") {
  for (const Verdict verdict : {Verdict::kAbandoned, Verdict::kNeutral}) {
    CircuitRun run = RetryFirst();
    AdmitRequest(run.circuit, run.settings, run.now);
    End(run, verdict);
    CHECK(run.circuit.probes_out == 0);
    CHECK(run.circuit.state == CircuitState::kHalfOpen);
    CHECK_FALSE(ProbesBusy(run.circuit, run.settings));
  }
}

TEST_CASE("R48 an answer outside the list counts towards closing like a success") {
  CircuitRun run = RetryFirst();
  run.settings.success_threshold = 1;
  AdmitRequest(run.circuit, run.settings, run.now);
  CHECK(End(run, Verdict::kAlive).transition == Transition::kClosed);
}

TEST_CASE("R58 results of an older generation neither extend the open time nor close") {
  CircuitRun run;
  const std::uint64_t before = run.circuit.generation;
  for (int i = 0; i < 5; ++i) run.Fail();
  const TimePoint opened = run.circuit.opened_at;
  run.now += seconds(10);
  const CircuitReport late{Verdict::kFailure, "late", 500};
  Settle(run.circuit, Charge{before, false, &late, false, {}}, run.settings, run.now, &run.random);
  CHECK(run.circuit.opened_at == opened);
  run.Probe();
  const CircuitReport good{Verdict::kSuccess, "late", 200};
  Settle(run.circuit, Charge{before, false, &good, false, {}}, run.settings, run.now, &run.random);
  CHECK(run.circuit.state == CircuitState::kHalfOpen);
}

TEST_CASE("R61 a slow probe reopens; a fast answer between slow ones resets the streak") {
  CircuitRun run = RetryFirst();
  AdmitRequest(run.circuit, run.settings, run.now);
  CHECK(run.Report({Verdict::kFailure, "slow", 200}, false, true).transition ==
        Transition::kReopened);
  CHECK(run.circuit.last_cause == "slow");

  CircuitRun closed;
  for (int i = 0; i < 20; ++i) {
    closed.Report({Verdict::kFailure, "slow", 200});
    if (i % 4 == 3) closed.Succeed();
  }
  CHECK(closed.circuit.state == CircuitState::kClosed);
}

TEST_CASE("limit 0: everybody is admitted, also between two successes") {
  CircuitRun run = RetryFirst();
  run.settings.half_open_max_in_flight = 0;
  for (int i = 0; i < 50; ++i) {
    CHECK(AdmitRequest(run.circuit, run.settings, run.now).probe);
    CHECK_FALSE(ProbesBusy(run.circuit, run.settings));
  }
  End(run, Verdict::kSuccess);
  CHECK(run.circuit.state == CircuitState::kHalfOpen);
  CHECK(End(run, Verdict::kSuccess).transition == Transition::kClosed);
}

TEST_CASE("a limit that is lowered holds for those to come") {
  CircuitRun run = RetryFirst();
  run.settings.half_open_max_in_flight = 3;
  for (int i = 0; i < 3; ++i) AdmitRequest(run.circuit, run.settings, run.now);
  CHECK(ProbesBusy(run.circuit, run.settings));
  run.settings.half_open_max_in_flight = 1;
  End(run, Verdict::kNeutral);
  End(run, Verdict::kNeutral);
  CHECK(ProbesBusy(run.circuit, run.settings));
  End(run, Verdict::kNeutral);
  CHECK_FALSE(ProbesBusy(run.circuit, run.settings));
}

}  // namespace hotel::decide::circuit_test
