// The breaker as seed 003 knows it, seen through requests (R46-R58; decisions 4, 7).
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/scenario/refusals.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

/// retry_first without its repeats, open after two failures; more on top.
Settings Quick(const Written& written = {}) {
  Settings settings = RetryFirst({{"resilience.retry.max_retries", "0"},
                                  {"resilience.circuit_breaker.failure_threshold", "2"}});
  Write(&settings.global, written);
  return settings;
}

Script Late(Duration wait, int status) {
  Script script;
  script.After(wait).Head(status, {{"content-type", "application/json"}});
  return script.Bytes(status == 200 ? BytesOf(Script::Chat("Good day")) : "{}").End();
}

std::string State(const Harness& h, const std::string& model = "") {
  return h.Circuit("u1", model);
}

/// Two failures of u1/m.
void OpenCircuit(Harness& h) {
  h.upstreams.Clear(Url("u1"));
  h.On("u1", Script::Json(503, ""));
  h.Ask("u1/m");
  h.Ask("u1/m");
  REQUIRE(State(h) == "open 2");
  h.upstreams.Clear(Url("u1"));
}

TEST_CASE("R46 transport failures, our own timeouts and listed statuses count, nothing else") {
  for (const auto& [fault, counts] : {std::pair<Script, bool>{Script::Reset(), true},
                                      {Script().Hang(), true},
                                      {Script::Json(500, ""), true},
                                      {Script::Json(429, ""), true},
                                      {Script::Json(401, ""), false},
                                      {Script::Json(402, ""), false},
                                      {Script::Json(404, ""), false},
                                      {Script::Json(400, "{}"), false}}) {
    Harness h(Quick({{"timeouts.request_timeout", "5s"}}));
    h.Demo({"u1"}).On("u1", fault);
    h.Ask();
    CHECK(State(h) == (counts ? "closed 1" : "closed 0"));
  }
}

TEST_CASE("R47 an exhausted sequence of tries is one failure, one that ends well a success") {
  Harness h(Quick({{"resilience.retry.max_retries", "2"}}));
  h.Demo({"u1"}).On("u1", Script::Json(524, ""));
  h.Ask();
  CHECK(h.Calls("u1") == 3);
  CHECK(State(h) == "closed 1");
  h.Ask();
  CHECK(h.Calls("u1") == 6);
  CHECK(State(h) == "open 2");

  Harness well(Quick({{"resilience.retry.max_retries", "2"}}));
  well.Demo({"u1"}).On("u1", Script::Json(500, "")).On("u1", Script::Json(503, ""));
  well.On("u1", Script::Json(503, "")).On("u1", Script::Chat("Good day"));
  well.Ask();
  CHECK(State(well) == "closed 1");
  CHECK(well.Ask().status() == 200);
  CHECK(State(well) == "closed 0");
}

TEST_CASE("R48 R57 a status off the list is a success: it resets the count and closes on a probe") {
  Harness h(Quick({{"resilience.circuit_breaker.failure_on_statuses", "5xx"},
                   {"resilience.circuit_breaker.success_threshold", "1"}}));
  h.Demo({"u1"}).On("u1", Script::Json(503, "")).On("u1", Script::Json(429, ""));
  h.Ask();
  CHECK(State(h) == "closed 1");
  h.Ask();
  CHECK(State(h) == "closed 0");
  OpenCircuit(h);
  h.On("u1", Script::Json(429, ""));
  h.loop.Advance(seconds(30));
  CHECK(h.Ask().status() == 429);
  CHECK(State(h) == "closed 0");
}

TEST_CASE("R49 only consecutive failures open; R57 by default a 429 is one of them") {
  Harness h(Quick());
  h.Demo({"u1"});
  for (int i = 0; i < 5; ++i) h.On("u1", Script::Json(503, "")).On("u1", Script::Chat("Good day"));
  for (int i = 0; i < 10; ++i) h.Ask();
  CHECK(State(h) == "closed 0");
  h.upstreams.Clear(Url("u1"));
  h.On("u1", Script::Json(429, ""));
  h.Ask();
  h.Ask();
  CHECK(State(h) == "open 2");
}

TEST_CASE("R50 open: 503 in the configured name, no upstream call; a list moves on") {
  Harness h(Quick());
  h.Demo({"u1", "u2"}).On("u2", Script::Chat("Good day"));
  OpenCircuit(h);
  h.On("u1", Script::Chat("Good day"));
  const std::size_t before = h.Calls("u1");
  for (const bool stream : {false, true}) {
    const Client client = h.Ask("u1/m", stream);
    CHECK(client.status() == 503);
    CHECK(client.took == Duration::zero());
    CHECK(client.body() ==
          ErrorBody("circuit breaker is open - provider u1 temporarily unavailable", "server_error",
                    "circuit_open"));
    CHECK(client.header("retry-after") == "30");
    CHECK(h.Trail() == Lines{"-1 u1 - skipped -"});
  }
  CHECK(h.Ask().header("x-hotel-provider") == "u2");
  CHECK(h.Trail() == Lines{"-1 u1 - skipped -", "0 u2 200 success -"});
  CHECK(h.Calls("u1") == before);
}

TEST_CASE("R50 the name in the answer is the provider's own, not its form in routing") {
  Harness h(Quick());
  testing::AddProvider(*h.store, "my own provider");
  h.On("my-own-provider", Script::Json(503, ""));
  h.Ask("my-own-provider/m");
  h.Ask("my-own-provider/m");
  CHECK(Message(h.Ask("my-own-provider/m").body()) ==
        "circuit breaker is open - provider my own provider temporarily unavailable");
}

TEST_CASE("R51 R15 behind the timeout one probe goes out, one try; all others still fail fast") {
  Harness h(Quick({{"resilience.retry.max_retries", "3"}}));
  h.Demo({"u1"});
  h.settings.Set(Quick());
  OpenCircuit(h);
  h.settings.Set(Quick({{"resilience.retry.max_retries", "3"}}));
  h.On("u1", Late(seconds(2), 503));
  h.loop.Advance(seconds(30));
  const std::size_t before = h.Calls("u1");
  std::vector<Client> burst;
  for (int i = 0; i < 50; ++i) burst.push_back(h.Chat("u1/m"));
  for (Client& client : burst) {
    h.Wait(client);
    CHECK(client.status() == 503);
  }
  CHECK(h.Calls("u1") == before + 1);
  CHECK(burst[0].took == seconds(2));
  CHECK(Message(burst[1].body()) ==
        "circuit breaker is open - provider u1 temporarily unavailable");
  CHECK(State(h) == "open 2");
  h.loop.Advance(seconds(29));  // another whole timeout, and no doubling
  h.Ask("u1/m");
  CHECK(h.Calls("u1") == before + 1);
  h.loop.Advance(seconds(1));
  h.Ask("u1/m");
  CHECK(h.Calls("u1") == before + 2);
}

TEST_CASE("R52 two good probes, one behind the other, close") {
  Harness h(Quick());
  h.Demo({"u1"});
  OpenCircuit(h);
  h.On("u1", Script::Chat("Good day"));
  h.loop.Advance(seconds(30));
  CHECK(h.Ask("u1/m").status() == 200);
  CHECK(State(h).substr(0, 9) == "half-open");
  CHECK(h.Ask("u1/m").status() == 200);
  CHECK(State(h) == "closed 0");
  CHECK(h.EventCount("circuit_breaker.closed") == 1);
  OpenCircuit(h);
  h.On("u1", Script::Chat("Good day")).On("u1", Script::Json(503, ""));
  h.loop.Advance(seconds(30));
  h.Ask("u1/m");
  h.Ask("u1/m");
  CHECK(State(h).substr(0, 4) == "open");
}

TEST_CASE("R53 F103 a probe without a verdict gives its place back, however it ends") {
  const std::pair<const char*, Script> endings[] = {
      {"the client leaves before the head", Script().Hang()},
      {"the client leaves inside the body", Script().Head(200).Bytes("{").Hang()},
      {"our own lack of descriptors",
       Script().Fail(TransportError::kLocal, TransportPhase::kNotSent)},
  };
  for (const auto& [what, script] : endings) {
    INFO(what);
    Harness h(Quick());
    h.Demo({"u1"});
    OpenCircuit(h);
    h.On("u1", script).On("u1", Script::Chat("Good day"));
    h.loop.Advance(seconds(30));
    Client probe = h.Chat("u1/m");
    h.loop.Advance(seconds(3));
    if (!probe.sink->ended) {
      CHECK(h.Ask("u1/m").status() == 503);
      probe.call->Cancel();
      h.loop.RunUntilIdle();
    }
    CHECK(State(h).substr(0, 9) == "half-open");
    CHECK(h.Ask("u1/m").status() == 200);
    CHECK(h.Ask("u1/m").status() == 200);
    CHECK(State(h) == "closed 0");
  }
}

TEST_CASE("F103 seed 000 too: no ending of a probe locks the next request out") {
  const std::pair<const char*, Script> endings[] = {
      {"busy 429", Busy(2)},
      {"404", Script::Json(404, "")},
      {"400", Script::Json(400, "{}")},
      {"the client leaves", Script().Hang()},
      {"upstream 499", Script::Json(499, "")},
      {"body cut",
       Script().Head(200).Bytes("{").Fail(TransportError::kInterrupted, TransportPhase::kBody)},
      {"deadline", Script().After(minutes(3)).End()},
  };
  for (const char* limit : {"0", "1"}) {
    for (const auto& [what, script] : endings) {
      INFO(what << ", " << limit << " at a time");
      Harness h(FailoverFirst({{"resilience.circuit_breaker.half_open_max_in_flight", limit},
                               {"failover.last_candidate_retry.wait_saturated", "false"}}));
      h.Demo({"u1"});
      for (int i = 0; i < 5; ++i) h.On("u1", Script::Json(501, ""));
      h.On("u1", script).On("u1", Script::Chat("Good day"));
      for (int i = 0; i < 5; ++i) h.Ask();
      CHECK(h.Circuit("u1") == "open 5");
      h.loop.Advance(minutes(1));
      Client probe = h.Chat();
      h.loop.Advance(seconds(10));
      if (std::string(what) == "the client leaves") probe.call->Cancel();
      h.Wait(probe);
      h.loop.Advance(minutes(2));  // where it failed the cooldown has doubled
      CHECK(h.Ask().status() == 200);
    }
  }
}

TEST_CASE("R54 the breaker off, or a threshold of 0: nothing is refused; one provider may be on") {
  for (const auto& [option, off] :
       {std::pair<const char*, const char*>{"resilience.circuit_breaker.enabled", "false"},
        {"resilience.circuit_breaker.failure_threshold", "0"}}) {
    Settings settings = Quick({{option, off}});
    settings.providers["u2"] = settings.global;
    Write(&settings.providers["u2"], {{"resilience.circuit_breaker.enabled", "true"},
                                      {"resilience.circuit_breaker.failure_threshold", "2"}});
    Harness h(settings);
    h.Demo({"u1", "u2"}).On("u1", Script::Json(503, "")).On("u2", Script::Json(503, ""));
    for (int i = 0; i < 10; ++i) {
      h.Ask("u1/m");
      h.Ask("u2/m");
    }
    CHECK(h.Calls("u1") == 10);
    CHECK(h.Calls("u2") == 2);
  }
}

TEST_CASE("R58 f.7/12 a late failure of a request from before a reset opens nothing") {
  Harness h(Quick({{"resilience.circuit_breaker.failure_threshold", "1"}}));
  h.Demo({"u1"}).On("u1", Late(seconds(5), 503));
  Client late = h.Chat("u1/m");
  h.loop.Advance(seconds(1));
  h.breaker.ResetAll(h.clock.Now());
  h.Wait(late);
  CHECK(late.status() == 503);
  CHECK(State(h).substr(0, 4) != "open");
}

}  // namespace
}  // namespace hotel::scenario
