// The transition table of facts d for one circuit.
#include "libhotel/decide/breaker_core.h"

#include "tests/support/catch.h"

namespace hotel::decide {
namespace {

using std::chrono::seconds;

CircuitBreakerSettings Options() {
  CircuitBreakerSettings settings;
  settings.failure_threshold = 5;
  settings.timeout = seconds(60);
  return settings;
}

const CircuitBreakerSettings kOptions = Options();
constexpr TimePoint kNow{std::chrono::hours(1)};
constexpr TimePoint kAfterCooldown = kNow + seconds(60);

CircuitReport Report(Verdict verdict, int status = 500) { return {verdict, "cause", status}; }

Settled Apply(Circuit& circuit, std::uint64_t generation, const CircuitReport& report,
              const CircuitBreakerSettings& settings, TimePoint now) {
  std::uint64_t random = 1;
  return Settle(circuit, Charge{generation, false, &report, false, {}}, settings, now, &random);
}

Transition Try(Circuit& circuit, const CircuitBreakerSettings& settings, TimePoint now) {
  return AdmitRequest(circuit, settings, now).transition;
}

Settled Do(Circuit& circuit, Verdict verdict, TimePoint now = kNow) {
  return Apply(circuit, circuit.generation, Report(verdict), kOptions, now);
}

Circuit Opened() {
  Circuit circuit;
  Do(circuit, Verdict::kOpenNow);
  return circuit;
}

Circuit HalfOpen() {
  Circuit circuit = Opened();
  Try(circuit, kOptions, kAfterCooldown);
  return circuit;
}

}  // namespace

TEST_CASE("closed, failure: counts, opens at the threshold") {
  Circuit circuit;
  for (int i = 1; i < 5; ++i) {
    const Settled settled = Do(circuit, Verdict::kFailure);
    CHECK(settled.effect == BreakerEffect::kCharge);
    CHECK(settled.transition == Transition::kNone);
    CHECK(circuit.consecutive_fails == i);
    CHECK(circuit.state == CircuitState::kClosed);
  }
  const Settled settled = Do(circuit, Verdict::kFailure);
  CHECK(settled.effect == BreakerEffect::kCharge);
  CHECK(settled.transition == Transition::kOpened);
  CHECK(circuit.state == CircuitState::kOpen);
  CHECK(circuit.opened_at == kNow);
  CHECK(circuit.last_cause == "cause");
  CHECK(circuit.last_status == 500);
}

TEST_CASE("closed, open_now: opens at once with fails at the threshold") {
  Circuit circuit;
  const Settled settled = Do(circuit, Verdict::kOpenNow);
  CHECK(settled.effect == BreakerEffect::kCharge);
  CHECK(settled.transition == Transition::kOpened);
  CHECK(circuit.consecutive_fails == 5);
}

TEST_CASE("closed, success or alive: fails back to zero") {
  for (const Verdict verdict : {Verdict::kSuccess, Verdict::kAlive}) {
    Circuit circuit;
    Do(circuit, Verdict::kFailure);
    const Settled settled = Do(circuit, verdict);
    CHECK(settled.effect ==
          (verdict == Verdict::kSuccess ? BreakerEffect::kSuccess : BreakerEffect::kAlive));
    CHECK(settled.transition == Transition::kNone);
    CHECK(circuit.consecutive_fails == 0);
  }
}

TEST_CASE("F121 four failures and a success, ten times: never opens") {
  Circuit circuit;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 4; ++i) Do(circuit, Verdict::kFailure);
    Do(circuit, Verdict::kSuccess);
    CHECK(circuit.state == CircuitState::kClosed);
  }
}

TEST_CASE("F007 a neutral answer does not reset the count") {
  Circuit circuit;
  for (int i = 0; i < 4; ++i) Do(circuit, Verdict::kFailure);
  CHECK(Do(circuit, Verdict::kNeutral).effect == BreakerEffect::kNoop);
  CHECK(circuit.consecutive_fails == 4);
  CHECK(Do(circuit, Verdict::kFailure).transition == Transition::kOpened);
}

TEST_CASE("F113 an abandoned attempt is no credit, no charge, and leaves no trace") {
  Circuit circuit;
  Do(circuit, Verdict::kFailure);
  circuit.last_cause = "before";
  CHECK(Do(circuit, Verdict::kAbandoned).effect == BreakerEffect::kNoop);
  CHECK(circuit.consecutive_fails == 1);
  CHECK(circuit.last_cause == "before");
}

TEST_CASE("neutral leaves every state as it is and notes its cause") {
  for (Circuit circuit : {Circuit{}, Opened(), HalfOpen()}) {
    const Circuit before = circuit;
    CHECK(Apply(circuit, circuit.generation, Report(Verdict::kNeutral, 404), kOptions, kNow)
              .transition == Transition::kNone);
    CHECK(circuit.state == before.state);
    CHECK(circuit.generation == before.generation);
    CHECK(circuit.consecutive_fails == before.consecutive_fails);
    CHECK(circuit.last_status == 404);
  }
}

TEST_CASE("open, any verdict: no state change, the verdict is noted") {
  for (const Verdict verdict :
       {Verdict::kFailure, Verdict::kOpenNow, Verdict::kSuccess, Verdict::kAlive}) {
    Circuit circuit = Opened();
    const Circuit before = circuit;
    const Settled settled =
        Apply(circuit, circuit.generation, {verdict, "late", 418}, kOptions, kNow + seconds(30));
    CHECK(settled.effect == BreakerEffect::kNoop);
    CHECK(settled.transition == Transition::kNone);
    CHECK(circuit.state == CircuitState::kOpen);
    CHECK(circuit.opened_at == before.opened_at);
    CHECK(circuit.generation == before.generation);
    CHECK(circuit.last_cause == "late");
  }
}

TEST_CASE("open: refuses until the cooldown has passed, to the instant") {
  Circuit circuit = Opened();
  CHECK(BlockedUntil(circuit, kOptions, kNow) == kAfterCooldown);
  CHECK(BlockedUntil(circuit, kOptions, kAfterCooldown - Duration(1)) == kAfterCooldown);
  CHECK_FALSE(BlockedUntil(circuit, kOptions, kAfterCooldown).has_value());
}

TEST_CASE("open, cooldown elapsed and asked: half-open; further ones are admitted to the same") {
  Circuit circuit = Opened();
  const std::uint64_t open_generation = circuit.generation;
  CHECK(Try(circuit, kOptions, kAfterCooldown) == Transition::kHalfOpened);
  CHECK(circuit.state == CircuitState::kHalfOpen);
  CHECK(circuit.generation == open_generation + 1);
  CHECK(Try(circuit, kOptions, kAfterCooldown) == Transition::kNone);
  CHECK(circuit.generation == open_generation + 1);
  CHECK_FALSE(BlockedUntil(circuit, kOptions, kAfterCooldown).has_value());
}

TEST_CASE("a direct call into an open circuit does not make it half-open") {
  Circuit circuit = Opened();
  CHECK(Try(circuit, kOptions, kNow + seconds(59)) == Transition::kNone);
  CHECK(circuit.state == CircuitState::kOpen);
}

TEST_CASE("half-open, success or alive: closed, fails cleared") {
  for (const Verdict verdict : {Verdict::kSuccess, Verdict::kAlive}) {
    Circuit circuit = HalfOpen();
    CHECK(Do(circuit, verdict, kAfterCooldown).transition == Transition::kClosed);
    CHECK(circuit.state == CircuitState::kClosed);
    CHECK(circuit.consecutive_fails == 0);
  }
}

TEST_CASE("half-open, failure or open_now: open again with a new cooldown") {
  for (const Verdict verdict : {Verdict::kFailure, Verdict::kOpenNow}) {
    Circuit circuit = HalfOpen();
    CHECK(Do(circuit, verdict, kAfterCooldown).transition == Transition::kReopened);
    CHECK(circuit.state == CircuitState::kOpen);
    CHECK(circuit.consecutive_fails == 5);
    CHECK(circuit.opened_at == kAfterCooldown);
  }
}

TEST_CASE("F103 a probe that says nothing leaves the circuit half-open and admitting") {
  for (const Verdict verdict : {Verdict::kNeutral, Verdict::kAbandoned}) {
    Circuit circuit = HalfOpen();
    Do(circuit, verdict, kAfterCooldown);
    CHECK(circuit.state == CircuitState::kHalfOpen);
    CHECK_FALSE(BlockedUntil(circuit, kOptions, kAfterCooldown).has_value());
  }
}

TEST_CASE("F107 the first outcome of a half-open burst decides for all") {
  Circuit circuit = HalfOpen();
  const std::uint64_t burst = circuit.generation;
  CHECK(Apply(circuit, burst, Report(Verdict::kSuccess), kOptions, kAfterCooldown).transition ==
        Transition::kClosed);
  for (int i = 0; i < 199; ++i) {
    const Settled late =
        Apply(circuit, burst, Report(Verdict::kFailure), kOptions, kAfterCooldown + seconds(1));
    CHECK(late.effect == BreakerEffect::kNoop);
  }
  CHECK(circuit.state == CircuitState::kClosed);
  CHECK(circuit.consecutive_fails == 0);

  Circuit failing = HalfOpen();
  const std::uint64_t other = failing.generation;
  Apply(failing, other, Report(Verdict::kFailure), kOptions, kAfterCooldown);
  Apply(failing, other, Report(Verdict::kFailure), kOptions, kAfterCooldown + seconds(9));
  CHECK(failing.opened_at == kAfterCooldown);
}

TEST_CASE("F105 a report from before a transition changes nothing newer") {
  Circuit circuit;
  const std::uint64_t old = circuit.generation;
  Do(circuit, Verdict::kOpenNow);
  Try(circuit, kOptions, kAfterCooldown);
  CHECK(Apply(circuit, old, Report(Verdict::kSuccess), kOptions, kAfterCooldown).transition ==
        Transition::kNone);
  CHECK(circuit.state == CircuitState::kHalfOpen);
  Do(circuit, Verdict::kSuccess, kAfterCooldown);
  CHECK(Apply(circuit, old, Report(Verdict::kOpenNow), kOptions, kAfterCooldown).effect ==
        BreakerEffect::kNoop);
  CHECK(circuit.state == CircuitState::kClosed);
}

TEST_CASE("an open circuit past its cooldown is shown half-open") {
  const Circuit circuit = Opened();
  CHECK(LogicalState(circuit, kOptions, kAfterCooldown - Duration(1)) == CircuitState::kOpen);
  CHECK(LogicalState(circuit, kOptions, kAfterCooldown) == CircuitState::kHalfOpen);
  CHECK(LogicalState(Circuit{}, kOptions, kNow) == CircuitState::kClosed);
}

TEST_CASE("R47 off, or threshold 0: nothing refuses, nothing is charged") {
  CircuitBreakerSettings off = kOptions;
  off.enabled = false;
  CircuitBreakerSettings zero = kOptions;
  zero.failure_threshold = 0;
  for (const CircuitBreakerSettings& settings : {off, zero}) {
    CHECK_FALSE(Enforced(settings));
    Circuit circuit = Opened();
    CHECK_FALSE(BlockedUntil(circuit, settings, kNow).has_value());
    CHECK(Try(circuit, settings, kAfterCooldown) == Transition::kNone);
    CHECK(Apply(circuit, circuit.generation, Report(Verdict::kSuccess), settings, kNow).effect ==
          BreakerEffect::kDisabled);
    Circuit closed;
    Apply(closed, closed.generation, Report(Verdict::kOpenNow), settings, kNow);
    CHECK(closed.state == CircuitState::kClosed);
    CHECK(closed.last_cause.empty());
  }
}

TEST_CASE("a threshold lowered below the count opens at the next failure") {
  Circuit circuit;
  for (int i = 0; i < 4; ++i) Do(circuit, Verdict::kFailure);
  CircuitBreakerSettings strict = kOptions;
  strict.failure_threshold = 2;
  CHECK(Apply(circuit, circuit.generation, Report(Verdict::kFailure), strict, kNow).transition ==
        Transition::kOpened);
}

TEST_CASE("a cooldown beyond the clock's range never ends") {
  CircuitBreakerSettings forever = kOptions;
  forever.timeout = Duration::max();
  Circuit circuit = Opened();
  CHECK(BlockedUntil(circuit, forever, kNow) == TimePoint::max());
  CHECK(LogicalState(circuit, forever, kAfterCooldown) == CircuitState::kOpen);
}

}  // namespace hotel::decide
