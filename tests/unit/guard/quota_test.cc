// Quota readings and the breaker (facts d; seed 000, "Quota-pinned cooldowns").
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/guard/breaker_fixture.h"

namespace hotel::guard::test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using Kind = QuotaReading::Kind;

struct QuotaFixture : Fixture {
  QuotaFixture() {
    Change([](CircuitBreakerSettings& s) {
      s.backoff_max = minutes(15);
      s.quota_pin_max = hours(24);
      s.pin_probe_interval = hours(1);
    });
  }
  QuotaAdviceResult Advise(Kind kind, std::optional<TimePoint> resets_at, TimePoint now = kNow) {
    return breaker->ApplyQuotaAdvice({{"p1", "name-p1", {kind, resets_at}}}, now);
  }
  CircuitView Seeded(TimePoint now = kNow) {
    return View(Key(std::string(kAccountQuotaModel)), now);
  }
  std::vector<std::string> Said() {
    std::vector<std::string> lines;
    for (const LogNote& note : events.TakeNotes())
      lines.push_back(note.source + ": " + note.message);
    return lines;
  }
};

}  // namespace

TEST_CASE("a circuit that opens asks the advisor, and it speaks for the account") {
  QuotaFixture f;
  f.board->Set("p1", {Kind::kExhausted, kNow + hours(6)});
  f.Open(f.Key("a"));
  const CircuitView view = f.View(f.Key("a"));
  CHECK(view.quota_pinned);
  CHECK(view.pin_source == PinSource::kAdvisor);
  CHECK(*view.next_retry_at >= kNow + hours(6));
  CHECK(f.breaker->Blocked(f.Key("b"), kNow)->provider_wide);
  f.board->Clear("p1");
  f.Open(f.Key("c", "p2"));
  CHECK_FALSE(f.View(f.Key("c", "p2")).quota_pinned);
}

TEST_CASE("a spent reading seeds one circuit that skips the provider, also untouched models") {
  QuotaFixture f;
  CHECK(f.Advise(Kind::kExhausted, kNow + hours(6)).seeded == 1);
  CHECK(f.Seeded().state == CircuitState::kOpen);
  CHECK(f.Seeded().last_cause == "quota pin seeded (advisor)");
  CHECK(f.Seeded().consecutive_fails == 5);
  const auto block = f.breaker->Blocked(f.Key("never asked"), kNow);
  REQUIRE(block.has_value());
  CHECK(block->pinned);
  CHECK(f.Said() == std::vector<std::string>{
                        "circuit-breaker: model state=closed→open (exhausted, seeded from quota "
                        "advice)"});
  CHECK(f.events.Take().size() == 1);
  // Said again it changes nothing: the provider is dark already.
  const QuotaAdviceResult again = f.Advise(Kind::kExhausted, kNow + hours(6), kNow + minutes(5));
  CHECK(again.seeded + again.retargeted + again.retired == 0);
}

TEST_CASE("a reached reserve reports as reserve, in the view and in the log") {
  QuotaFixture f;
  f.Advise(Kind::kReserveReached, kNow + hours(6));
  CHECK(f.Seeded().pin_source == PinSource::kReserve);
  CHECK(f.Said() == std::vector<std::string>{"circuit-breaker: model state=closed→open (reserve "
                                             "reached, seeded from quota advice)"});
}

TEST_CASE("seeding is bounded as every pin: a date, the ceiling, the switch") {
  QuotaFixture f;
  CHECK(f.Advise(Kind::kExhausted, std::nullopt).seeded == 0);
  CHECK(f.Advise(Kind::kExhausted, kNow).seeded == 0);
  CHECK(f.Advise(Kind::kUnknown, kNow + hours(6)).seeded == 0);
  CHECK(f.Advise(Kind::kExhausted, kNow + seconds(30)).seeded == 0);
  f.Change([](CircuitBreakerSettings& s) { s.quota_pin_max = Duration::zero(); });
  CHECK(f.Advise(Kind::kExhausted, kNow + hours(6)).seeded == 0);
  f.Change([](CircuitBreakerSettings& s) { s.quota_pin_max = hours(24); });
  CHECK(f.Advise(Kind::kExhausted, kNow + hours(24 * 7)).seeded == 1);
  CHECK(*f.Seeded().cooldown <= hours(25) + minutes(12));
}

TEST_CASE("no circuit is seeded while an account-wide pin holds the provider") {
  QuotaFixture f;
  f.Report(f.Key("a"), {Verdict::kOpenNow, "upstream status 429 (exhausted)", 429, true,
                        PinHint{hours(24), true}});
  const QuotaAdviceResult result = f.Advise(Kind::kExhausted, kNow + hours(6));
  CHECK(result.seeded == 0);
  CHECK(result.retargeted == 1);  // its hourly probe gives way to the date
  CHECK(f.View(f.Key("a")).pin_source == PinSource::kAdvisor);
  CHECK(*f.View(f.Key("a")).next_retry_at >= kNow + hours(6));
}

TEST_CASE("a healthy reading lifts account-wide pins into the backoff and retires the seed") {
  QuotaFixture f;
  f.Open(f.Key("a"));
  f.Once(f.Key("a"), Verdict::kFailure, kNow + seconds(60));
  const TimePoint at = kNow + seconds(61);
  f.Advise(Kind::kExhausted, at + hours(6), at);
  REQUIRE(f.View(f.Key("a"), at).quota_pinned);
  f.events.Take();
  f.Said();
  const QuotaAdviceResult result = f.Advise(Kind::kHealthy, std::nullopt, at);
  CHECK(result.released == 1);
  const CircuitView view = f.View(f.Key("a"), at);
  CHECK(view.state == CircuitState::kOpen);
  CHECK_FALSE(view.quota_pinned);
  CHECK(view.backed_off);
  CHECK(view.cooldown == minutes(2));
  CHECK(view.last_cause == "quota pin released (provider no longer exhausted)");
  CHECK(f.Said() == std::vector<std::string>{
                        "circuit-breaker: quota pin released (provider no longer exhausted)"});
  CHECK(f.events.Take().empty());  // a released pin is no event

  f.Advise(Kind::kExhausted, at + hours(6), at + minutes(10));
  CHECK(f.Seeded(at + minutes(10)).state == CircuitState::kOpen);
  CHECK(f.Advise(Kind::kHealthy, std::nullopt, at + minutes(15)).retired == 1);
  CHECK_FALSE(f.breaker->Blocked(f.Key("b"), at + minutes(15)).has_value());
}

TEST_CASE("a healthy reading leaves a model's own pin alone; polling off lifts every one") {
  QuotaFixture f;
  f.Report(f.Key("a"), {Verdict::kOpenNow, "upstream status 429 (exhausted)", 429, true,
                        PinHint{hours(24), false}});
  CHECK(f.Advise(Kind::kHealthy, std::nullopt).released == 0);
  CHECK(f.View(f.Key("a")).pin_source == PinSource::kResponse);
  f.Advise(Kind::kExhausted, kNow + hours(6));
  f.Said();
  CHECK(f.breaker->ReleasePins(kNow) == 1);
  CHECK(f.View(f.Key("a")).pin_source == PinSource::kNone);
  CHECK(f.View(f.Key("a")).cooldown == seconds(60));
  CHECK(f.Said() ==
        std::vector<std::string>{"circuit-breaker: quota pin released (quota polling disabled)"});
}

TEST_CASE("a reading that became unusable lifts nothing; the lapsed seed is retired by the next") {
  QuotaFixture f;
  f.Advise(Kind::kExhausted, kNow + hours(2));
  CHECK(f.Advise(Kind::kUnknown, std::nullopt, kNow + hours(1)).retired == 0);
  CHECK(f.breaker->Blocked(f.Key("m"), kNow + hours(1)).has_value());
  const TimePoint lapsed = kNow + hours(2) + minutes(6);
  CHECK_FALSE(f.breaker->Blocked(f.Key("m"), lapsed).has_value());
  CHECK(f.breaker->ApplyQuotaAdvice({}, lapsed).retired == 1);
  CHECK(f.breaker->Views(lapsed).empty());
}

TEST_CASE("a spent window whose pin lapsed is seeded anew") {
  QuotaFixture f;
  f.Advise(Kind::kExhausted, kNow + hours(24 * 7));
  const TimePoint lapsed = kNow + hours(26);
  const QuotaAdviceResult result = f.Advise(Kind::kExhausted, kNow + hours(24 * 7), lapsed);
  CHECK(result.retired == 1);
  CHECK(result.seeded == 1);
  CHECK(f.breaker->Blocked(f.Key("m"), lapsed).has_value());
}

TEST_CASE(
    "zeroing quota_pin_max brings the provider back at once, the next pass retires the seed") {
  QuotaFixture f;
  f.Advise(Kind::kExhausted, kNow + hours(6));
  f.Change([](CircuitBreakerSettings& s) { s.quota_pin_max = Duration::zero(); });
  CHECK_FALSE(f.breaker->Blocked(f.Key("m"), kNow).has_value());
  CHECK(f.Advise(Kind::kExhausted, kNow + hours(6), kNow + minutes(5)).retired == 1);
}

TEST_CASE("advice works under scope provider too") {
  QuotaFixture f;
  f.Change([](CircuitBreakerSettings& s) { s.scope = CircuitBreakerSettings::Scope::kProvider; });
  f.Advise(Kind::kExhausted, kNow + hours(6));
  CHECK(f.breaker->Blocked(f.Key("m"), kNow)->pinned);
  f.Advise(Kind::kHealthy, std::nullopt);
  CHECK_FALSE(f.breaker->Blocked(f.Key("m"), kNow).has_value());
}

}  // namespace hotel::guard::test
