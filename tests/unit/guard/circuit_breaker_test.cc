#include <string>
#include <utility>

#include "tests/support/catch.h"
#include "tests/unit/guard/breaker_fixture.h"

namespace hotel::guard::test {

TEST_CASE("F121 five failures in a row open the circuit, the sixth request is refused") {
  Fixture f;
  for (int i = 0; i < 5; ++i) CHECK(f.Once(f.Key(), Verdict::kFailure) == BreakerEffect::kCharge);
  CHECK(f.Until(f.Key(), kNow) == kNow + seconds(60));
  const Admission refused = f.breaker->TryAcquire(f.Key(), kNow + seconds(1));
  CHECK_FALSE(refused.admitted());
  CHECK(refused.retry_at == kNow + seconds(60));
}

TEST_CASE("F111 r32 a circuit darkens its own model only") {
  Fixture f;
  f.Open(f.Key("a"));
  CHECK(f.breaker->Blocked(f.Key("a"), kNow).has_value());
  CHECK_FALSE(f.breaker->Blocked(f.Key("b"), kNow).has_value());
  CHECK_FALSE(f.breaker->Blocked(f.Key("a", "p2"), kNow).has_value());
}

TEST_CASE("a success resets its own circuit only") {
  Fixture f;
  f.Once(f.Key("a"), Verdict::kFailure);
  f.Once(f.Key("b"), Verdict::kSuccess);
  CHECK(f.View(f.Key("a")).consecutive_fails == 1);
}

TEST_CASE("cooldown over: every request is admitted until the first outcome") {
  Fixture f;
  f.Open(f.Key());
  const TimePoint later = kNow + seconds(60);
  CHECK_FALSE(f.breaker->Blocked(f.Key(), later).has_value());
  std::vector<Admission> burst;
  for (int i = 0; i < 200; ++i) burst.push_back(f.breaker->TryAcquire(f.Key(), later));
  for (const Admission& admission : burst) CHECK(admission.admitted());
  CHECK(f.View(f.Key(), later).state == CircuitState::kHalfOpen);
  for (Admission& admission : burst) {
    admission.permit.Report({Verdict::kFailure, "upstream status 500", 500}, later);
  }
  CHECK(f.Until(f.Key(), later) == later + seconds(60));
  CHECK(f.events.Take().size() == 2);  // opened, and reopened once by the whole burst
}

TEST_CASE("a permit knows whether a half-open circuit gave it") {
  Fixture f;
  const CircuitKey key = Fixture::Key();
  CHECK_FALSE(f.breaker->TryAcquire(key, kNow).permit.probe());
  f.Open(key);
  CHECK_FALSE(f.breaker->AcquireDirect(key, kNow).probe());
  const TimePoint later = kNow + seconds(60);
  for (const bool direct : {false, true}) {
    Permit permit = direct ? f.breaker->AcquireDirect(key, later)
                           : std::move(f.breaker->TryAcquire(key, later).permit);
    CHECK(permit.probe());
    const Permit moved = std::move(permit);
    CHECK(moved.probe());
  }
  Settings off = *f.settings.Current();
  off.global.circuit_breaker.enabled = false;
  f.settings.Set(off);
  CHECK_FALSE(f.breaker->TryAcquire(key, later).permit.probe());
}

TEST_CASE("Blocked changes nothing: only an admission makes a circuit half-open") {
  Fixture f;
  f.Once(f.Key(), Verdict::kSuccess);
  const Permit before = f.breaker->AcquireDirect(f.Key(), kNow);
  f.Open(f.Key());
  const TimePoint later = kNow + seconds(61);
  CHECK_FALSE(f.breaker->Blocked(f.Key(), later).has_value());
  Admission probe = f.breaker->TryAcquire(f.Key(), later);
  CHECK(probe.permit.generation() == before.generation() + 2);  // opened, half-open
}

TEST_CASE("F105 the old probe's late failure leaves the newer closed circuit alone") {
  Fixture f;
  f.Open(f.Key());
  const TimePoint later = kNow + seconds(60);
  Admission hanging = f.breaker->TryAcquire(f.Key(), later);
  CHECK(f.Once(f.Key(), Verdict::kSuccess, later + seconds(60)) == BreakerEffect::kSuccess);
  CHECK(hanging.permit.Report({Verdict::kFailure, "upstream request failed", 0},
                              later + seconds(90)) == BreakerEffect::kNoop);
  CHECK(f.View(f.Key(), later).state == CircuitState::kClosed);
  CHECK(f.View(f.Key(), later).consecutive_fails == 0);
}

TEST_CASE("decisions 7: a direct call is never refused; it charges and credits") {
  Fixture f;
  for (int i = 0; i < 5; ++i) {
    Permit permit = f.breaker->AcquireDirect(f.Key(), kNow);
    CHECK(permit.Report({Verdict::kFailure, "upstream status 500", 500}, kNow) ==
          BreakerEffect::kCharge);
  }
  CHECK(f.breaker->Blocked(f.Key(), kNow).has_value());
  Permit blocked = f.breaker->AcquireDirect(f.Key(), kNow + seconds(1));
  REQUIRE(blocked.valid());
  CHECK(blocked.Report({Verdict::kSuccess, "success", 200}, kNow + seconds(2)) ==
        BreakerEffect::kNoop);
  CHECK(f.breaker->Blocked(f.Key(), kNow + seconds(2)).has_value());
  Permit probe = f.breaker->AcquireDirect(f.Key(), kNow + seconds(60));
  CHECK(probe.Report({Verdict::kSuccess, "success", 200}, kNow + seconds(60)) ==
        BreakerEffect::kSuccess);
  CHECK(f.View(f.Key()).state == CircuitState::kClosed);
}

TEST_CASE("a permit that dies unreported is abandoned") {
  Fixture f;
  f.Once(f.Key(), Verdict::kFailure);
  { Admission dropped = f.breaker->TryAcquire(f.Key(), kNow); }
  CHECK(f.View(f.Key()).consecutive_fails == 1);
  f.Open(f.Key());
  const TimePoint later = kNow + seconds(60);
  { Admission dropped = f.breaker->TryAcquire(f.Key(), later); }
  CHECK(f.breaker->TryAcquire(f.Key(), later).admitted());
}

TEST_CASE("a permit moves: it is reported once, by its last owner") {
  Fixture f;
  Admission admission = f.breaker->TryAcquire(f.Key(), kNow);
  Permit first = std::move(admission.permit);
  CHECK_FALSE(admission.admitted());
  Permit second;
  second = std::move(first);
  CHECK_FALSE(first.valid());
  REQUIRE(second.valid());
  CHECK(second.key().model == "m");
  CHECK(second.Report({Verdict::kFailure, "upstream status 500", 500}, kNow) ==
        BreakerEffect::kCharge);
  CHECK_FALSE(second.valid());
  // Assigning over a live permit abandons it.
  Permit live = f.breaker->AcquireDirect(f.Key(), kNow);
  live = f.breaker->AcquireDirect(f.Key(), kNow);
  CHECK(live.valid());
  CHECK(f.View(f.Key()).consecutive_fails == 1);
}

TEST_CASE("the kill switch is read at every decision, in both directions") {
  Fixture f;
  f.Open(f.Key());
  const std::shared_ptr<const Settings> on = f.settings.Current();
  Settings off = *on;
  off.global.circuit_breaker.enabled = false;
  Admission before = f.breaker->TryAcquire(f.Key("other"), kNow);

  f.settings.Set(off);
  CHECK_FALSE(f.breaker->Blocked(f.Key(), kNow).has_value());
  Admission while_off = f.breaker->TryAcquire(f.Key(), kNow);
  REQUIRE(while_off.admitted());
  CHECK_FALSE(while_off.permit.enforced());
  CHECK(before.permit.Report({Verdict::kOpenNow, "upstream status 402", 402}, kNow) ==
        BreakerEffect::kDisabled);

  f.settings.Set(*on);
  CHECK(f.breaker->Blocked(f.Key(), kNow).has_value());
  CHECK(while_off.permit.Report({Verdict::kOpenNow, "upstream status 402", 402}, kNow) ==
        BreakerEffect::kDisabled);
  CHECK_FALSE(f.breaker->Blocked(f.Key("other"), kNow).has_value());
}

TEST_CASE("R47 threshold 0 behaves as switched off") {
  Fixture f;
  Settings settings = *f.settings.Current();
  settings.global.circuit_breaker.failure_threshold = 0;
  f.settings.Set(settings);
  CHECK(f.Once(f.Key(), Verdict::kOpenNow) == BreakerEffect::kDisabled);
  CHECK(f.breaker->TryAcquire(f.Key(), kNow).admitted());
}

TEST_CASE("a provider's own options decide about its circuits, live") {
  Fixture f;
  Settings settings = *f.settings.Current();
  EngineSettings strict = settings.global;
  strict.circuit_breaker.failure_threshold = 1;
  strict.circuit_breaker.timeout = seconds(7);
  settings.providers["name-p2"] = strict;
  f.settings.Set(settings);
  f.Once(f.Key("m", "p1"), Verdict::kFailure);
  f.Once(f.Key("m", "p2"), Verdict::kFailure);
  CHECK_FALSE(f.breaker->Blocked(f.Key("m", "p1"), kNow).has_value());
  CHECK(f.Until(f.Key("m", "p2"), kNow) == kNow + seconds(7));
  // A shorter cooldown holds for a circuit that is open already.
  settings.providers["name-p2"].circuit_breaker.timeout = seconds(3);
  f.settings.Set(settings);
  CHECK(f.Until(f.Key("m", "p2"), kNow) == kNow + seconds(3));
}

TEST_CASE("views: sorted by provider and model, with what is in force") {
  Fixture f;
  f.Once(f.Key("b", "p2"), Verdict::kSuccess);
  f.Open(f.Key("z", "p1"));
  f.Once(f.Key("a", "p1"), Verdict::kFailure, kNow, 503);
  const std::vector<CircuitView> views = f.breaker->Views(kNow + seconds(1));
  REQUIRE(views.size() == 3);
  CHECK(views[0].key.model == "a");
  CHECK(views[1].key.model == "z");
  CHECK(views[2].key.provider_id == "p2");
  CHECK(views[2].key.provider_name == "name-p2");
  CHECK(views[0].state == CircuitState::kClosed);
  CHECK(views[0].consecutive_fails == 1);
  CHECK(views[0].last_cause == "upstream status 503");
  CHECK(views[0].last_status == 503);
  CHECK(views[0].last_at == kNow);
  CHECK_FALSE(views[0].opened_at.has_value());
  CHECK(views[1].state == CircuitState::kOpen);
  CHECK(views[1].opened_at == kNow);
  CHECK(views[1].next_retry_at == kNow + seconds(60));
  // Past its cooldown it is half-open for the eye, and keeps the instant it opened.
  const CircuitView due = f.View(f.Key("z", "p1"), kNow + seconds(60));
  CHECK(due.state == CircuitState::kHalfOpen);
  CHECK(due.opened_at == kNow);
  CHECK_FALSE(due.next_retry_at.has_value());
}

TEST_CASE("any state, reset: deleted") {
  Fixture f;
  f.Open(f.Key("a"));
  f.Open(f.Key("b"));
  f.Once(f.Key("c"), Verdict::kFailure);
  CHECK(f.breaker->Reset("p1", "a", kNow).recovered == 1);
  CHECK(f.breaker->TryAcquire(f.Key("a"), kNow).admitted());
  CHECK(f.breaker->Views(kNow).size() == 2);
  CHECK(f.breaker->Reset("p1", std::nullopt, kNow).recovered == 1);  // c was closed
  CHECK(f.breaker->Views(kNow).empty());
  CHECK(f.breaker->Reset("p1", std::nullopt, kNow).recovered == 0);
  CHECK(f.breaker->Reset("unknown", "m", kNow).recovered == 0);
}

TEST_CASE("a reset is not undone by requests that were under way") {
  Fixture f;
  f.Once(f.Key(), Verdict::kFailure);
  Admission running = f.breaker->TryAcquire(f.Key(), kNow);
  Admission other = f.breaker->TryAcquire(f.Key(), kNow);
  f.breaker->Reset("p1", std::nullopt, kNow);
  CHECK(running.permit.Report({Verdict::kOpenNow, "upstream status 402", 402}, kNow) ==
        BreakerEffect::kNoop);
  CHECK_FALSE(f.breaker->Blocked(f.Key(), kNow).has_value());
  CHECK(f.breaker->Views(kNow).empty());
  // Nor does it spoil the circuit that came into being since.
  f.Once(f.Key(), Verdict::kFailure);
  other.permit.Report({Verdict::kOpenNow, "upstream status 402", 402}, kNow);
  CHECK(f.View(f.Key()).consecutive_fails == 1);
}

TEST_CASE("neutral and abandoned verdicts make no circuit") {
  Fixture f;
  CHECK(f.Once(f.Key(), Verdict::kNeutral) == BreakerEffect::kNoop);
  CHECK(f.Once(f.Key(), Verdict::kAbandoned) == BreakerEffect::kNoop);
  CHECK(f.breaker->Views(kNow).empty());
}

TEST_CASE("256 circuits per provider: the least recently charged closed one makes room") {
  Fixture f;
  const auto model = [](int i) { return "m" + std::to_string(1000 + i); };
  f.Open(f.Key(model(0)));  // the oldest charge of all, but open
  for (int i = 1; i < 256; ++i) {
    f.Once(f.Key(model(i)), Verdict::kFailure, kNow + seconds(1) * i);
  }
  f.Once(f.Key(model(1)), Verdict::kFailure, kNow + seconds(500));  // charged again, now younger
  REQUIRE(f.breaker->Views(kNow).size() == 256);

  f.Once(f.Key("new"), Verdict::kFailure, kNow + seconds(501));
  const std::vector<CircuitView> views = f.breaker->Views(kNow);
  CHECK(views.size() == 256);
  CHECK(f.View(f.Key(model(0))).state == CircuitState::kOpen);
  CHECK(f.View(f.Key(model(1))).consecutive_fails == 2);
  CHECK(f.View(f.Key(model(2))).key.model.empty());  // gone
  CHECK(f.View(f.Key("new")).consecutive_fails == 1);

  // A success is not worth another circuit's place.
  CHECK(f.Once(f.Key("fine"), Verdict::kSuccess) == BreakerEffect::kSuccess);
  CHECK(f.View(f.Key(model(3))).consecutive_fails == 1);
  CHECK(f.breaker->Views(kNow).size() == 256);
  // Other providers have their own room.
  f.Once(f.Key("m", "p2"), Verdict::kFailure);
  CHECK(f.breaker->Views(kNow).size() == 257);
}

TEST_CASE("a circuit that was never charged goes first, ties go by model") {
  Fixture f;
  f.Once(f.Key("zz"), Verdict::kSuccess);
  f.Once(f.Key("yy"), Verdict::kSuccess);
  for (int i = 0; i < 254; ++i) f.Once(f.Key("m" + std::to_string(i)), Verdict::kFailure);
  f.Once(f.Key("new"), Verdict::kFailure);
  CHECK(f.View(f.Key("yy")).key.model.empty());
  CHECK(f.View(f.Key("zz")).key.model == "zz");
}

TEST_CASE("256 open circuits: none is dropped, the map grows") {
  Fixture f;
  for (int i = 0; i < 300; ++i) f.Open(f.Key("m" + std::to_string(i)));
  CHECK(f.breaker->Views(kNow).size() == 300);
  for (int i = 0; i < 300; ++i) {
    CHECK(f.breaker->Blocked(f.Key("m" + std::to_string(i)), kNow).has_value());
  }
}

TEST_CASE("a permit of an evicted circuit that had reopened speaks for no later one") {
  Fixture f;
  // Given before there was a circuit to count it, so nothing protects the circuit from eviction.
  Admission stale = f.breaker->TryAcquire(f.Key("old"), kNow);
  f.Open(f.Key("old"));
  f.Once(f.Key("old"), Verdict::kSuccess, kNow + seconds(60));
  for (int i = 0; i < 256; ++i) {
    f.Once(f.Key("m" + std::to_string(i)), Verdict::kFailure, kNow + seconds(61));
  }
  REQUIRE(f.View(f.Key("old")).key.model.empty());
  CHECK(stale.permit.Report({Verdict::kOpenNow, "upstream status 402", 402}, kNow + seconds(62)) ==
        BreakerEffect::kNoop);
  CHECK_FALSE(f.breaker->Blocked(f.Key("old"), kNow + seconds(62)).has_value());
}

}  // namespace hotel::guard::test
