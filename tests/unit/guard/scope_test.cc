// What a circuit is about, and refusals by the provider's verdict (R50, R51, R64, R65; facts d).
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/guard/breaker_fixture.h"

namespace hotel::guard::test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

const CircuitReport kGood{Verdict::kSuccess, "success", 200};
const CircuitReport kBad{Verdict::kFailure, "upstream status 503", 503};

CircuitReport Spent(Duration span, bool account) {
  return {Verdict::kOpenNow, "upstream status 429 (exhausted)", 429, true, PinHint{span, account}};
}

}  // namespace

TEST_CASE("R64 scope provider: one circuit for all models of a provider") {
  Fixture f;
  f.Change([](CircuitBreakerSettings& s) { s.scope = CircuitBreakerSettings::Scope::kProvider; });
  for (int i = 0; i < 5; ++i) f.Report(f.Key("m" + std::to_string(i)), kBad);
  const auto block = f.breaker->Blocked(f.Key("never seen"), kNow);
  REQUIRE(block.has_value());
  CHECK(block->reason == Refusal::kCircuitOpen);
  CHECK(block->provider_wide);
  CHECK_FALSE(f.breaker->Blocked(f.Key("m0", "p2"), kNow).has_value());
  const std::vector<ProviderView> rows = f.breaker->Providers(kNow);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].circuits.size() == 1);
  CHECK(rows[0].row().key.model.empty());
  CHECK(rows[0].provider_open);
  // Another model's success closes it.
  f.Report(f.Key("x"), kGood, kNow + seconds(60));
  CHECK_FALSE(f.breaker->Blocked(f.Key("m0"), kNow + seconds(60)).has_value());
}

TEST_CASE("R65 scope model: circuits of their own, calls without a model have one too") {
  Fixture f;
  f.Change([](CircuitBreakerSettings& s) { s.span_models = 0; });
  f.Open(f.Key(""));
  CHECK(f.breaker->Blocked(f.Key(""), kNow).has_value());
  CHECK_FALSE(f.breaker->Blocked(f.Key("m"), kNow).has_value());
}

TEST_CASE("a change of scope leaves the other scope's circuits standing by") {
  Fixture f;
  f.Change([](CircuitBreakerSettings& s) { s.span_models = 0; });
  f.Open(f.Key("a"));
  Permit running = f.breaker->AcquireDirect(f.Key("a"), kNow);
  f.Change([](CircuitBreakerSettings& s) { s.scope = CircuitBreakerSettings::Scope::kProvider; });
  CHECK_FALSE(f.breaker->Blocked(f.Key("a"), kNow).has_value());
  CHECK(f.breaker->Views(kNow).empty());
  // A permit speaks for the circuit it was given for.
  Permit other = f.breaker->AcquireDirect(f.Key("b"), kNow);
  f.Change([](CircuitBreakerSettings& s) { s.scope = CircuitBreakerSettings::Scope::kModel; });
  other.Report(kBad, kNow);
  CHECK(f.View(f.Key("")).consecutive_fails == 1);
  CHECK(f.View(f.Key("b")).key.provider_id.empty());
  CHECK(f.breaker->Blocked(f.Key("a"), kNow).has_value());
}

TEST_CASE("R50 a refused request learns why and when to come back; nothing is counted") {
  Fixture f;
  f.Change([](CircuitBreakerSettings& s) { s.span_models = 2; });
  f.Open(f.Key("a"));
  const Admission own = f.breaker->TryAcquire(f.Key("a"), kNow + seconds(1));
  CHECK(own.refusal == Refusal::kCircuitOpen);
  CHECK(own.retry_at == kNow + seconds(60));
  CHECK_FALSE(own.pinned);
  f.Open(f.Key("b"), kNow + seconds(10));
  const Admission sibling = f.breaker->TryAcquire(f.Key("c"), kNow + seconds(11));
  CHECK(sibling.refusal == Refusal::kProviderOpen);
  CHECK(sibling.retry_at == kNow + seconds(60));  // the first of the two that refuse
  CHECK(f.breaker->TryAcquire(f.Key("c"), kNow + seconds(60)).admitted());
  CHECK(f.View(f.Key("a")).in_flight == 0);
}

TEST_CASE("r32 one open model leaves its siblings alone, two skip the provider (span 2)") {
  Fixture f;
  f.Open(f.Key("a"));
  CHECK_FALSE(f.breaker->Blocked(f.Key("c"), kNow).has_value());
  f.Open(f.Key("b"));
  const auto block = f.breaker->Blocked(f.Key("c"), kNow);
  REQUIRE(block.has_value());
  CHECK(block->provider_wide);
  CHECK(block->reason == Refusal::kProviderOpen);
  CHECK_FALSE(f.breaker->Blocked(f.Key("c", "p2"), kNow).has_value());
  // A direct call is not skipped by the verdict either.
  CHECK(f.breaker->AcquireDirect(f.Key("c"), kNow).Report(kGood, kNow) == BreakerEffect::kSuccess);
  // A circuit owed a probe counts no more.
  CHECK_FALSE(f.breaker->Blocked(f.Key("c"), kNow + seconds(60)).has_value());
}

TEST_CASE("an account-wide refusal skips the provider on one answer, a model's own does not") {
  Fixture f;
  f.Change([](CircuitBreakerSettings& s) {
    s.quota_pin_max = hours(24);
    s.pin_probe_interval = hours(1);
  });
  f.Report(f.Key("a", "p1"), Spent(hours(9), false));
  CHECK_FALSE(f.breaker->Blocked(f.Key("b", "p1"), kNow).has_value());
  CHECK(f.breaker->Blocked(f.Key("a", "p1"), kNow)->pinned);

  f.Report(f.Key("a", "p2"), Spent(hours(9), true));
  const auto block = f.breaker->Blocked(f.Key("b", "p2"), kNow);
  REQUIRE(block.has_value());
  CHECK(block->pinned);
  CHECK(block->provider_wide);
  // The hourly probe lets siblings through; one still refused darkens the provider afresh.
  const TimePoint probe = block->until;
  CHECK(probe >= kNow + hours(1));
  CHECK(probe <= kNow + hours(1) + minutes(3));
  CHECK_FALSE(f.breaker->Blocked(f.Key("b", "p2"), probe).has_value());
  f.Report(f.Key("b", "p2"), Spent(hours(8), true), probe);
  CHECK(f.breaker->Blocked(f.Key("c", "p2"), probe).has_value());
  // Switching pins off releases them at once.
  f.Change([](CircuitBreakerSettings& s) { s.quota_pin_max = Duration::zero(); });
  CHECK_FALSE(f.breaker->Blocked(f.Key("c", "p2"), probe).has_value());
}

TEST_CASE("R51 half-open with a limit: the probe goes, the others are refused until it reports") {
  Fixture f;
  f.Change([](CircuitBreakerSettings& s) {
    s.half_open_max_in_flight = 1;
    s.success_threshold = 2;
  });
  f.Open(f.Key());
  const TimePoint later = kNow + seconds(60);
  Admission probe = f.breaker->TryAcquire(f.Key(), later);
  REQUIRE(probe.admitted());
  CHECK(probe.permit.probe());
  const Admission second = f.breaker->TryAcquire(f.Key(), later);
  CHECK(second.refusal == Refusal::kHalfOpenBusy);
  CHECK(second.retry_at == later + seconds(1));
  CHECK(f.breaker->Blocked(f.Key(), later)->reason == Refusal::kHalfOpenBusy);
  // A direct call is sent all the same, but is no second probe.
  Permit direct = f.breaker->AcquireDirect(f.Key(), later);
  CHECK_FALSE(direct.probe());
  CHECK(direct.Report(kBad, later) == BreakerEffect::kNoop);

  probe.permit.Report(kGood, later);
  CHECK(f.View(f.Key(), later).state == CircuitState::kHalfOpen);
  Admission next = f.breaker->TryAcquire(f.Key(), later);
  REQUIRE(next.admitted());
  CHECK_FALSE(f.breaker->TryAcquire(f.Key(), later).admitted());
  next.permit.Report(kGood, later);
  CHECK(f.View(f.Key(), later).state == CircuitState::kClosed);
}

TEST_CASE("R53 a probe that is dropped gives its place back") {
  Fixture f;
  f.Change([](CircuitBreakerSettings& s) { s.half_open_max_in_flight = 1; });
  f.Open(f.Key());
  const TimePoint later = kNow + seconds(60);
  for (int i = 0; i < 3; ++i) {
    Admission probe = f.breaker->TryAcquire(f.Key(), later);
    CHECK(probe.admitted());
    CHECK_FALSE(f.breaker->TryAcquire(f.Key(), later).admitted());
  }
  CHECK(f.View(f.Key(), later).in_flight == 0);
  // Also when the breaker was switched off in between.
  Admission probe = f.breaker->TryAcquire(f.Key(), later);
  f.Change([](CircuitBreakerSettings& s) { s.enabled = false; });
  probe.permit.Report(kBad, later);
  f.Change([](CircuitBreakerSettings& s) { s.enabled = true; });
  CHECK(f.breaker->TryAcquire(f.Key(), later).admitted());
}

TEST_CASE("R54 R55 switched off per provider: tuning is kept, nothing is shown") {
  Fixture f;
  f.Open(f.Key("m", "p1"));
  f.Open(f.Key("m", "p2"));
  Settings settings = *f.settings.Current();
  settings.providers["name-p1"] = settings.global;
  settings.providers["name-p1"].circuit_breaker.enabled = false;
  f.settings.Set(settings);
  CHECK_FALSE(f.breaker->Blocked(f.Key("m", "p1"), kNow).has_value());
  CHECK(f.breaker->Providers(kNow).size() == 1);
  // On for one provider while it is off for all.
  settings.providers["name-p1"].circuit_breaker.enabled = true;
  settings.global.circuit_breaker.enabled = false;
  f.settings.Set(settings);
  CHECK(f.breaker->Blocked(f.Key("m", "p1"), kNow).has_value());
  CHECK_FALSE(f.breaker->Blocked(f.Key("m", "p2"), kNow).has_value());
}

TEST_CASE("R46 the caller's leaving is no verdict") {
  Fixture f;
  for (int i = 0; i < 20; ++i) f.Once(f.Key(), Verdict::kAbandoned);
  CHECK_FALSE(f.breaker->Blocked(f.Key(), kNow).has_value());
  CHECK(f.breaker->Views(kNow).empty());
}

TEST_CASE("R47 R49 one report is one failure, a success between resets the count") {
  Fixture f;
  f.Change([](CircuitBreakerSettings& s) { s.failure_threshold = 2; });
  f.Report(f.Key(), kBad);
  CHECK_FALSE(f.breaker->Blocked(f.Key(), kNow).has_value());
  f.Report(f.Key(), kGood);
  f.Report(f.Key(), kBad);
  CHECK_FALSE(f.breaker->Blocked(f.Key(), kNow).has_value());
  f.Report(f.Key(), kBad);
  CHECK(f.breaker->Blocked(f.Key(), kNow).has_value());
}

TEST_CASE("R56 circuits live in this process and this breaker") {
  Fixture f;
  f.Open(f.Key());
  const auto other = MakeCircuitBreaker(&f.settings, nullptr);
  CHECK_FALSE(other->Blocked(f.Key(), kNow).has_value());
}

TEST_CASE("recent success: served answers within the window, alive ones never") {
  Fixture f;
  f.Once(f.Key("alive"), Verdict::kAlive);
  CHECK_FALSE(f.breaker->RecentSuccess(f.Key("alive"), seconds(60), kNow));
  CHECK_FALSE(f.breaker->RecentSuccess(f.Key("unknown"), seconds(60), kNow));
  // The first success makes the circuit, the second goes the short way.
  for (const TimePoint at : {kNow, kNow + seconds(100)}) {
    f.Report(f.Key(), kGood, at);
    CHECK(f.breaker->RecentSuccess(f.Key(), seconds(60), at + seconds(60)));
    CHECK_FALSE(f.breaker->RecentSuccess(f.Key(), seconds(60), at + seconds(60) + Duration(1)));
    CHECK_FALSE(f.breaker->RecentSuccess(f.Key(), Duration::zero(), at));
    CHECK(f.View(f.Key(), at).last_at == at);
  }
  f.Report(f.Key(), kBad, kNow + seconds(101));
  CHECK(f.breaker->RecentSuccess(f.Key(), seconds(60), kNow + seconds(101)));
  CHECK_FALSE(f.breaker->RecentSuccess(f.Key("x"), seconds(60), kNow + seconds(101)));
}

}  // namespace hotel::guard::test
