// Field reports that are about a whole request and belong to no other file here.
#include <random>

#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/scenario/refusals.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

Script Late(Duration wait, int status) {
  Script script;
  script.After(wait).Head(status, {{"content-type", "application/json"}});
  return script.Bytes(status == 200 ? BytesOf(Script::Chat("Good day")) : "{}").End();
}

std::string Prompt(bool stream, std::size_t bytes) {
  return R"({"model":"hotel/demo","messages":[{"role":"user","content":")" +
         std::string(bytes, 'x') + "\"}]" + (stream ? R"(,"stream":true})" : "}");
}

TEST_CASE("F025 a request's body is let go with its end, however it ends, held handle or not") {
  const std::pair<const char*, Script> rows[] = {
      {"refused before contact", Script::Json(402, "")},
      {"served", Script::Chat("Good day")},
      {"refused", Script::Json(400, "{}")},
      {"failed", Script::Reset()},
      {"left", Script().Hang()},
  };
  for (const auto& [what, script] : rows) {
    INFO(what);
    Harness h;
    h.Demo({"u1"}).On("u1", script);
    if (std::string(what) == "refused before contact") {
      h.Ask();
      REQUIRE(h.Circuit("u1") == "open 5");
    }
    for (int i = 0; i < 3; ++i) {
      Client client = h.Send(Prompt(false, 100'000));
      h.loop.Advance(seconds(1));
      if (std::string(what) == "left") client.call->Cancel();
      h.Wait(client);
      h.Settle();
      for (auto& seen : h.upstreams.seen()) {
        // The fake remembers every request it saw; it does not count.
        const_cast<testing::SeenRequest&>(seen).request.body = {};
      }
      CHECK(client.request_body.expired());
    }
  }
}

/// One of the many ways to say 429, some of them broken.
Script AnyRefusal(std::mt19937& random) {
  switch (random() % 9) {
    case 0:
      return Busy(1);
    case 1:
      return BusyWords();
    case 2:
      return Mute();
    case 3:
      return SpentWindow();
    case 4:
      return Script().Head(429).End();
    case 5:
      return Script().Head(429, {{"connection", "close"}}).Bytes("{\"error\"").Hang();
    case 6:
      return Script().Head(429).Bytes("{").Fail(TransportError::kInterrupted,
                                                TransportPhase::kBody);
    case 7:
      return Script()
          .After(milliseconds(random() % 50))
          .Head(429)
          .Bytes(std::string(20'000, 'x'))
          .Hang();
    default:
      return Script().Head(429, {{"retry-after", "soon"}, {"x-ratelimit-remaining", "0"}}).End();
  }
}

TEST_CASE("F035 the way on from a 429 bears every size, timing and leaving") {
  for (const char* limiter : {"true", "false"}) {
    std::mt19937 random(20260901);
    Harness h(FailoverFirst(
        {{"circuit_breaker_enabled", "false"}, {"inflight_limiter_enabled", limiter}}));
    h.Demo({"u1", "u2"});
    h.upstreams.OnEach(Url("u1"), [&](const testing::SeenRequest&) { return AnyRefusal(random); });
    h.upstreams.OnEach(Url("u2"), [](const testing::SeenRequest& seen) {
      return seen.body.find("\"stream\":true") != std::string::npos ? Script::ChatStream("Good day")
                                                                    : Script::Chat("Good day");
    });
    for (int round = 0; round < 8; ++round) {
      std::vector<Client> clients;
      std::vector<bool> leaves;
      for (int i = 0; i < 64; ++i) {
        clients.push_back(h.Send(Prompt(random() % 2 == 0, random() % 5000)));
        leaves.push_back(random() % 10 == 0);
        if (random() % 4 == 0) h.loop.Advance(milliseconds(random() % 60));
      }
      for (std::size_t i = 0; i < clients.size(); ++i) {
        if (leaves[i]) clients[i].call->Cancel();
        h.loop.Advance(milliseconds(random() % 20));
      }
      for (std::size_t i = 0; i < clients.size(); ++i) {
        h.Wait(clients[i]);
        if (leaves[i]) continue;
        CHECK(clients[i].status() == 200);
        CHECK(clients[i].header("x-hotel-provider") == "u2");
        CHECK(clients[i].sink->end.complete);
      }
    }
  }
}

TEST_CASE("F105 a probe that hangs holds nobody up, and its late failure is old news") {
  Harness h(FailoverFirst({{"request_timeout", "1h"}, {"timeouts.upstream_header_timeout", "0"}}));
  h.Demo({"u1"});
  for (int i = 0; i < 5; ++i) h.On("u1", Script::Json(501, ""));
  h.On("u1", Late(minutes(30), 501)).On("u1", Script::Chat("Good day"));
  for (int i = 0; i < 5; ++i) h.Ask();
  h.loop.Advance(minutes(1));
  Client hanging = h.Chat();
  h.loop.Advance(minutes(1));
  CHECK(h.Circuit("u1") == "half-open 5");
  CHECK(h.Ask().status() == 200);
  CHECK(h.Circuit("u1") == "closed 0");
  h.Wait(hanging);
  CHECK(hanging.status() == 501);
  CHECK(h.Circuit("u1") == "closed 0");
}

TEST_CASE("F105 one probe at a time: the attempt's own limit bounds the life of one that hangs") {
  Harness h(FailoverFirst({{"resilience.circuit_breaker.half_open_max_in_flight", "1"}}));
  h.Demo({"u1"});
  for (int i = 0; i < 5; ++i) h.On("u1", Script::Json(501, ""));
  h.On("u1", Script().Hang()).On("u1", Script::Chat("Good day"));
  for (int i = 0; i < 5; ++i) h.Ask();
  h.loop.Advance(minutes(1));
  Client hanging = h.Chat();
  h.loop.Advance(seconds(59));
  CHECK(h.Ask().status() == 429);
  h.Wait(hanging);
  CHECK(hanging.took == seconds(1));
  CHECK(h.Circuit("u1") == "open 5");
  h.loop.Advance(minutes(2));
  CHECK(h.Ask().status() == 200);
}

TEST_CASE("F109 one whole answer closes a half-open circuit, as one stream does") {
  for (const bool stream : {false, true}) {
    Harness h;
    h.Demo({"u1"});
    for (int i = 0; i < 5; ++i) h.On("u1", Script::Json(501, ""));
    h.On("u1", stream ? Script::ChatStream("Good day") : Script::Chat("Good day"));
    for (int i = 0; i < 5; ++i) h.Ask();
    h.loop.Advance(minutes(1));
    CHECK(h.Ask("hotel/demo", stream).status() == 200);
    CHECK(h.Circuit("u1") == "closed 0");
  }
}

TEST_CASE("F117 no member of a client's body changes the gateway's own timeouts") {
  Harness h;
  h.Demo({"u1"}).On("u1", Late(milliseconds(300), 200));
  for (const char* member : {"timeout", "request_timeout", "ttft_timeout", "max_wait",
                             "stream_stall_timeout", "extra_body", "num_retries"}) {
    Client client =
        h.Send(std::string(R"({"model":"hotel/demo","messages":[],")") + member + R"(":0.05})");
    h.Wait(client);
    CHECK(client.status() == 200);
    CHECK(h.Circuit("u1") == "closed 0");
  }
}

TEST_CASE("F143 nothing of a provider's head reaches a client but what is meant for it") {
  const HeaderList odd = {{"content-type", "application/json"},
                          {"set-cookie", "s=1"},
                          {"server", "nginx"},
                          {"openai-organization", "acme"},
                          {"access-control-allow-origin", "*"},
                          {"location", "https://evil.test/"},
                          {"x-secret", "1"},
                          {"x-hotel-provider", "forged"}};
  for (const int status : {200, 400, 503}) {
    Harness h;
    Script script = Script().Head(status, odd);
    script.Bytes(status == 200 ? BytesOf(Script::Chat("x")) : R"({"error":{"message":"no"}})")
        .End();
    h.Demo({"u1"}).On("u1", script);
    const Client client = h.Ask();
    CHECK(client.status() == status);
    for (const Header& header : client.sink->head.headers) {
      INFO(header.name);
      CHECK((header.name == "content-type" || header.name.rfind("x-hotel-", 0) == 0));
      CHECK(header.value != "forged");
    }
  }
}

TEST_CASE("F197 the rest of a large refusal is not downloaded") {
  Harness h;
  Script large;
  large.Head(503);
  for (int i = 0; i < 80; ++i) large.Bytes(std::string(65536, 'x')).After(milliseconds(10));
  h.Demo({"u1", "u2"}).On("u1", large.End()).On("u2", Script::Chat("Good day"));
  const Client client = h.Ask();
  CHECK(client.status() == 200);
  CHECK(client.took < milliseconds(250));
  CHECK(h.Seen("u1").cancelled);
  CHECK(h.upstreams.open() == 0);
  CHECK(h.record().attempts[0].detail.size() <= 160);
}

TEST_CASE("R92 the recipe by its own name: a virtual model over two models of one provider") {
  Harness h(RetryFirst(
      {{"resilience.retry.max_retries", "2"}, {"resilience.circuit_breaker.scope", "model"}}));
  testing::AddProvider(*h.store, "cf");
  h.Virtual(
      {{"resilient-chat", VirtualModelSpec::Strategy::kFailover, {{"cf/model1"}, {"cf/model2"}}}});
  h.upstreams.OnEach(Url("cf"), [](const testing::SeenRequest& seen) {
    return seen.body.find(R"("model":"model1")") != std::string::npos ? Script::Json(524, "")
                                                                      : Script::Chat("Good day");
  });
  for (int i = 1; i <= 5; ++i) {
    const Client client = h.Ask("resilient-chat");
    CHECK(client.status() == 200);
    CHECK(client.header("x-hotel-model") == "model2");
    CHECK(h.Calls("cf") == static_cast<std::size_t>(i) * 4);
  }
  CHECK(h.Circuit("cf", "model1") == "open 5");
  CHECK(h.Ask("resilient-chat").took == Duration::zero());
  CHECK(h.Calls("cf") == 21);
  CHECK(h.Trail() == Lines{"-1 cf - skipped -", "0 cf 200 success -"});
}

TEST_CASE("R93 the recipe by its own name: a slow target is left, its sibling elsewhere serves") {
  Harness h(RetryFirst({{"resilience.circuit_breaker.scope", "model"},
                        {"resilience.circuit_breaker.slow_call_threshold", "60s"},
                        {"resilience.circuit_breaker.failure_threshold", "3"}}));
  testing::AddProvider(*h.store, "slow");
  testing::AddProvider(*h.store, "quick");
  h.Virtual({{"chat", VirtualModelSpec::Strategy::kFailover, {{"slow/a"}, {"quick/b"}}}});
  h.On("slow", Late(seconds(75), 200)).On("quick", Script::Chat("Good day"));
  for (int i = 0; i < 3; ++i) CHECK(h.Ask("chat").header("x-hotel-provider") == "slow");
  for (int i = 0; i < 3; ++i) CHECK(h.Ask("chat").header("x-hotel-provider") == "quick");
  h.loop.Advance(seconds(30));
  CHECK(h.Ask("chat").header("x-hotel-provider") == "slow");  // the probe, slow again
  CHECK(h.Ask("chat").header("x-hotel-provider") == "quick");
}

TEST_CASE("a virtual model waits for nothing a group would not: busy, open, last once more") {
  Harness h;
  testing::AddProvider(*h.store, "u1");
  testing::AddProvider(*h.store, "u2");
  h.Virtual({{"both", VirtualModelSpec::Strategy::kFailover, {{"u1/m"}, {"u2/m"}}}});
  h.On("u1", SpentMoney()).On("u2", Script::Json(503, "")).On("u2", Script::Chat("Good day"));
  const Client client = h.Ask("both");
  CHECK(client.status() == 200);
  CHECK(h.Trail() == Lines{"0 u1 429 charge provider_not_entitled",
                           "1 u2 503 charge provider_error", "2 u2 200 success -"});
  h.Ask("both");
  CHECK(h.Trail() == Lines{"-1 u1 - skipped -", "0 u2 200 success -"});
}

}  // namespace
}  // namespace hotel::scenario
