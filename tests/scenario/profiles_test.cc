// Where the two profiles meet: the conformance matrix that neither seed has alone (f.7).
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/scenario/refusals.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

/// Settings in which u1 has its own profile.
Settings Own(Settings global, const Settings& of_u1) {
  global.providers["u1"] = of_u1.global;
  return global;
}

Script Late(Duration wait, int status) {
  Script script;
  script.After(wait).Head(status, {{"content-type", "application/json"}});
  return script.Bytes(status == 200 ? BytesOf(Script::Chat("Good day")) : "{}").End();
}

TEST_CASE("f.7/1 a retry_first target last in a failover_first list: its four tries, no repeat") {
  Harness h(Own(FailoverFirst(), RetryFirst()));
  h.Demo({"u1"}).On("u1", Script::Json(503, ""));
  CHECK(h.Ask().status() == 503);
  CHECK(h.Calls("u1") == 4);
  CHECK(h.Trail() == Lines{"0 u1 503 charge provider_error"});
  // A status that is not on its list gets the list's one repeat.
  Harness other(Own(FailoverFirst(), RetryFirst()));
  other.Demo({"u1"}).On("u1", Script::Json(500, ""));
  other.Ask();
  CHECK(other.Calls("u1") == 2);
  CHECK(other.record().attempts.size() == 2);
}

TEST_CASE("f.7/1 a failover_first target last in a retry_first list: one try, no repeat") {
  Harness h(Own(RetryFirst(), FailoverFirst()));
  h.Demo({"u1"}).On("u1", Script::Json(503, ""));
  const Client client = h.Ask();
  CHECK(client.status() == 503);
  CHECK(client.took == Duration::zero());
  CHECK(h.Calls("u1") == 1);
}

TEST_CASE("f.7/2 failover_first on both sides: 503 twice is two charges; then 200 a success") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Json(503, "")).On("u1", Script::Json(503, ""));
  h.On("u1", Script::Json(503, "")).On("u1", Script::Chat("Good day"));
  CHECK(h.Ask().status() == 503);
  CHECK(h.Circuit("u1") == "closed 2");
  CHECK(h.Ask().status() == 200);
  CHECK(h.Trail() == Lines{"0 u1 503 charge provider_error", "1 u1 200 success -"});
  CHECK(h.Circuit("u1") == "closed 0");
}

TEST_CASE("f.7/3 a failing probe at limit 1 inside a list: one call, the next target answers") {
  Harness h(FailoverFirst({{"resilience.circuit_breaker.half_open_max_in_flight", "1"},
                           {"resilience.retry.retry_on_statuses", "503"}}));
  h.Demo({"u1", "u2"}).On("u1", Script::Json(501, "")).On("u2", Script::Chat("Good day"));
  for (int i = 0; i < 5; ++i) h.Ask();
  CHECK(h.Circuit("u1") == "open 5");
  h.upstreams.Clear(Url("u1"));
  h.On("u1", Late(seconds(1), 503));
  h.loop.Advance(minutes(1));
  const std::size_t before = h.Calls("u1");
  std::vector<Client> clients;
  for (int i = 0; i < 10; ++i) clients.push_back(h.Chat());
  for (Client& client : clients) {
    h.Wait(client);
    CHECK(client.status() == 200);
    CHECK(client.header("x-hotel-provider") == "u2");
  }
  CHECK(h.Calls("u1") == before + 1);
  int skipped = 0;
  for (std::size_t i = 5; i < h.log.records.size(); ++i) {
    skipped += h.log.records[i].attempts[0].breaker == BreakerEffect::kSkipped;
  }
  CHECK(skipped == 9);
  CHECK(h.Circuit("u1") == "open 5");
}

TEST_CASE(
    "f.7/4 without a limit: a failure that comes first opens, nine later successes do nothing") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Json(501, ""));
  for (int i = 0; i < 5; ++i) h.Ask();
  h.upstreams.Clear(Url("u1"));
  h.On("u1", Late(milliseconds(100), 501)).On("u1", Late(milliseconds(200), 200));
  h.loop.Advance(minutes(1));
  std::vector<Client> clients;
  for (int i = 0; i < 10; ++i) clients.push_back(h.Chat());
  int served = 0;
  for (Client& client : clients) {
    h.Wait(client);
    served += client.status() == 200;
  }
  CHECK(served == 9);
  CHECK(h.Circuit("u1") == "open 5");
  CHECK(h.EventCount("circuit_breaker.closed") == 0);
}

TEST_CASE(
    "f.7/5 429 off the breaker's list but read: busy and unknown leave it closed, spent opens") {
  for (const auto& [refusal, times, state] :
       {std::tuple<Script, int, const char*>{Busy(1), 10, "closed"},
        {SpentWindow(), 1, "open"},
        {Mute(), 5, "closed"}}) {
    Harness h(RetryFirst({{"rate_limit.classify", "true"},
                          {"resilience.retry.max_retries", "0"},
                          {"resilience.circuit_breaker.failure_on_statuses", "5xx"}}));
    h.Demo({"u1", "u2"}).On("u1", refusal).On("u2", Script::Chat("Good day"));
    for (int i = 0; i < times; ++i) CHECK(h.Ask().header("x-hotel-provider") == "u2");
    const std::string circuit = h.Circuit("u1", "");
    CHECK((circuit.substr(0, std::string(state).size()) == state ||
           (circuit == "none" && std::string(state) == "closed")));
  }
}

TEST_CASE(
    "f.7/6 two slow models under span 2 sideline a healthy sibling; under span 0 they do not") {
  for (const char* span : {"2", "0"}) {
    Harness h(FailoverFirst({{"resilience.circuit_breaker.span_models", span},
                             {"resilience.circuit_breaker.slow_call_threshold", "10s"},
                             {"resilience.circuit_breaker.failure_threshold", "1"}}));
    testing::AddProvider(*h.store, "u1");
    testing::AddProvider(*h.store, "u2");
    testing::AddGroup(*h.store, "sibling", {"u1/healthy", "u2/m"});
    h.On("u2", Script::Chat("Good day"));
    h.upstreams.OnEach(Url("u1"), [](const testing::SeenRequest& seen) {
      return seen.body.find("slow") != std::string::npos ? Late(seconds(11), 200)
                                                         : Script::Chat("Good day");
    });
    CHECK(h.Ask("u1/slow-1").status() == 200);
    CHECK(h.Ask("hotel/sibling").header("x-hotel-provider") == "u1");
    CHECK(h.Ask("u1/slow-2").status() == 200);
    const bool sidelined = std::string(span) == "2";
    CHECK(h.Ask("hotel/sibling").header("x-hotel-provider") == (sidelined ? "u2" : "u1"));
    if (sidelined) CHECK(h.record().attempts[0].detail == "provider skipped");
  }
}

TEST_CASE("f.7/10 a new value is used by the next request, not by one between its tries") {
  Harness h(RetryFirst({{"resilience.retry.jitter_factor", "0"}}));
  h.Demo({"u1"}).On("u1", Script::Json(503, ""));
  Client running = h.Chat();
  h.loop.RunUntilIdle();
  h.settings.Set(RetryFirst({{"resilience.retry.max_retries", "0"}}));
  h.Wait(running);
  CHECK(h.Calls("u1") == 4);
  h.Ask();
  CHECK(h.Calls("u1") == 5);
}

TEST_CASE(
    "f.5 the bound of calls: each attempt's tries, and one repeat or slot more for a request") {
  Harness h(Own(FailoverFirst({{"resilience.retry.retry_on_statuses", "503"}}), RetryFirst()));
  h.Demo({"u1", "u2", "u3"});
  for (const char* name : {"u1", "u2", "u3"}) h.On(name, Script::Json(503, ""));
  h.Ask();
  CHECK(h.Calls("u1") == 4);
  CHECK(h.Calls("u2") == 3);
  CHECK(h.Calls("u3") == 3);  // its repeats had the status already
}

}  // namespace
}  // namespace hotel::scenario
