// Circuits seen through requests (facts d; F007, F027, F101, F107, F111, F113, F119, F121).
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

Script Late(Duration after, int status) {
  return Script()
      .After(after)
      .Head(status, {{"content-type", "application/json"}})
      .Bytes(status == 200 ? BytesOf(Script::Chat("Good day")) : "{}")
      .End();
}

/// By default with a status that no last candidate is asked again for.
void Fail(Harness& h, const std::string& provider, int times, int status = 501) {
  h.upstreams.Clear(Url(provider));
  h.On(provider, Script::Json(status, ""));
  for (int i = 0; i < times; ++i) h.Ask(provider + "/m");
}

TEST_CASE("F007 404 neither charges nor credits") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script::Json(404, "")).On("u2", Script::Chat("Good day"));
  for (int i = 0; i < 10; ++i) CHECK(h.Ask().status() == 200);
  CHECK(h.Calls("u1") == 10);
  h.upstreams.Clear(Url("u1"));
  for (const int status : {500, 500, 500, 500, 404, 500}) h.On("u1", Script::Json(status, ""));
  for (int i = 0; i < 5; ++i) h.Ask();
  CHECK(h.Circuit("u1") == "closed 4");
  h.Ask();
  CHECK(h.Circuit("u1") == "open 5");
}

TEST_CASE("F101 404s and refusals of others disable nothing: statuses stay honest") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Json(404, ""));
  for (int i = 0; i < 10; ++i) CHECK(h.Ask().status() == 404);
  CHECK(h.Calls("u1") == 10);
  CHECK(h.store->Snapshot()->FindProvider("u1")->enabled);
}

TEST_CASE("F013 an over-long prompt says nothing about health and asks nobody else") {
  Harness h;
  h.Demo({"u1", "u2"});
  h.upstreams.OnEach(Url("u1"), [](const testing::SeenRequest& seen) {
    return seen.body.size() > 8192
               ? Script::Json(400, R"({"error":{"message":"maximum context length"}})")
               : Script::Chat("Good day");
  });
  const std::string start = R"({"model":"hotel/demo","messages":[{"role":"user","content":")";
  for (int i = 0; i < 10; ++i) {
    Client client = h.Send(start + std::string(9000, 'x') + "\"}]}");
    h.Wait(client);
    CHECK(client.status() == 400);
  }
  const Client client = h.Ask();
  CHECK(client.header("x-hotel-provider") == "u1");
  CHECK(h.Calls("u2") == 0);
  CHECK(h.Circuit("u1") == "closed 0");
}

TEST_CASE("F121 a threshold of consecutive failures opens; one success resets the count") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u2", Script::Chat("Good day"));
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 4; ++i) h.On("u1", Script::Json(503, ""));
    h.On("u1", Script::Chat("Good day"));
  }
  for (int i = 0; i < 50; ++i) h.Ask();
  CHECK(h.Calls("u1") == 50);
  CHECK(h.EventCount("circuit_breaker.open") == 0);
  Fail(h, "u1", 5);
  CHECK(h.Circuit("u1") == "open 5");
  CHECK(h.EventCount("circuit_breaker.open") == 1);
}

TEST_CASE("F111 a circuit is about a provider's model: a failing one leaves its sibling alone") {
  Harness h;
  testing::AddProvider(*h.store, "u1");
  testing::AddGroup(*h.store, "a", {"u1/a"});
  testing::AddGroup(*h.store, "b", {"u1/b"});
  h.upstreams.OnEach(Url("u1"), [](const testing::SeenRequest& seen) {
    return seen.body.find(R"("model":"a")") != std::string::npos ? Script::Json(500, "")
                                                                 : Script::Chat("Good day");
  });
  for (int i = 0; i < 10; ++i) {
    h.Ask("hotel/a");
    CHECK(h.Ask("hotel/b").status() == 200);
  }
  CHECK(h.Circuit("u1", "a") == "open 5");
  CHECK(h.Circuit("u1", "b") == "closed 0");
}

TEST_CASE("F027 F119 all circuits open: 429 that names the earliest return, nobody is contacted") {
  Harness h;
  h.Demo({"u1", "u2"});
  Fail(h, "u2", 5);
  h.loop.Advance(seconds(5) + milliseconds(500));
  Fail(h, "u1", 5);
  h.loop.Advance(seconds(45));  // u2: 9.5 s left, u1: 15 s
  const std::size_t before = h.upstreams.seen().size();
  const Client client = h.Ask();
  CHECK(client.status() == 429);
  CHECK(client.header("retry-after") == "10");  // rounded up
  CHECK(client.header("x-hotel-attempts") == "0");
  CHECK(client.took == Duration::zero());
  CHECK(client.body() == ErrorBody("no available provider for hotel/demo; earliest retry in 10s",
                                   "rate_limit_error", "no_available_provider"));
  CHECK(h.upstreams.seen().size() == before);
  CHECK(h.Trail() == Lines{"-1 u1 - skipped -", "-1 u2 - skipped -"});
  CHECK(h.record().error_kind == ErrorKind::kProviderSaturated);
  h.loop.Advance(seconds(10));
  h.upstreams.Clear(Url("u2"));
  h.On("u2", Script::Chat("Good day"));
  CHECK(h.Ask().header("x-hotel-provider") == "u2");
}

TEST_CASE("F027 Retry-After stays within 1 and 60 seconds") {
  Settings settings = Settings::Defaults();
  settings.global.circuit_breaker.timeout = minutes(30);
  Harness h(settings);
  h.Demo({"u1"});
  Fail(h, "u1", 5);
  CHECK(h.Ask().header("retry-after") == "60");
  h.loop.Advance(minutes(30) - milliseconds(1));
  CHECK(h.Ask().header("retry-after") == "1");
}

TEST_CASE("facts g: with the honest 429 switched off the answer is a 502 without Retry-After") {
  Settings settings = Settings::Defaults();
  settings.global.failover.exhaustion_status_429 = false;
  Harness h(settings);
  h.Demo({"u1"});
  Fail(h, "u1", 5);
  const Client client = h.Ask();
  CHECK(client.status() == 502);
  CHECK(client.header("retry-after").empty());
  CHECK(client.body() ==
        ErrorBody("no available provider for hotel/demo", "server_error", "no_available_provider"));
}

TEST_CASE("a skipped candidate leads the trail of an answer another one served") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u2", Script::Chat("Good day"));
  Fail(h, "u1", 5);
  const Client client = h.Ask();
  CHECK(client.status() == 200);
  CHECK(client.header("x-hotel-attempts") == "1");
  CHECK(h.Trail() == Lines{"-1 u1 - skipped -", "0 u2 200 success -"});
}

TEST_CASE("decisions 7: a direct name is sent although its circuit is open, and is counted") {
  Harness h;
  h.Demo({"u1"});
  Fail(h, "u1", 5);
  CHECK(h.Circuit("u1") == "open 5");
  h.upstreams.Clear(Url("u1"));
  h.On("u1", Script::Chat("Good day"));
  CHECK(h.Ask("u1/m").status() == 200);
  CHECK(h.Circuit("u1") == "open 5");  // facts d: a success does not close what is open
  h.loop.Advance(minutes(1));
  CHECK(h.Ask("u1/m").status() == 200);
  CHECK(h.Circuit("u1") == "closed 0");
}

TEST_CASE("facts d: behind the cooldown a success closes, a failure opens anew") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u2", Script::Chat("Good day"));
  Fail(h, "u1", 5);
  h.loop.Advance(seconds(59));
  CHECK(h.Ask().header("x-hotel-provider") == "u2");
  h.loop.Advance(seconds(1));
  CHECK(h.Circuit("u1") == "half-open 5");
  h.Ask();  // still failing
  CHECK(h.Circuit("u1") == "open 5");
  h.loop.Advance(minutes(2));  // a failed probe doubles the cooldown
  h.upstreams.Clear(Url("u1"));
  h.On("u1", Script::Chat("Good day"));
  CHECK(h.Ask().header("x-hotel-provider") == "u1");
  CHECK(h.Circuit("u1") == "closed 0");
  CHECK(h.EventCount("circuit_breaker.closed") == 1);
}

TEST_CASE("F107 a burst in half-open: the first outcome decides, late failures reopen nothing") {
  Harness h;
  h.Demo({"u1"});
  Fail(h, "u1", 5);
  h.loop.Advance(minutes(1));
  h.upstreams.Clear(Url("u1"));
  h.On("u1", Late(milliseconds(100), 200));
  for (int i = 0; i < 3; ++i) h.On("u1", Late(milliseconds(500), 501));
  std::vector<Client> burst;
  for (int i = 0; i < 200; ++i) burst.push_back(h.Chat());
  for (Client& client : burst) h.Wait(client);
  CHECK(h.Calls("u1") == 5 + 200);
  CHECK(h.Circuit("u1") == "closed 0");
  CHECK(h.EventCount("circuit_breaker.open") == 1);
  CHECK(h.EventCount("circuit_breaker.closed") == 1);
}

TEST_CASE("F107 a burst in half-open that fails reopens once") {
  Harness h;
  h.Demo({"u1"});
  Fail(h, "u1", 5);
  h.loop.Advance(minutes(1));
  h.upstreams.Clear(Url("u1"));
  h.On("u1", Late(milliseconds(500), 501));
  std::vector<Client> burst;
  for (int i = 0; i < 200; ++i) burst.push_back(h.Chat());
  for (Client& client : burst) h.Wait(client);
  CHECK(h.Calls("u1") == 5 + 200);
  CHECK(h.Circuit("u1") == "open 5");
  CHECK(h.EventCount("circuit_breaker.open") == 2);
  h.loop.Advance(seconds(119));  // doubled once, not 200 times
  CHECK(h.Ask().status() == 429);
  h.loop.Advance(seconds(1));
  CHECK(h.Ask().status() == 501);
}

TEST_CASE("F113 a client that leaves is neither a failure nor a credit") {
  for (const bool before_head : {false, true}) {
    INFO((before_head ? "before the head" : "mid-stream"));
    Settings settings = Settings::Defaults();
    settings.global.circuit_breaker.failure_threshold = 3;
    Harness h(settings);
    h.Demo({"u1"}).On("u1", Script::Json(501, "")).On("u1", Script::Json(501, ""));
    Script stream;
    if (!before_head) stream = Open({Role()});
    for (int i = 0; i < 50; ++i) stream.After(milliseconds(100)).Bytes(Text("x") + "\n\n");
    h.On("u1", before_head ? Script().Hang() : stream).On("u1", Script::Json(501, ""));
    h.Ask();
    h.Ask();
    Client leaving = h.Chat("hotel/demo", true);
    h.loop.Advance(milliseconds(250));
    leaving.call->Cancel();
    h.loop.RunUntilIdle();
    CHECK(leaving.sink->ended);
    CHECK(h.Seen("u1", 2).cancelled);
    CHECK(h.record().attempts.at(0).breaker == BreakerEffect::kNoop);
    CHECK(h.Circuit("u1") == "closed 2");
    h.Ask();
    CHECK(h.Circuit("u1") == "open 3");
  }
}

TEST_CASE("the kill switch: nothing is skipped, nothing is charged, the trail says so") {
  Settings settings = Settings::Defaults();
  settings.global.circuit_breaker.enabled = false;
  Harness h(settings);
  h.Demo({"u1"});
  Fail(h, "u1", 10);
  CHECK(h.Calls("u1") == 10);
  CHECK(h.Trail() == Lines{"0 u1 501 disabled provider_error"});
  CHECK(h.Ask().status() == 501);
}

TEST_CASE("a circuit that opens while a request waits between candidates is skipped then") {
  Harness h;
  h.Demo({"u1", "u2", "u3"}).On("u1", Script::Json(503, "")).On("u3", Script::Chat("Good day"));
  Client waiting = h.Chat();
  h.loop.RunUntilIdle();  // u1 has refused, the pause runs
  Fail(h, "u2", 1, 402);
  h.Wait(waiting);
  CHECK(waiting.header("x-hotel-provider") == "u3");
  CHECK(waiting.header("x-hotel-attempts") == "2");
  CHECK(h.Calls("u2") == 1);
  CHECK(h.Trail() ==
        Lines{"-1 u2 - skipped -", "0 u1 503 charge provider_error", "1 u3 200 success -"});
}

}  // namespace
}  // namespace hotel::scenario
