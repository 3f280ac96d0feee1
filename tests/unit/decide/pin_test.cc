// Quota pins of one circuit (facts d, "Cooldown arithmetic"; seed 000, "Quota-pinned cooldowns").
#include "tests/support/catch.h"
#include "tests/unit/decide/circuit_run.h"

namespace hotel::decide::circuit_test {
namespace {

PinHint Hint(Duration duration, bool account = false) { return {duration, account}; }

QuotaReading Spent(TimePoint resets_at, bool reserve = false) {
  return {reserve ? QuotaReading::Kind::kReserveReached : QuotaReading::Kind::kExhausted,
          resets_at};
}

/// Within [span, span + 5 %].
bool About(Duration value, Duration span) { return value >= span && value <= span + span / 20; }

}  // namespace

TEST_CASE("a pin stretches the cooldown to the reset, up to a twentieth longer") {
  bool jittered = false;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CircuitRun run;
    run.random = seed;
    run.reading = Spent(kStart + hours(5));
    run.OpenNow();
    CHECK(run.circuit.pin.source == PinSource::kAdvisor);
    CHECK(run.cooldown().pinned);
    CHECK(About(run.cooldown().span, hours(5)));
    jittered = jittered || run.cooldown().span != hours(5);
  }
  CHECK(jittered);
}

TEST_CASE("the same seed draws the same pin") {
  CircuitRun a;
  CircuitRun b;
  a.OpenNow(Hint(hours(5)));
  b.OpenNow(Hint(hours(5)));
  CHECK(a.cooldown().span == b.cooldown().span);
}

TEST_CASE("pin sources: advisor, reserve, response, account; a reading goes before the hint") {
  const auto source = [](QuotaReading reading, std::optional<PinHint> hint) {
    CircuitRun run;
    run.reading = reading;
    run.OpenNow(hint);
    return run.circuit.pin.source;
  };
  CHECK(source({}, std::nullopt) == PinSource::kNone);
  CHECK(source({}, Hint(hours(3))) == PinSource::kResponse);
  CHECK(source({}, Hint(hours(3), true)) == PinSource::kAccount);
  CHECK(source(Spent(kStart + hours(9)), Hint(hours(3), true)) == PinSource::kAdvisor);
  CHECK(source(Spent(kStart + hours(9), true), Hint(hours(3))) == PinSource::kReserve);
  // Healthy, undatable and past readings are no advice: the hint stands.
  CHECK(source({QuotaReading::Kind::kHealthy, kStart + hours(9)}, Hint(hours(3))) ==
        PinSource::kResponse);
  CHECK(source({QuotaReading::Kind::kExhausted, std::nullopt}, Hint(hours(3))) ==
        PinSource::kResponse);
  CHECK(source(Spent(kStart), Hint(hours(3))) == PinSource::kResponse);
}

TEST_CASE("a reading pins whatever opened the circuit, a closed one never") {
  CircuitRun run;
  run.reading = Spent(kStart + hours(2));
  for (int i = 0; i < 4; ++i) run.Fail();
  CHECK(run.circuit.pin.source == PinSource::kNone);
  run.Fail();
  CHECK(run.circuit.pin.source == PinSource::kAdvisor);
}

TEST_CASE("quota_pin_max cuts a pin before the jitter") {
  CircuitRun run;
  run.reading = Spent(kStart + hours(24 * 7));
  run.OpenNow();
  CHECK(About(run.cooldown().span, hours(24)));
}

TEST_CASE("a pin is floored: what is not longer than the wait without it pins nothing") {
  for (const int wait : {0, 3, 60}) {
    CircuitRun run;
    run.OpenNow(Hint(seconds(wait)));
    CHECK(run.circuit.pin.source == PinSource::kNone);
    CHECK(run.cooldown().span == seconds(60));
  }
  // A reset in three minutes does not pull a four-minute backoff in.
  CircuitRun run;
  run.OpenNow();
  run.Probe();
  run.Fail();
  run.Probe();
  run.reading = Spent(run.now + minutes(3));
  run.Fail();
  CHECK(run.circuit.pin.source == PinSource::kNone);
  CHECK(run.cooldown().span == minutes(4));
}

TEST_CASE("the longest cooldown in force governs, and says which it is") {
  CircuitRun run;
  run.OpenNow();
  run.Probe();
  run.reading = Spent(run.now + hours(3));
  run.Fail();
  const Cooldown both = run.cooldown();
  CHECK(About(both.span, hours(3)));
  CHECK(both.pinned);
  CHECK(both.backed_off);
  CHECK_FALSE(both.backoff_governs);
}

TEST_CASE("quota_pin_max 0 releases a pin at once, into the backoff") {
  CircuitRun run;
  run.OpenNow();
  run.Probe();
  run.reading = Spent(run.now + hours(3));
  run.Fail();
  run.settings.quota_pin_max = Duration::zero();
  CHECK_FALSE(run.cooldown().pinned);
  CHECK(run.cooldown().span == minutes(2));
  // And takes no new ones.
  run.Probe();
  run.Fail();
  CHECK(run.circuit.pin.source == PinSource::kNone);
}

TEST_CASE("a pin by a refusal probes every pin_probe_interval, up to a twentieth later") {
  for (const bool account : {false, true}) {
    CircuitRun run;
    run.OpenNow(Hint(hours(24), account));
    CHECK(run.cooldown().pinned);
    CHECK(About(run.cooldown().span, hours(1)));
    CHECK(run.until() == run.now + run.cooldown().span);
  }
}

TEST_CASE("a measured pin does not probe, nor does one with the interval at 0") {
  CircuitRun measured;
  measured.reading = Spent(kStart + hours(24));
  measured.OpenNow();
  CHECK(measured.cooldown().span >= hours(24));

  CircuitRun served;
  served.settings.pin_probe_interval = Duration::zero();
  served.OpenNow(Hint(hours(24)));
  CHECK(served.cooldown().span >= hours(24));
}

TEST_CASE("a pin shorter than the interval is served whole") {
  CircuitRun run;
  run.OpenNow(Hint(minutes(10)));
  CHECK(About(run.cooldown().span, minutes(10)));
}

TEST_CASE("a refused probe of a refusal's pin pins again and grows no backoff") {
  CircuitRun run;
  run.OpenNow(Hint(hours(24)));
  for (int i = 0; i < 5; ++i) {
    run.Probe();
    CHECK(run.OpenNow(Hint(hours(24))).transition == Transition::kReopened);
    CHECK(run.circuit.failed_probes == 0);
    CHECK(About(run.cooldown().span, hours(1)));
  }
  // A probe that fails in another way is a failed probe.
  run.Probe();
  run.Fail();
  CHECK(run.circuit.failed_probes == 1);
}

TEST_CASE("a refused probe of a measured pin, or of none, grows the backoff") {
  CircuitRun measured;
  measured.reading = Spent(kStart + hours(1));
  measured.OpenNow();
  measured.Probe();
  measured.OpenNow();
  CHECK(measured.circuit.failed_probes == 1);

  CircuitRun plain;
  plain.OpenNow();
  plain.Probe();
  plain.OpenNow();
  CHECK(plain.circuit.failed_probes == 1);
}

TEST_CASE("a circuit whose backoff reaches the pin keeps the backoff") {
  CircuitRun run;
  run.OpenNow();
  for (int i = 0; i < 4; ++i) {
    run.Probe();
    run.Fail();
  }
  run.Probe();
  run.OpenNow(Hint(minutes(10)));
  CHECK_FALSE(run.cooldown().pinned);
  CHECK(run.cooldown().span == minutes(15));
}

TEST_CASE("a success closes a pinned circuit and drops the pin") {
  CircuitRun run;
  run.OpenNow(Hint(hours(24)));
  run.Probe();
  CHECK(run.Succeed().transition == Transition::kClosed);
  CHECK(run.circuit.pin.source == PinSource::kNone);
}

TEST_CASE("saturated answers touch neither pin nor failed probes") {
  CircuitRun run;
  run.OpenNow(Hint(hours(24)));
  const Circuit before = run.circuit;
  run.Report({Verdict::kNeutral, "upstream status 429 (saturated)", 429});
  run.Probe();
  run.Report({Verdict::kNeutral, "upstream status 429 (saturated)", 429});
  CHECK(run.circuit.state == CircuitState::kHalfOpen);
  CHECK(run.circuit.pin.span == before.pin.span);
  CHECK(run.circuit.failed_probes == 0);
  CHECK(run.circuit.last_cause == "upstream status 429 (saturated)");
}

}  // namespace hotel::decide::circuit_test
