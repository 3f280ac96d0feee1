// Slow calls (R59-R63) and the two end-to-end recipes of seed 003 (R92, R93).
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

Script ChatAfter(Duration wait) {
  return Script()
      .After(wait)
      .Head(200, {{"content-type", "application/json"}})
      .Bytes(BytesOf(Script::Chat("Good day")))
      .End();
}

/// Scope model, as R63 advises; three slow answers open; no repeats.
Settings Slow(const Written& written = {}) {
  Settings settings = RetryFirst({{"resilience.retry.max_retries", "0"},
                                  {"resilience.circuit_breaker.scope", "model"},
                                  {"resilience.circuit_breaker.slow_call_threshold", "60s"},
                                  {"resilience.circuit_breaker.failure_threshold", "3"}});
  Write(&settings.global, written);
  return settings;
}

std::string LastCause(const Harness& h) { return h.breaker.Views(h.clock.Now()).at(0).last_cause; }

TEST_CASE("R59 R62 an answer slower than the threshold is a failure, and is served; equal is not") {
  for (const auto& [wait, circuit] : {std::pair<Duration, const char*>{seconds(60), "closed 0"},
                                      {seconds(60) + milliseconds(1), "closed 1"}}) {
    Harness h(Slow());
    h.Demo({"u1", "u2"}).On("u1", ChatAfter(wait));
    const Client client = h.Ask();
    CHECK(client.status() == 200);
    CHECK(client.body() == BytesOf(Script::Chat("Good day")));
    CHECK(client.took == wait);
    CHECK_FALSE(h.Seen("u1").cancelled);
    CHECK(h.Calls("u2") == 0);
    CHECK(h.Circuit("u1") == circuit);
    if (wait > seconds(60)) {
      CHECK(LastCause(h) == "slow");
      CHECK(h.Trail() == Lines{"0 u1 200 charge -"});
    }
  }
}

TEST_CASE("R59 off by default, in both profiles") {
  for (const Settings& settings : {RetryFirst(), FailoverFirst({{"request_timeout", "5m"}})}) {
    Harness h(settings);
    h.Demo({"u1"}).On("u1", ChatAfter(seconds(110)));
    h.Ask();
    CHECK(h.Trail() == Lines{"0 u1 200 success -"});
  }
}

TEST_CASE("R60 the clock of a slow call runs over the repeats and their waits") {
  Harness h(Slow({{"resilience.retry.max_retries", "1"},
                  {"resilience.retry.initial_backoff", "20s"},
                  {"resilience.retry.jitter_factor", "0"}}));
  h.Demo({"u1"}).On("u1", Script().After(seconds(25)).Head(503).End());
  h.On("u1", ChatAfter(seconds(25)));  // 70 s in all, neither try slow
  CHECK(h.Ask().status() == 200);
  CHECK(h.Circuit("u1") == "closed 1");
  CHECK(LastCause(h) == "slow");
}

TEST_CASE("R60 for a stream the clock stops at the first data event, comments are none") {
  struct Row {
    Script stream;
    const char* circuit;
  };
  const Row rows[] = {
      {Open({Role()}).After(minutes(4)).Bytes(Bytes({Text("x"), Fin(), Done()})).End(), "closed 0"},
      {Open({": ping"}).After(seconds(61)).Bytes(Bytes({Role(), Text("x"), Fin(), Done()})).End(),
       "closed 1"},
  };
  for (const char* verdict : {"start", "end"}) {
    for (const Row& row : rows) {
      Harness h(Slow({{"resilience.circuit_breaker.stream_verdict", verdict}}));
      h.Demo({"u1"}).On("u1", row.stream);
      const Client client = h.Ask("hotel/demo", true);
      CHECK(client.body() == BytesOf(row.stream));
      CHECK(client.sink->end.complete);
      CHECK(h.Circuit("u1") == row.circuit);
    }
  }
}

TEST_CASE("R61 a fast answer in between resets the count; a slow probe opens anew") {
  Harness h(Slow());
  h.Demo({"u1"});
  for (const int wait : {61, 61, 1, 61, 61, 61, 61}) h.On("u1", ChatAfter(seconds(wait)));
  for (int i = 0; i < 3; ++i) h.Ask();
  CHECK(h.Circuit("u1") == "closed 0");
  for (int i = 0; i < 3; ++i) h.Ask();
  CHECK(h.Circuit("u1") == "open 3");
  h.loop.Advance(seconds(30));
  CHECK(h.Ask().status() == 200);  // the probe
  CHECK(h.Circuit("u1").substr(0, 4) == "open");
}

TEST_CASE("R63 under scope provider fast siblings keep resetting the count of a slow model") {
  for (const char* scope : {"model", "provider"}) {
    Harness h(Slow({{"resilience.circuit_breaker.scope", scope}}));
    h.Demo({"u1"});
    h.upstreams.OnEach(Url("u1"), [](const testing::SeenRequest& seen) {
      const bool fast = seen.body.find(R"("model":"fast")") != std::string::npos;
      return fast ? Script::Chat("Good day") : ChatAfter(seconds(61));
    });
    for (int i = 0; i < 4; ++i) {
      h.Ask("u1/m");
      h.Ask("u1/fast");
    }
    CHECK(h.EventCount("circuit_breaker.open") == (std::string(scope) == "model" ? 1 : 0));
  }
}

// --- R92: one provider behind a gateway that answers 524, two models -----------------------------

/// `hotel/resilient` over u1/model1 and u1/model2; model1 always draws a 524.
void Cloudflare(Harness& h) {
  testing::AddProvider(*h.store, "u1");
  testing::AddGroup(*h.store, "resilient", {"u1/model1", "u1/model2"});
  h.upstreams.OnEach(Url("u1"), [](const testing::SeenRequest& seen) {
    const bool first = seen.body.find(R"("model":"model1")") != std::string::npos;
    if (first) return Script::Json(524, "");
    return seen.body.find(R"("stream":true)") != std::string::npos ? Script::ChatStream("Good day")
                                                                   : Script::Chat("Good day");
  });
}

std::size_t CallsOf(const Harness& h, const std::string& model) {
  std::size_t calls = 0;
  for (const auto& seen : h.upstreams.seen()) {
    calls += seen.body.find("\"model\":\"" + model + "\"") != std::string::npos;
  }
  return calls;
}

TEST_CASE("R92 three calls to the first model, then the second answers; then none to the first") {
  Harness h(RetryFirst(
      {{"resilience.retry.max_retries", "2"}, {"resilience.circuit_breaker.scope", "model"}}));
  Cloudflare(h);
  const Client client = h.Ask("hotel/resilient");
  CHECK(client.status() == 200);
  CHECK(client.header("x-hotel-model") == "model2");
  CHECK(CallsOf(h, "model1") == 3);
  CHECK(CallsOf(h, "model2") == 1);
  CHECK(h.Circuit("u1", "model1") == "closed 1");
  for (int i = 0; i < 4; ++i) h.Ask("hotel/resilient");
  CHECK(h.Circuit("u1", "model1") == "open 5");
  CHECK(CallsOf(h, "model1") == 15);
  const Client later = h.Ask("hotel/resilient");
  CHECK(later.status() == 200);
  CHECK(later.took == Duration::zero());
  CHECK(CallsOf(h, "model1") == 15);
  CHECK(CallsOf(h, "model2") == 6);
  CHECK(h.Trail() == Lines{"-1 u1 - skipped -", "0 u1 200 success -"});
}

TEST_CASE("R92 with scope provider the one breaker blocks both models") {
  Harness h(RetryFirst({{"resilience.retry.max_retries", "2"}}));
  Cloudflare(h);
  for (int i = 0; i < 5; ++i) h.Ask("u1/model1");
  const std::size_t before = h.upstreams.seen().size();
  const Client client = h.Ask("hotel/resilient");
  CHECK(client.status() == 502);  // exhaustion: last_error
  CHECK(h.Ask("u1/model2").status() == 503);
  CHECK(h.upstreams.seen().size() == before);
}

TEST_CASE("R92 a stream skips the repeats") {
  Harness h(RetryFirst(
      {{"resilience.retry.max_retries", "2"}, {"resilience.circuit_breaker.scope", "model"}}));
  Cloudflare(h);
  const Client client = h.Ask("hotel/resilient", true);
  CHECK(client.header("x-hotel-model") == "model2");
  CHECK(client.took == Duration::zero());
  CHECK(CallsOf(h, "model1") == 1);
}

TEST_CASE("R93 a slow provider is left after three, probed every timeout, and returned to") {
  Harness h(Slow());
  h.Demo({"u1", "u2"}).On("u1", ChatAfter(seconds(90))).On("u2", Script::Chat("Good day"));
  for (int i = 0; i < 3; ++i) CHECK(h.Ask().header("x-hotel-provider") == "u1");
  CHECK(h.Circuit("u1") == "open 3");
  for (int i = 0; i < 10; ++i) {
    const Client client = h.Ask();
    CHECK(client.header("x-hotel-provider") == "u2");
    CHECK(client.took == Duration::zero());
  }
  CHECK(h.Calls("u1") == 3);
  // Each timeout one request pays for the probe, the others around it do not wait.
  h.loop.Advance(seconds(30));
  Client probe = h.Chat();
  h.loop.RunUntilIdle();
  for (int i = 0; i < 5; ++i) CHECK(h.Ask().header("x-hotel-provider") == "u2");
  h.Wait(probe);
  CHECK(probe.header("x-hotel-provider") == "u1");
  CHECK(probe.took == seconds(90));
  CHECK(h.Circuit("u1").substr(0, 4) == "open");
  CHECK(h.Calls("u1") == 4);
  // It recovers: two fast probes, one behind the other, and the traffic is back.
  h.upstreams.Clear(Url("u1"));
  h.On("u1", ChatAfter(seconds(2)));
  h.loop.Advance(seconds(30));
  for (int i = 0; i < 4; ++i) CHECK(h.Ask().header("x-hotel-provider") == "u1");
  CHECK(h.Circuit("u1") == "closed 0");
}

TEST_CASE("R93 failed answers count like slow ones") {
  Harness h(Slow());
  h.Demo({"u1", "u2"}).On("u1", ChatAfter(seconds(61))).On("u1", Script::Json(500, ""));
  h.On("u1", ChatAfter(seconds(61))).On("u2", Script::Chat("Good day"));
  for (int i = 0; i < 3; ++i) h.Ask();
  CHECK(h.Circuit("u1") == "open 3");
}

}  // namespace
}  // namespace hotel::scenario
