// Reports about 429s, through the whole router: what a refusal says decides what becomes of the
// circuit, in whatever form it is said.
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include <time.h>

#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/scenario/refusals.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

using std::chrono::hours;

/// What the clock shows: in this century, so that a time is not read as a span.
constexpr hours kNow(24 * 365 * 56);

/// A group of two whose first member refuses everything so.
struct Refused : Harness {
  // The whole pin is served, without probes in between.
  explicit Refused(const Script& refusal)
      : Harness(FailoverFirst({{"resilience.circuit_breaker.pin_probe_interval", "0s"}})) {
    clock.Set(TimePoint(kNow));
    Demo({"u1", "u2"}).On("u1", refusal).On("u2", Script::Chat("Good day"));
    CHECK(Ask().header("x-hotel-provider") == "u2");
  }
  std::string reading() const { return std::string(record().attempts[0].rate_limit); }
  Duration pin() const {
    for (const CircuitView& view : breaker.Views(clock.Now())) {
      if (view.key.provider_name != "u1") continue;
      return view.quota_pinned ? view.cooldown.value_or(Duration::zero()) : Duration::zero();
    }
    return Duration::zero();
  }
  void CheckPinned(Duration wait) const {
    INFO("pinned for " << std::chrono::duration_cast<seconds>(pin()).count() << " s");
    CHECK(reading() == "exhausted");
    CHECK(Circuit("u1").substr(0, 4) == "open");
    CHECK(pin() >= wait);
    CHECK(pin() <= wait + wait / 20);
  }
  void CheckBusy() const {
    CHECK(reading() == "saturated");
    CHECK((Circuit("u1") == "none" || Circuit("u1") == "closed 0"));
  }
};

std::string Said(const std::string& message) {
  return R"({"error":{"message":")" + message + "\"}}";
}

TEST_CASE("F087 the same words in any wrapping open the circuit alike") {
  const std::string words = "Usage limit reached for 5 hour";
  const std::string bodies[] = {
      Said(words),
      Said("USAGE LIMIT REACHED FOR 5 HOUR"),
      R"({"detail":[{"errors":[{"inner":{"message":")" + words + "\"}}]}]}",
      R"({"message":"{\"error\":{\"message\":\")" + words + R"(\"}}"})",
      words,
      "<html><body><h1>429</h1><p>" + words + "</p></body></html>",
      Said(words + ". " + std::string(200 << 10, 'x')),
  };
  for (const std::string& body : bodies) {
    INFO(body.substr(0, 120));
    const Refused h(Refusal(429, body));
    CHECK(h.reading() == "exhausted");
    CHECK(h.pin() > Duration::zero());
  }
}

TEST_CASE("F085 the stated wait outranks the pin of the words, and never overflows") {
  const std::string quota = "You exceeded your current quota. Please retry in ";
  const auto google = [&](const std::string& words, const std::string& delay) {
    return Refusal(429, R"({"error":{"code":429,"message":")" + quota + words +
                            R"(.","status":"RESOURCE_EXHAUSTED","details":[{"@type":)"
                            R"("type.googleapis.com/google.rpc.RetryInfo","retryDelay":")" +
                            delay + "\"}]}}");
  };
  Refused(google("2h35m3.27s", "9303s")).CheckPinned(seconds(9303));
  Refused(google("45s", "45s")).CheckBusy();
  Refused(google("500ms", "0.5s")).CheckBusy();
  Refused(google("1.5s", "1.5s")).CheckBusy();
  Refused(google("9999999999s", "9999999999s")).CheckPinned(hours(24));
}

TEST_CASE("F091 a limit that names its reset is pinned until then, an undated one for a window") {
  Refused(Refusal(429, Said("Weekly usage limit reached. Resets in 6hr 29min.")))
      .CheckPinned(seconds(23340));
  Refused(Refusal(429, Said("Limit reached, reset after 2m 13s"))).CheckPinned(seconds(133));
  Refused(Refusal(429, Said("Limit reached, available in 90 seconds"))).CheckPinned(seconds(90));
  Refused(Refusal(429, Said("Usage limit reached, try again at 05:38"))).CheckPinned(minutes(30));
}

TEST_CASE("F093 reset headers in every notation, and that of what is spent governs") {
  const auto refuse = [](HeaderList headers) { return Refusal(429, "{}", std::move(headers)); };
  const HeaderList spent_requests = {{"x-ratelimit-remaining-requests", "0"},
                                     {"x-ratelimit-remaining-tokens", "900"}};
  const auto with = [&](const char* requests, const char* tokens) {
    HeaderList headers = spent_requests;
    headers.push_back({"x-ratelimit-reset-requests", requests});
    headers.push_back({"x-ratelimit-reset-tokens", tokens});
    return headers;
  };
  Refused(refuse(with("6m0s", "500ms"))).CheckPinned(minutes(6));
  Refused(refuse(with("2m30.5s", "500ms"))).CheckPinned(milliseconds(150500));
  Refused(refuse(with("360", "2h"))).CheckPinned(minutes(6));
  // The tokens come back late, but they are not what is spent.
  Refused(refuse(with("500ms", "6m0s"))).CheckBusy();

  // Two hours from now, in both notations of the zone.
  const auto iso = [&](seconds offset, const char* zone) {
    const time_t at = seconds(kNow + hours(2) + offset).count();
    tm parts{};
    gmtime_r(&at, &parts);
    char text[40];
    const std::size_t length = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
    return std::string(text, length) + zone;
  };
  for (const std::string& reset : {iso(seconds(0), "Z"), iso(hours(2), "+02:00")}) {
    INFO(reset);
    const Refused h(refuse({{"anthropic-ratelimit-requests-remaining", "0"},
                            {"anthropic-ratelimit-requests-reset", reset}}));
    CHECK(h.reading() == "exhausted");
    CHECK(h.pin() > minutes(119));
    CHECK(h.pin() <= hours(2) + minutes(7));
  }
}

TEST_CASE("F099 a vendor's overload is busy, its account's window is pinned") {
  Refused(Refusal(429, R"({"type":"error","error":{"type":"overloaded_error","message":"x"}})"))
      .CheckBusy();
  const Refused window(Refusal(
      429, R"({"type":"error","error":{"type":"rate_limit_error","message":"Error"}})",
      {{"anthropic-ratelimit-unified-status", "rejected"},
       {"anthropic-ratelimit-unified-reset", std::to_string(seconds(kNow + hours(2)).count())}}));
  CHECK(window.reading() == "exhausted");
  CHECK(window.pin() > minutes(119));
  CHECK(window.pin() <= hours(2) + minutes(7));
}

}  // namespace
}  // namespace hotel::scenario
