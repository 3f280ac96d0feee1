// Events of circuits (facts d) and that no lock is held while they are told.
#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "tests/support/catch.h"
#include "tests/unit/guard/breaker_fixture.h"

namespace hotel::guard::test {
namespace {

std::map<std::string, Event::Value> Metadata(const Event& event) {
  return {event.metadata.begin(), event.metadata.end()};
}

std::string Text(const Event& event, const std::string& name) {
  return std::get<std::string>(Metadata(event).at(name));
}

std::int64_t Number(const Event& event, const std::string& name) {
  return std::get<std::int64_t>(Metadata(event).at(name));
}

}  // namespace

TEST_CASE("circuit_breaker.open: warning, the sentence and its metadata") {
  Fixture f;
  for (int i = 0; i < 5; ++i) f.Once(f.Key("glm-4.6"), Verdict::kFailure, kNow, 503);
  const std::vector<Event> events = f.events.Take();
  REQUIRE(events.size() == 1);
  const Event& event = events[0];
  CHECK(event.type == "circuit_breaker.open");
  CHECK(event.severity == Event::Severity::kWarning);
  CHECK(event.source == "failover");
  CHECK(event.message ==
        "Provider name-p1 circuit breaker: open for model glm-4.6: upstream status 503");
  CHECK(Text(event, "provider_id") == "p1");
  CHECK(Text(event, "provider") == "name-p1");
  CHECK(Text(event, "model") == "glm-4.6");
  CHECK(Text(event, "model_id") == "glm-4.6");
  CHECK(Text(event, "state") == "open");
  CHECK(Text(event, "cause") == "upstream status 503");
  CHECK(Number(event, "status") == 503);
  CHECK(Number(event, "consecutive_fails") == 5);
  CHECK(Number(event, "cooldown_ms") == 60'000);
  // Nothing pins or backs off, so the retry instant is not stated.
  CHECK(Metadata(event).count("next_retry_at") == 0);
}

TEST_CASE("circuit_breaker.closed: success, without cooldown") {
  Fixture f;
  f.Open(f.Key("glm-4.6"));
  f.events.Take();
  f.Once(f.Key("glm-4.6"), Verdict::kSuccess, kNow + seconds(60), 200);
  const std::vector<Event> events = f.events.Take();
  REQUIRE(events.size() == 1);
  CHECK(events[0].type == "circuit_breaker.closed");
  CHECK(events[0].severity == Event::Severity::kSuccess);
  CHECK(events[0].message == "Provider name-p1 circuit breaker: closed for model glm-4.6");
  CHECK(Text(events[0], "state") == "closed");
  CHECK(Number(events[0], "consecutive_fails") == 0);
  CHECK(Metadata(events[0]).count("cooldown_ms") == 0);
}

TEST_CASE("each transition to open is told, half-open and resets never are") {
  Fixture f;
  f.Open(f.Key());
  CHECK(f.events.Take().size() == 1);
  Admission probe = f.breaker->TryAcquire(f.Key(), kNow + seconds(60));
  CHECK(f.events.Take().empty());
  probe.permit.Report({Verdict::kFailure, "TTFT probe failed", 200}, kNow + seconds(61));
  const std::vector<Event> events = f.events.Take();
  REQUIRE(events.size() == 1);
  CHECK(Text(events[0], "cause") == "TTFT probe failed");
  f.breaker->Reset("p1", std::nullopt, kNow);
  CHECK(f.events.Take().empty());
}

TEST_CASE("an event sink may call the breaker back") {
  class Reentrant : public EventSink {
   public:
    void OnEvent(const Event&) override {
      blocked = breaker->Blocked(Fixture::Key(), kNow).has_value();
      views = breaker->Views(kNow).size();
    }
    CircuitBreaker* breaker = nullptr;
    bool blocked = false;
    std::size_t views = 0;
  };
  SwitchableSettings settings;
  Reentrant events;
  const std::unique_ptr<CircuitBreaker> breaker = MakeCircuitBreaker(&settings, &events);
  events.breaker = breaker.get();
  Permit permit = breaker->AcquireDirect(Fixture::Key(), kNow);
  permit.Report({Verdict::kOpenNow, "upstream status 402", 402}, kNow);
  CHECK(events.blocked);
  CHECK(events.views == 1);
}

TEST_CASE("a breaker without a sink opens and closes in silence") {
  SwitchableSettings settings;
  const std::unique_ptr<CircuitBreaker> breaker = MakeCircuitBreaker(&settings, nullptr);
  Permit permit = breaker->AcquireDirect(Fixture::Key(), kNow);
  CHECK(permit.Report({Verdict::kOpenNow, "upstream status 402", 402}, kNow) ==
        BreakerEffect::kCharge);
  CHECK(breaker->Blocked(Fixture::Key(), kNow).has_value());
}

}  // namespace hotel::guard::test
