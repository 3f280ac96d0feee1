// Rows of the trigger table below HTTP, and answers that are none (facts a).
#include "tests/scenario/harness.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

Script Broken(TransportError error, TransportPhase phase) { return Script().Fail(error, phase); }

Script CutBody() {
  return Script()
      .Head(200, {{"content-type", "application/json"}})
      .Bytes(R"({"id":"1","choices":[{"mess)")
      .Fail(TransportError::kInterrupted, TransportPhase::kBody);
}

struct Fault {
  const char* what;
  Script script;
  const char* trail;
  std::size_t tries = 1;
  std::size_t stream_tries = tries;
};

std::vector<Fault> TransportFaults() {
  using E = TransportError;
  using P = TransportPhase;
  const char* const charged = "- charge provider_error";
  return {
      {"refused", Script::Refused(), charged, 3},
      {"no address", Broken(E::kResolve, P::kNotSent), charged, 3},
      {"TLS", Broken(E::kTls, P::kNotSent), charged, 3},
      {"reset", Script::Reset(), charged, 3},
      {"closed without a byte", Broken(E::kInterrupted, P::kSent), charged, 3},
      {"cut head", Broken(E::kInterrupted, P::kHead), charged, 3},
      {"cut body", CutBody(), "200 charge provider_error", 3, 1},
      {"forbidden address", Broken(E::kRefusedAddress, P::kNotSent), charged},
      {"connect timeout", Broken(E::kConnectTimeout, P::kNotSent), charged},
      {"not HTTP", Broken(E::kProtocol, P::kHead), charged},
      {"head too large", Broken(E::kTooLarge, P::kHead), charged},
      {"other", Broken(E::kOther, P::kSent), charged},
  };
}

TEST_CASE("F001 F003 a transport failure moves the request on and charges once") {
  for (const Fault& fault : TransportFaults()) {
    for (const bool stream : {false, true}) {
      INFO(fault.what << (stream ? " stream" : ""));
      Harness h;
      h.Demo({"u1", "u2"}).On("u1", fault.script);
      const Script good = stream ? Script::ChatStream("Good day") : Script::Chat("Good day");
      h.On("u2", good);
      const Client client = h.Ask("hotel/demo", stream);
      CHECK(client.status() == 200);
      CHECK(client.body() == BytesOf(good));
      CHECK(client.header("x-hotel-attempts") == "2");
      const std::size_t tries = stream ? fault.stream_tries : fault.tries;
      CHECK(h.Calls("u1") == tries);
      CHECK(h.Circuit("u1") == "closed 1");
      CHECK(h.Trail() == Lines{std::string("0 u1 ") + fault.trail, "1 u2 200 success -"});
      CHECK(h.record().attempts[0].tries == static_cast<int>(tries));
      CHECK_FALSE(h.record().attempts[0].detail.empty());
      CHECK(h.breaker.issued() == 2);
    }
  }
}

TEST_CASE("F133 two resets, then an answer: one attempt, the breaker untouched") {
  for (const bool stream : {false, true}) {
    Harness h;
    const Script good = stream ? Script::ChatStream("Good day") : Script::Chat("Good day");
    h.Demo({"u1", "u2"}).On("u1", Script::Reset()).On("u1", Script::Refused()).On("u1", good);
    const Client client = h.Ask("hotel/demo", stream);
    CHECK(client.status() == 200);
    CHECK(client.body() == BytesOf(good));
    CHECK(client.header("x-hotel-provider") == "u1");
    CHECK(client.header("x-hotel-attempts") == "1");
    CHECK(h.Trail() == Lines{"0 u1 200 success -"});
    CHECK(h.record().attempts[0].tries == 3);
    CHECK(h.record().attempts[0].detail.empty());
    CHECK(h.Circuit("u1") == "closed 0");
    CHECK(h.Calls("u2") == 0);
    CHECK(h.breaker.issued() == 1);
    // Every try sends the same request; the waits are 100 ms and 200 ms, a tenth more or less.
    for (std::size_t n = 1; n < 3; ++n) CHECK(h.Seen("u1", n).body == h.Seen("u1").body);
    const Duration first = h.Seen("u1", 1).at - h.Seen("u1", 0).at;
    const Duration second = h.Seen("u1", 2).at - h.Seen("u1", 1).at;
    CHECK((first >= milliseconds(90) && first <= milliseconds(110)));
    CHECK((second >= milliseconds(180) && second <= milliseconds(220)));
  }
}

TEST_CASE("F133 nothing of a try that was cut is in the answer of the next") {
  Harness h;
  h.Demo({"u1"}).On("u1", CutBody()).On("u1", Script::Chat("Good day"));
  const Client client = h.Ask();
  CHECK(client.status() == 200);
  CHECK(client.body() == BytesOf(Script::Chat("Good day")));
  CHECK(h.Calls("u1") == 2);

  Harness refusal;
  refusal.Demo({"u1"})
      .On("u1", CutBody())
      .On("u1", Script::Json(422, R"({"error":{"message":"no"}})"));
  CHECK(refusal.Ask().status() == 422);
  CHECK(refusal.Trail() == Lines{"0 u1 422 alive provider_bad_request"});
}

TEST_CASE("decisions 10: a stream is repeated behind its head, not behind its first byte") {
  const Script head = Script()
                          .Head(200, {{"content-type", "text/event-stream"}})
                          .Fail(TransportError::kInterrupted, TransportPhase::kBody);
  Script opener = Script()
                      .Head(200, {{"content-type", "text/event-stream"}})
                      .Bytes("data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n")
                      .Fail(TransportError::kInterrupted, TransportPhase::kBody);
  for (const auto& [script, calls] : {std::pair<Script, std::size_t>{head, 3}, {opener, 1}}) {
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", script).On("u2", Script::ChatStream("Good day"));
    const Client client = h.Ask("hotel/demo", true);
    CHECK(client.body() == BytesOf(Script::ChatStream("Good day")));
    CHECK(h.Calls("u1") == calls);
    CHECK(h.Circuit("u1") == "closed 1");
  }
}

TEST_CASE(
    "F017 the bound of upstream calls: candidates x (1 + max_retries), one repeat at the end") {
  Harness h;
  h.Demo({"u1", "u2", "u3"});
  for (const char* name : {"u1", "u2", "u3"}) h.On(name, Script::Reset());
  const Client client = h.Ask();
  CHECK(client.status() == 502);
  CHECK(client.header("x-hotel-attempts") == "3");
  CHECK(h.Calls("u1") + h.Calls("u2") + h.Calls("u3") == 3 * (1 + 2));
  CHECK(h.breaker.issued() == 3);

  Harness errors;
  errors.Demo({"u1", "u2", "u3"});
  for (const char* name : {"u1", "u2", "u3"}) errors.On(name, Script::Json(500, ""));
  CHECK(errors.Ask().status() == 500);
  CHECK(errors.Calls("u1") + errors.Calls("u2") + errors.Calls("u3") == 3 + 1);
}

TEST_CASE("a provider's own retry options hold for it alone") {
  Settings settings = Settings::Defaults();
  settings.providers["u1"] = settings.global;
  settings.providers["u1"].retry.max_retries = 0;
  Harness h(settings);
  h.Demo({"u1", "u2"}).On("u1", Script::Reset()).On("u2", Script::Reset());
  CHECK(h.Ask().status() == 502);
  CHECK(h.Calls("u1") == 1);
  CHECK(h.Calls("u2") == 3);
}

TEST_CASE("decisions 4: a half-open probe is a single try") {
  Harness h;
  h.Demo({"u1", "u2"});
  for (int i = 0; i < 5; ++i) h.On("u1", Script::Json(503, ""));
  h.On("u1", Script::Reset()).On("u2", Script::Chat("Good day"));
  for (int i = 0; i < 5; ++i) h.Ask();
  CHECK(h.Circuit("u1").substr(0, 4) == "open");
  h.loop.Advance(seconds(61));
  CHECK(h.Ask().header("x-hotel-provider") == "u2");
  CHECK(h.Calls("u1") == 6);
  CHECK(h.Circuit("u1").substr(0, 4) == "open");
}

TEST_CASE("a client that leaves between two tries: no further try, charged to nobody") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script::Reset());
  Client client = h.Chat();
  h.loop.RunUntilIdle();
  CHECK(h.Calls("u1") == 1);
  client.call.reset();
  h.Settle();
  CHECK(h.Calls("u1") == 1);
  CHECK(h.Calls("u2") == 0);
  CHECK(h.Circuit("u1") == "none");
  CHECK(h.Trail() == Lines{"0 u1 - noop client_disconnect"});
}

TEST_CASE("F003 a transport failure of the last candidate is a 502, never a 500") {
  for (const Fault& fault : TransportFaults()) {
    INFO(fault.what);
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", fault.script).On("u2", fault.script);
    const Client client = h.Ask();
    CHECK(client.status() == 502);
    CHECK(client.body() == ErrorBody("all providers failed for model hotel/demo", "server_error",
                                     "all_providers_failed"));
    CHECK(client.header("x-hotel-provider") == "u2");
    CHECK(client.header("x-hotel-attempts") == "2");
    CHECK(h.record().error_kind == ErrorKind::kProviderError);
    const Client direct = h.Ask("u1/m");
    CHECK(direct.status() == 502);
    CHECK(Message(direct.body()) == "provider request failed for model u1/m");
  }
}

TEST_CASE("a group of three: 503, reset, answer") {
  for (const bool stream : {false, true}) {
    Harness h;
    h.Demo({"u1", "u2", "u3"}).On("u1", Script::Json(503, "")).On("u2", Script::Reset());
    const Script good = stream ? Script::ChatStream("Good day") : Script::Chat("Good day");
    h.On("u3", good);
    const Client client = h.Ask("hotel/demo", stream);
    CHECK(client.status() == 200);
    CHECK(client.body() == BytesOf(good));
    CHECK(client.header("x-hotel-provider") == "u3");
    CHECK(client.header("x-hotel-attempts") == "3");
    CHECK(h.Trail() == Lines{"0 u1 503 charge provider_error", "1 u2 - charge provider_error",
                             "2 u3 200 success -"});
  }
}

TEST_CASE("the last failure decides the answer, not the first") {
  Harness h;
  h.Demo({"u1", "u2", "u3"}).On("u1", Script::Json(401, "")).On("u2", Script::Json(503, ""));
  h.On("u3", Script::Json(429, ""));
  CHECK(h.Ask().status() == 429);
  testing::AddGroup(*h.store, "other", {"u3/m", "u1/m"});
  CHECK(h.Ask("hotel/other").status() == 401);
}

TEST_CASE("facts a: a 2xx that is no completion fails over, and is a 502 from the last") {
  const std::pair<const char*, Script> rows[] = {
      {"not JSON", Script::Json(200, "<html>maintenance</html>")},
      {"empty body", Script::Json(200, "")},
      {"wrong shape", Script::Json(200, R"({"hello":"world"})")},
      {"an array", Script::Json(200, "[]")},
      {"cut JSON", Script::Json(200, R"({"choices":[{"index":0)")},
      {"F041 no choices", Script::Json(200, R"({"id":"1","choices":[]})")},
  };
  for (const auto& [what, script] : rows) {
    INFO(what);
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", script).On("u2", Script::Chat("Good day"));
    CHECK(h.Ask().header("x-hotel-provider") == "u2");
    CHECK(h.Trail() == Lines{"0 u1 200 charge provider_error", "1 u2 200 success -"});
    CHECK(h.Circuit("u1") == "closed 1");
    testing::AddGroup(*h.store, "solo", {"u1/m"});
    const Client alone = h.Ask("hotel/solo");
    CHECK(alone.status() == 502);
    CHECK(alone.body() == ErrorBody("provider request failed for model hotel/solo", "server_error",
                                    "all_providers_failed"));
  }
}

std::string Completion(const std::string& choice, const std::string& rest = "") {
  return R"({"id":"1","object":"chat.completion","choices":[)" + choice + "]" + rest + "}";
}

TEST_CASE("facts a: an empty text with a finish_reason is served; length and usage excuse it") {
  struct Row {
    const char* what;
    std::string body;
    const char* breaker;
  };
  const std::string empty = R"({"index":0,"message":{"role":"assistant","content":""},)";
  const Row rows[] = {
      {"stop", Completion(empty + R"("finish_reason":"stop"})"), "charge"},
      {"length", Completion(empty + R"("finish_reason":"length"})"), "success"},
      {"content_filter", Completion(empty + R"("finish_reason":"content_filter"})"), "success"},
      {"usage",
       Completion(empty + R"("finish_reason":"stop"})", R"(,"usage":{"completion_tokens":7})"),
       "success"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", Script::Json(200, row.body));
    const Client client = h.Ask();
    CHECK(client.status() == 200);
    CHECK(client.body() == row.body);
    CHECK(h.Calls("u2") == 0);
    CHECK(h.Trail() == Lines{std::string("0 u1 200 ") + row.breaker + " -"});
  }
}

TEST_CASE("facts a: 204 and 205 are served without a body and charged as empty") {
  for (const int status : {204, 205}) {
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", Script().Head(status).End());
    const Client client = h.Ask();
    CHECK(client.status() == status);
    CHECK(client.body().empty());
    CHECK(h.Calls("u2") == 0);
    CHECK(h.Circuit("u1") == "closed 1");
  }
}

TEST_CASE("facts a: another 2xx keeps its status") {
  for (const int status : {201, 202, 203}) {
    Harness h;
    const std::string body = BytesOf(Script::Chat("Good day"));
    h.Demo({"u1"}).On("u1", Script::Json(status, body));
    const Client client = h.Ask();
    CHECK(client.status() == status);
    CHECK(client.body() == body);
    CHECK(h.Trail() == Lines{"0 u1 " + std::to_string(status) + " success -"});
  }
}

TEST_CASE("facts a: an answer over the gateway's cap is a 502, charges nobody, asks nobody else") {
  Harness h;
  Script big;
  big.Head(200, {{"content-type", "application/json"}});
  for (int i = 0; i < 65; ++i) big.Bytes(std::string(std::size_t{1} << 20, 'x'));
  big.Hang();
  h.Demo({"u1", "u2"}).On("u1", big);
  const Client client = h.Ask();
  CHECK(client.status() == 502);
  CHECK(client.body() == ErrorBody("the provider's answer exceeds the size limit for model "
                                   "hotel/demo",
                                   "server_error", "answer_too_large"));
  CHECK(h.Calls("u2") == 0);
  CHECK(h.Seen("u1").cancelled);
  CHECK(h.Trail() == Lines{"0 u1 200 noop provider_error"});
}

}  // namespace
}  // namespace hotel::scenario
