// The exact words of circuit events and log lines (facts d).
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "hotel/clock.h"

#include "libhotel/guard/circuit_events.h"
#include "tests/support/catch.h"
#include "tests/unit/guard/breaker_fixture.h"

namespace hotel::guard::test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

class FixedClock : public Clock {
 public:
  TimePoint Now() const noexcept override { return kNow; }
  WallTime WallNow() const noexcept override { return WallTime(milliseconds(1'000'000'000'000)); }
};

struct NotesFixture {
  NotesFixture() {
    Settings on;
    CircuitBreakerSettings& s = on.global.circuit_breaker;
    s.failure_threshold = 5;
    s.timeout = seconds(60);
    s.backoff_max = minutes(15);
    s.quota_pin_max = hours(24);
    s.pin_probe_interval = hours(1);
    settings.Set(on);
  }
  BreakerEffect Send(const CircuitReport& report, TimePoint now, const std::string& model = "m") {
    return breaker->AcquireDirect({"id", model, "acme"}, now).Report(report, now);
  }
  void Open(TimePoint now = kNow, const std::string& model = "m") {
    Send({Verdict::kOpenNow, "upstream status 402", 402}, now, model);
  }

  FixedClock clock;
  SwitchableSettings settings;
  KeptEvents events;
  std::unique_ptr<CircuitBreaker> breaker =
      MakeCircuitBreaker(&settings, &events, CircuitBreakerOptions{nullptr, &clock, 1});
};

std::vector<std::string> Names(const std::vector<std::pair<std::string, Event::Value>>& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  return names;
}

Event::Value Get(const std::vector<std::pair<std::string, Event::Value>>& values,
                 const std::string& name) {
  for (const auto& [key, value] : values) {
    if (key == name) return value;
  }
  return std::string("(missing)");
}

const CircuitReport kBad{Verdict::kFailure, "upstream status 503", 503};
const CircuitReport kGood{Verdict::kSuccess, "success", 200};

}  // namespace

TEST_CASE("circuit_breaker.open: exactly these members, in this order") {
  NotesFixture f;
  f.Open();
  const std::vector<Event> events = f.events.Take();
  REQUIRE(events.size() == 1);
  CHECK(Names(events[0].metadata) ==
        std::vector<std::string>{"provider_id", "provider", "model", "model_id", "state", "cause",
                                 "status", "pin_source", "provider_open", "consecutive_fails",
                                 "quota_pinned", "backed_off", "failed_probes", "cooldown_ms"});
  CHECK(events[0].message ==
        "Provider acme circuit breaker: open for model m: upstream status 402");
  CHECK(Get(events[0].metadata, "pin_source") == Event::Value(std::string()));
  CHECK(Get(events[0].metadata, "provider_open") == Event::Value(false));
}

TEST_CASE("circuit_breaker.closed: the same without cooldown and retry, model_id always") {
  NotesFixture f;
  f.Open(kNow, "a");
  f.Open(kNow + seconds(10), "b");
  f.Open(kNow + seconds(20), "c");
  f.events.Take();
  f.Send(kGood, kNow + seconds(60), "a");  // b and c still skip the provider
  const std::vector<Event> events = f.events.Take();
  REQUIRE(events.size() == 1);
  CHECK(Names(events[0].metadata) ==
        std::vector<std::string>{"provider_id", "provider", "model", "model_id", "state", "cause",
                                 "status", "pin_source", "provider_open", "consecutive_fails",
                                 "quota_pinned", "backed_off", "failed_probes"});
  CHECK(events[0].message == "Provider acme circuit breaker: closed for model a");
  CHECK(events[0].severity == Event::Severity::kSuccess);
  CHECK(Get(events[0].metadata, "provider_open") == Event::Value(true));
  CHECK(Get(events[0].metadata, "cause") == Event::Value(std::string("success")));
}

TEST_CASE("an opening that skips the provider says so and names no model_id") {
  NotesFixture f;
  f.Open(kNow, "a");
  f.Open(kNow, "b");
  const std::vector<Event> events = f.events.Take();
  REQUIRE(events.size() == 2);
  CHECK(events[1].message ==
        "Provider acme circuit breaker: open for model b (provider skipped): upstream status 402");
  CHECK(Get(events[1].metadata, "provider_open") == Event::Value(true));
  CHECK(Get(events[1].metadata, "model_id") == Event::Value(std::string("(missing)")));
}

TEST_CASE("a backoff in force is told with its count and its end") {
  NotesFixture f;
  f.Open();
  TimePoint now = kNow + minutes(1);
  const std::vector<std::string> suffixes = {
      " (backing off after 1 failed retry, next retry in 2m)",
      " (backing off after 2 failed retries, next retry in 4m)",
      " (backing off after 3 failed retries, next retry in 8m)"};
  f.events.Take();
  for (std::size_t i = 0; i < suffixes.size(); ++i) {
    f.Send(kBad, now);
    std::vector<Event> events = f.events.Take();
    REQUIRE_FALSE(events.empty());
    CHECK(events[0].message ==
          "Provider acme circuit breaker: open for model m: upstream status 503" + suffixes[i]);
    CHECK(Get(events[0].metadata, "backed_off") == Event::Value(true));
    CHECK(Get(events[0].metadata, "cooldown_ms") == Event::Value(std::int64_t{120'000 << i}));
    now += minutes(2 << i);
  }
}

TEST_CASE("next_retry_at is civil time, and a pin gets no words about retries") {
  NotesFixture f;
  f.Open();
  f.events.Take();
  f.Send(kBad, kNow + minutes(1));
  CHECK(Get(f.events.Take()[0].metadata, "next_retry_at") ==
        Event::Value(std::string("2001-09-09T01:48:40.000Z")));
  f.Send({Verdict::kOpenNow, "upstream status 429 (exhausted)", 429, true, PinHint{hours(9), true}},
         kNow + minutes(3));
  // The third opening within a day is told besides.
  const std::vector<Event> events = f.events.Take();
  REQUIRE(events.size() == 2);
  CHECK(events[0].message ==
        "Provider acme circuit breaker: open for model m (provider skipped): "
        "upstream status 429 (exhausted)");
  CHECK(Get(events[0].metadata, "pin_source") == Event::Value(std::string("account")));
  CHECK(Get(events[0].metadata, "quota_pinned") == Event::Value(true));
  CHECK(Names(events[0].metadata).back() == "next_retry_at");
}

TEST_CASE("circuit_breaker.unstable: once per window, with these members") {
  NotesFixture f;
  TimePoint now = kNow;
  std::vector<Event> unstable;
  std::vector<LogNote> notes;
  for (int i = 0; i < 20; ++i) {
    f.Open(now);
    now += minutes(16);
    for (const Event& event : f.events.Take()) {
      if (event.type == "circuit_breaker.unstable") unstable.push_back(event);
    }
    for (const LogNote& note : f.events.TakeNotes()) {
      if (note.event == "circuit_breaker.unstable") notes.push_back(note);
    }
  }
  REQUIRE(unstable.size() == 1);
  CHECK(unstable[0].severity == Event::Severity::kWarning);
  CHECK(Names(unstable[0].metadata) == std::vector<std::string>{"provider_id", "provider", "model",
                                                                "model_id", "opens", "window"});
  CHECK(Get(unstable[0].metadata, "opens") == Event::Value(std::int64_t{3}));
  CHECK(Get(unstable[0].metadata, "window") == Event::Value(std::string("24h")));
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].source == "circuit-breaker");
  CHECK(notes[0].message == "model keeps reopening its circuit");
}

TEST_CASE("scope provider: the sentence names no model") {
  NotesFixture f;
  Settings settings = *f.settings.Current();
  settings.global.circuit_breaker.scope = CircuitBreakerSettings::Scope::kProvider;
  f.settings.Set(settings);
  f.Open();
  f.Send(kGood, kNow + seconds(60));
  const std::vector<Event> events = f.events.Take();
  REQUIRE(events.size() == 2);
  CHECK(events[0].message ==
        "Provider acme circuit breaker: open (provider skipped): upstream status 402");
  CHECK(events[1].message == "Provider acme circuit breaker: closed");
}

TEST_CASE("log lines of a circuit's life") {
  NotesFixture f;
  for (int i = 0; i < 5; ++i) f.Send(kBad, kNow);
  f.Send(kBad, kNow + minutes(1));
  f.Send({Verdict::kOpenNow, "upstream status 429 (exhausted)", 429, true}, kNow + minutes(3));
  f.Send(kGood, kNow + minutes(7));
  f.Open(kNow + minutes(8));
  f.breaker->Reset("id", "m", kNow + minutes(8));
  std::vector<std::string> lines;
  std::vector<LogNote> notes = f.events.TakeNotes();
  for (const LogNote& note : notes) lines.push_back(note.source + ": " + note.message);
  const std::string p = "circuit-breaker: ";
  CHECK(lines == std::vector<std::string>{
                     p + "model state=closed→open",
                     p + "model state=open→half-open (cooldown elapsed)",
                     p + "model state=half-open→open (probe failed)",
                     p + "model state=open→half-open (cooldown elapsed)",
                     p + "model state=half-open→open (probe drew exhaustion)",
                     p + "model keeps reopening its circuit",
                     p + "model state=open→half-open (cooldown elapsed)",
                     p + "model state=half-open→closed (probe succeeded)",
                     p + "model state=closed→open (exhausted)",
                     p + "manual reset",
                 });
  CHECK(notes[0].severity == Event::Severity::kWarning);
  CHECK(notes[1].severity == Event::Severity::kInfo);
  CHECK(notes[0].event == "circuit_breaker.open");
  CHECK(notes[1].event.empty());
  CHECK(Names(notes[0].attributes) ==
        std::vector<std::string>{"provider", "provider_id", "cause", "status",
                                 "consecutive_failures", "cooldown_ms", "quota_pinned",
                                 "backed_off", "failed_probes", "model"});
  CHECK(Names(notes.back().attributes) ==
        std::vector<std::string>{"provider", "provider_id", "cause", "previous_state", "model"});
  CHECK(Get(notes.back().attributes, "cause") == Event::Value(std::string("manual reset")));
  CHECK(Get(notes.back().attributes, "previous_state") == Event::Value(std::string("open")));
}

TEST_CASE("every event of a circuit has its note, so that a log writes it once") {
  NotesFixture f;
  f.Open();
  f.Send(kGood, kNow + minutes(1));
  for (const Event& event : f.events.Take()) CHECK(event.noted);
}

TEST_CASE("spans are told short") {
  CHECK(ShortSpan(seconds(45)) == "45s");
  CHECK(ShortSpan(minutes(4)) == "4m");
  CHECK(ShortSpan(hours(1)) == "1h");
  CHECK(ShortSpan(minutes(90)) == "1h30m");
  CHECK(ShortSpan(seconds(90)) == "1m30s");
  CHECK(ShortSpan(milliseconds(200)) == "0s");
}

}  // namespace hotel::guard::test
