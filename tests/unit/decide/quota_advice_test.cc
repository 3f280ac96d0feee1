// Retarget, release and seed of one circuit (facts d).
#include "libhotel/decide/quota_advice.h"

#include "tests/support/catch.h"
#include "tests/unit/decide/circuit_run.h"

namespace hotel::decide::circuit_test {
namespace {

QuotaReading Spent(Duration from_start) {
  return {QuotaReading::Kind::kExhausted, kStart + from_start};
}

}  // namespace

TEST_CASE("retarget: the wait runs from the opening to the reset") {
  CircuitRun run;
  run.OpenNow();
  run.now += seconds(30);
  REQUIRE(Retarget(run.circuit, Spent(hours(5)), run.settings, run.now, &run.random));
  CHECK(run.circuit.pin.source == PinSource::kAdvisor);
  CHECK(*run.until() >= kStart + hours(5));
  CHECK(*run.until() <= kStart + hours(5) + minutes(15));
  CHECK(run.circuit.last_cause == "quota pin retargeted (advisor)");
  CHECK(run.circuit.opened_at == kStart);
  CHECK(run.circuit.consecutive_fails == 5);
  // Said again it changes nothing.
  CHECK_FALSE(Retarget(run.circuit, Spent(hours(5)), run.settings, run.now, &run.random));
}

TEST_CASE("retarget: only longer, only what refuses, never beyond the ceiling") {
  CircuitRun run;
  CHECK_FALSE(Retarget(run.circuit, Spent(hours(5)), run.settings, run.now, &run.random));
  run.OpenNow();
  CHECK_FALSE(Retarget(run.circuit, Spent(seconds(60)), run.settings, run.now, &run.random));
  CHECK_FALSE(Retarget(run.circuit, {QuotaReading::Kind::kExhausted, std::nullopt}, run.settings,
                       run.now, &run.random));
  run.now += seconds(60);
  CHECK_FALSE(Retarget(run.circuit, Spent(hours(5)), run.settings, run.now, &run.random));  // due
  run.Probe();
  CHECK_FALSE(Retarget(run.circuit, Spent(hours(5)), run.settings, run.now, &run.random));
  run.Fail();
  REQUIRE(Retarget(run.circuit, Spent(hours(1000)), run.settings, run.now, &run.random));
  CHECK(run.cooldown().span <= hours(25) + minutes(12));
  run.settings.quota_pin_max = Duration::zero();
  CHECK_FALSE(Retarget(run.circuit, Spent(hours(1000)), run.settings, run.now, &run.random));
}

TEST_CASE("release: account-wide pins only; state, fails and backoff stay, the streak goes") {
  for (const bool account : {false, true}) {
    CircuitRun run;
    run.OpenNow();
    run.Probe();
    run.Fail();
    run.Probe();
    run.OpenNow(PinHint{hours(5), account});
    const Circuit before = run.circuit;
    REQUIRE(before.limited_opens == 1);
    CHECK(ReleasePin(run.circuit, /*every=*/false, kCauseRecovered, run.now) == account);
    CHECK(run.circuit.state == CircuitState::kOpen);
    CHECK(run.circuit.consecutive_fails == before.consecutive_fails);
    CHECK(run.circuit.backoff == before.backoff);
    CHECK(run.circuit.limited_opens == (account ? 0 : 1));
    if (account) CHECK(run.cooldown().span == minutes(4));
    if (account) CHECK(run.circuit.last_cause == kCauseRecovered);
    if (!account) CHECK(ReleasePin(run.circuit, /*every=*/true, kCausePollingOff, run.now));
    CHECK_FALSE(run.cooldown().pinned);
  }
}

TEST_CASE("seed: opens a circuit for the account, or nothing where nothing would be pinned") {
  CircuitRun run;
  Circuit seeded;
  REQUIRE(Seed(seeded, Spent(hours(5)), run.settings, kStart, &run.random));
  CHECK(seeded.state == CircuitState::kOpen);
  CHECK(seeded.pin.source == PinSource::kAdvisor);
  CHECK(seeded.last_cause == "quota pin seeded (advisor)");
  Circuit reserved;
  REQUIRE(Seed(reserved, {QuotaReading::Kind::kReserveReached, kStart + hours(5)}, run.settings,
               kStart, &run.random));
  CHECK(reserved.pin.source == PinSource::kReserve);

  Circuit none;
  CHECK_FALSE(Seed(none, Spent(seconds(60)), run.settings, kStart, &run.random));
  CHECK_FALSE(Seed(none, Spent(Duration(0)), run.settings, kStart, &run.random));
  CircuitBreakerSettings off = run.settings;
  off.quota_pin_max = Duration::zero();
  CHECK_FALSE(Seed(none, Spent(hours(5)), off, kStart, &run.random));
  off = run.settings;
  off.enabled = false;
  CHECK_FALSE(Seed(none, Spent(hours(5)), off, kStart, &run.random));
  CHECK(none.state == CircuitState::kClosed);
}

}  // namespace hotel::decide::circuit_test
