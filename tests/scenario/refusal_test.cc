// What a 429 says decides what becomes of the circuit (seed 000, "429s: saturated vs exhausted";
// facts a, c).
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/scenario/refusals.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

using std::chrono::hours;

CircuitView ViewOf(const Harness& h, const std::string& provider) {
  for (const CircuitView& view : h.breaker.Views(h.clock.Now())) {
    if (view.key.provider_name == provider) return view;
  }
  throw std::runtime_error("no circuit of " + provider);
}

/// How long the circuit of u1 refuses, from its opening on.
Duration Pin(const Harness& h) { return ViewOf(h, "u1").cooldown.value_or(Duration::zero()); }

int LearnedWindow(const Harness& h, const std::string& provider) {
  for (const InflightView& view : h.limiter->Views(h.clock.Now())) {
    if (view.provider_name == provider) return view.limit;
  }
  return 0;
}

std::optional<LastCap> Cap(const Harness& h, const std::string& provider) {
  return h.caps->Last(h.store->Snapshot()->FindProvider(provider)->id);
}

TEST_CASE("seed 000 saturated: the request moves on, nothing is charged, the window is cut") {
  for (const bool stream : {false, true}) {
    for (const Script& busy : {Busy(7), BusyWords()}) {
      Harness h;
      h.Demo({"u1", "u2"}).On("u1", busy);
      h.On("u2", stream ? Script::ChatStream("Good day") : Script::Chat("Good day"));
      const Client client = h.Ask("hotel/demo", stream);
      CHECK(client.status() == 200);
      CHECK(client.header("x-hotel-provider") == "u2");
      CHECK(client.took >= milliseconds(100));  // as behind any other failure
      CHECK(client.took < milliseconds(200));
      CHECK(h.Trail() == Lines{"0 u1 429 noop provider_saturated", "1 u2 200 success -"});
      CHECK(h.record().attempts[0].rate_limit == "saturated");
      CHECK((h.Circuit("u1") == "none" || h.Circuit("u1") == "closed 0"));
      CHECK(LearnedWindow(h, "u1") == 1);
      CHECK(LearnedWindow(h, "u2") == 0);
      CHECK_FALSE(Cap(h, "u1").has_value());
    }
  }
}

TEST_CASE("F089 F101 busy stays closed, spent opens at once, unknown opens at the threshold") {
  struct Row {
    Script refusal;
    const char* after_one;
    const char* after_ten;
  };
  const Row rows[] = {{Busy(2), "closed 0", "closed 0"},
                      {SpentWindow(), "open 5", "open 5"},
                      {Mute(), "closed 1", "open 5"}};
  for (const Row& row : rows) {
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", row.refusal).On("u2", Script::Chat("Good day"));
    h.Ask();
    const std::string one = h.Circuit("u1");
    CHECK((one == row.after_one || (one == "none" && std::string(row.after_one) == "closed 0")));
    for (int i = 0; i < 9; ++i) CHECK(h.Ask().header("x-hotel-provider") == "u2");
    const std::string ten = h.Circuit("u1");
    CHECK((ten == row.after_ten || (ten == "none" && std::string(row.after_ten) == "closed 0")));
    CHECK(h.store->Snapshot()->FindProvider("u1")->enabled);
  }
}

TEST_CASE("F083 a spent account is asked once, and again when its pin lets a probe pass") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", SpentWindow()).On("u2", Script::Chat("Good day"));
  h.Ask();
  CHECK(h.Trail() == Lines{"0 u1 429 charge provider_quota_exhausted", "1 u2 200 success -"});
  CHECK(h.record().attempts[0].rate_limit == "exhausted");
  CHECK_FALSE(h.record().attempts[0].phrase.empty());
  CHECK(ViewOf(h, "u1").last_cause == "upstream status 429 (exhausted)");
  CHECK(ViewOf(h, "u1").quota_pinned);
  for (int i = 0; i < 28; ++i) {
    h.loop.Advance(minutes(1));
    CHECK(h.Ask().header("x-hotel-provider") == "u2");
  }
  CHECK(h.Calls("u1") == 1);
  h.loop.Advance(
      minutes(4));  // the default pin of a session window: half an hour, 5 % more at most
  h.Ask();
  CHECK(h.Calls("u1") == 2);
}

TEST_CASE("F085 the wait a refusal states is the pin, in the header or in its words") {
  const std::string google =
      R"({"error":{"code":429,"message":"You exceeded your current quota. Please retry in )"
      R"(2h35m3.27s.","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo",)"
      R"("retryDelay":"9303s"}]}})";
  const std::pair<Script, Duration> rows[] = {
      {Refusal(429, "{}", {{"retry-after", "7200"}}), seconds(7200)},
      {Refusal(429, R"({"error":"session usage limit"})", {{"retry-after", "7200"}}),
       seconds(7200)},
      {Refusal(429, "{}", {{"x-ratelimit-reset-tokens", "6m0s"}}), minutes(6)},
      {Refusal(429, google), seconds(9303)},
  };
  for (const auto& [refusal, pin] : rows) {
    // The whole pin is served, without probes in between.
    Settings settings = FailoverFirst({{"resilience.circuit_breaker.pin_probe_interval", "0s"}});
    Harness h(settings);
    h.Demo({"u1", "u2"}).On("u1", refusal).On("u2", Script::Chat("Good day"));
    h.Ask();
    CHECK(Pin(h) >= pin);
    CHECK(Pin(h) <= pin + pin / 20);
  }
}

TEST_CASE("seed 000: a 402 and a spent balance are pinned as long as pinning allows") {
  for (const Script& refusal : {Refusal(402, "{}"), SpentMoney()}) {
    Settings settings = FailoverFirst({{"resilience.circuit_breaker.pin_probe_interval", "0s"}});
    Harness h(settings);
    h.Demo({"u1", "u2"}).On("u1", refusal).On("u2", Script::Chat("Good day"));
    h.Ask();
    CHECK(Pin(h) >= hours(24));
    CHECK(Pin(h) <= hours(24) + minutes(72));
    CHECK(h.record().attempts[0].error_kind == ErrorKind::kProviderNotEntitled);
  }
}

TEST_CASE("seed 000: an account's refusal sidelines all its models, a model's only itself") {
  for (const bool account : {true, false}) {
    Harness h;
    testing::AddProvider(*h.store, "u1");
    testing::AddProvider(*h.store, "u2");
    testing::AddGroup(*h.store, "a", {"u1/a", "u2/a"});
    testing::AddGroup(*h.store, "b", {"u1/b", "u2/b"});
    h.On("u1", account ? SpentMoney() : Refusal(402, "{}")).On("u1", Script::Chat("Good day"));
    h.On("u2", Script::Chat("Good day"));
    h.Ask("hotel/a");
    CHECK(h.Ask("hotel/b").header("x-hotel-provider") == (account ? "u2" : "u1"));
  }
}

TEST_CASE("seed 000: open_on_exhaustion off charges a spent account like any failure") {
  Harness h(FailoverFirst({{"circuit_breaker_open_on_exhaustion", "false"}}));
  h.Demo({"u1", "u2"}).On("u1", SpentWindow()).On("u2", Script::Chat("Good day"));
  h.Ask();
  CHECK(h.Circuit("u1") == "closed 1");
  CHECK(ViewOf(h, "u1").last_cause == "upstream status 429 (exhausted, not opened by setting)");
  CHECK(Cap(h, "u1").has_value());
}

TEST_CASE("seed 000 unknown: busy if the model served within the window, a failure else") {
  for (const int age : {0, 59, 61}) {
    INFO(age << " s behind a served answer");
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", Script::Chat("Good day")).On("u1", Mute());
    h.On("u2", Script::Chat("Good day"));
    h.Ask();
    h.loop.Advance(seconds(age));
    h.Ask();
    const bool busy = age < 60;
    CHECK(h.Trail() ==
          Lines{busy ? "0 u1 429 noop provider_saturated" : "0 u1 429 charge provider_error",
                "1 u2 200 success -"});
    CHECK(h.record().attempts[0].rate_limit == (busy ? "saturated" : "unknown"));
    CHECK(h.Circuit("u1") == (busy ? "closed 0" : "closed 1"));
    CHECK(LearnedWindow(h, "u1") == (busy ? 1 : 0));
  }
}

TEST_CASE("facts c: a 400 is no served success: an unknown 429 behind it is a failure") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script::Json(400, R"({"error":{"message":"no"}})"));
  h.On("u1", Mute()).On("u2", Script::Chat("Good day"));
  h.Ask();
  h.Ask();
  CHECK(h.Circuit("u1") == "closed 1");
}

TEST_CASE("rate_limit.classify off: every 429 is a plain failure, nothing is noted") {
  for (const Script& refusal : {Busy(2), SpentMoney(), Mute()}) {
    Harness h(FailoverFirst({{"rate_limit.classify", "false"}}));
    h.Demo({"u1", "u2"}).On("u1", refusal).On("u2", Script::Chat("Good day"));
    h.Ask();
    CHECK(h.Trail() == Lines{"0 u1 429 charge provider_error", "1 u2 200 success -"});
    CHECK(h.Circuit("u1") == "closed 1");
    CHECK(h.record().attempts[0].rate_limit.empty());
    CHECK_FALSE(Cap(h, "u1").has_value());
    CHECK(LearnedWindow(h, "u1") == 0);
  }
}

TEST_CASE("F095 failover_on_rate_limit off: the 429 goes to the client with its hint") {
  struct Row {
    Script refusal;
    const char* retry_after;
    const char* kind;
  };
  const Row rows[] = {
      {Busy(30), "30", "provider_saturated"},
      {Refusal(429, "{}", {{"retry-after-ms", "30000"}}), "30", "provider_saturated"},
      {Mute(), "", "provider_error"},
      {SpentMoney(), "", "provider_not_entitled"}};
  for (const Row& row : rows) {
    for (const bool stream : {false, true}) {
      Harness h(FailoverFirst({{"failover_on_rate_limit", "false"}}));
      h.Demo({"u1", "u2"}).On("u1", row.refusal);
      const Client client = h.Ask("hotel/demo", stream);
      CHECK(client.status() == 429);
      CHECK(client.took == Duration::zero());
      CHECK(client.header("retry-after") == row.retry_after);
      CHECK(h.Calls("u2") == 0);
      CHECK(h.Trail() == Lines{std::string("0 u1 429 alive ") + row.kind});
      CHECK(h.Circuit("u1") == "closed 0");
    }
  }
}

TEST_CASE("seed 000 cap ledger: the last spent 429 of a provider, also where nothing acts on it") {
  for (const char* acts : {"true", "false"}) {
    Harness h(FailoverFirst({{"failover_on_rate_limit", acts}}));
    h.Demo({"u1", "u2"}).On("u1", SpentWindow()).On("u1", SpentMoney());
    h.On("u2", Script::Chat("Good day"));
    h.Ask();
    REQUIRE(Cap(h, "u1").has_value());
    CHECK(Cap(h, "u1")->phrase == h.record().attempts[0].phrase);
    CHECK_FALSE(Cap(h, "u1")->phrase.empty());
    CHECK(Cap(h, "u1")->model == "m");
    CHECK_FALSE(Cap(h, "u1")->needs_payment);
    CHECK(Cap(h, "u1")->at == h.record().created_at);
    h.Ask("u1/m");  // a direct name notes it too
    CHECK(Cap(h, "u1")->needs_payment);
    CHECK_FALSE(Cap(h, "u2").has_value());
  }
}

TEST_CASE("facts a: a 429 hidden in a 200 is read like a real one") {
  const std::string spent =
      R"({"error":{"code":429,"message":"you have reached your session usage limit"}})";
  for (const bool stream : {false, true}) {
    Harness h;
    h.Demo({"u1", "u2"})
        .On("u1", stream ? Open({"data: " + spent}).End() : Script::Json(200, spent));
    h.On("u2", stream ? Script::ChatStream("Good day") : Script::Chat("Good day"));
    CHECK(h.Ask("hotel/demo", stream).header("x-hotel-provider") == "u2");
    CHECK(h.Trail() == Lines{"0 u1 200 charge provider_quota_exhausted", "1 u2 200 success -"});
    CHECK(h.Circuit("u1") == "open 5");
    CHECK(Cap(h, "u1").has_value());
  }
}

TEST_CASE("F089 a probe that draws a busy 429 leaves its circuit half-open, no doubling") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u2", Script::Chat("Good day"));
  for (int i = 0; i < 5; ++i) h.On("u1", Script::Json(503, ""));
  h.On("u1", Busy(2)).On("u1", Script::Chat("Good day"));
  for (int i = 0; i < 5; ++i) h.Ask();
  h.loop.Advance(minutes(1));
  CHECK(h.Ask().header("x-hotel-provider") == "u2");
  CHECK(h.Circuit("u1") == "half-open 5");
  CHECK(ViewOf(h, "u1").failed_probes == 0);
  CHECK(h.Ask().header("x-hotel-provider") == "u1");
  CHECK(h.Circuit("u1") == "closed 0");
}

}  // namespace
}  // namespace hotel::scenario
