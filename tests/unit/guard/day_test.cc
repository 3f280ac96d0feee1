// A virtual day at one request per second (seed 000, "Probe backoff"; facts d).
#include <chrono>

#include "tests/support/catch.h"
#include "tests/unit/guard/breaker_fixture.h"

namespace hotel::guard::test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

/// Sends one request per second from `from` to `to` and returns how many reached the provider.
int Drive(Fixture& f, TimePoint from, TimePoint to, const CircuitReport& report) {
  int sent = 0;
  for (TimePoint now = from; now < to; now += seconds(1)) {
    Admission admission = f.breaker->TryAcquire(f.Key(), now);
    if (!admission.admitted()) {
      REQUIRE(admission.retry_at > now);
      continue;
    }
    ++sent;
    admission.permit.Report(report, now);
  }
  return sent;
}

void UseDefaults(Fixture& f) { f.settings.Set(Settings::Defaults()); }

const CircuitReport kBroken{Verdict::kFailure, "upstream status 500", 500};
const CircuitReport kGood{Verdict::kSuccess, "success", 200};

}  // namespace

TEST_CASE("a model broken for a day wastes at most 110 requests, the fixed cooldown 1440") {
  Fixture f;
  UseDefaults(f);
  const int wasted = Drive(f, kNow, kNow + hours(24), kBroken);
  INFO("wasted " << wasted);
  CHECK(wasted <= 110);
  CHECK(wasted >= 90);

  Fixture fixed;
  UseDefaults(fixed);
  fixed.Change([](CircuitBreakerSettings& s) { s.backoff_max = Duration::zero(); });
  CHECK(Drive(fixed, kNow, kNow + hours(24), kBroken) >= 1400);
}

TEST_CASE("a repaired model is back within its ceiling of 15 minutes") {
  for (const int broken_minutes : {1, 10, 100, 1000}) {
    Fixture f;
    UseDefaults(f);
    const TimePoint repaired = kNow + minutes(broken_minutes);
    Drive(f, kNow, repaired, kBroken);
    const TimePoint back = repaired + minutes(15) + seconds(1);
    Drive(f, repaired, back, kGood);
    CHECK(f.View(f.Key(), back).state == CircuitState::kClosed);
  }
}

TEST_CASE("a spent account costs about one request an hour, a measured one none") {
  const CircuitReport spent{Verdict::kOpenNow, "upstream status 429 (exhausted)", 429, true,
                            PinHint{hours(24), true}};
  Fixture f;
  UseDefaults(f);
  const int asked = Drive(f, kNow, kNow + hours(24), spent);
  CHECK(asked >= 22);
  CHECK(asked <= 25);

  Fixture measured;
  UseDefaults(measured);
  measured.breaker->ApplyQuotaAdvice(
      {{"p1", "name-p1", {QuotaReading::Kind::kExhausted, kNow + hours(24)}}}, kNow);
  CHECK(Drive(measured, kNow, kNow + hours(24), spent) == 0);
}

}  // namespace hotel::guard::test
