// One test per row of the trigger table that is about a status (facts a): does the request move on,
// what does the circuit learn, what does the client get when nobody is left.
#include "tests/scenario/harness.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

constexpr std::string_view kWords = R"({"error":{"message":"no","type":"t"}})";

struct Row {
  int status;
  const char* breaker;  // effect in the trail
  const char* circuit;  // afterwards
  const char* kind;
  const char* code;  // of the gateway's words; "" = the provider's own words are forwarded
  const char* type;
  const char* reason;
};

constexpr const char* kBilling = "the provider rejected this request for billing or plan reasons";
constexpr const char* kFailed = "the provider failed to serve this request";
constexpr const char* kGone = "the provider no longer serves this model";
constexpr const char* kRefused = "the provider refused this request for rate or quota reasons";

const Row kMovesOn[] = {
    {401, "charge", "closed 1", "provider_not_entitled", "provider_not_entitled",
     "authentication_error", kBilling},
    {402, "charge", "open 5", "provider_not_entitled", "provider_not_entitled",
     "invalid_request_error", kBilling},
    {403, "charge", "closed 1", "provider_not_entitled", "provider_not_entitled",
     "permission_error", kBilling},
    {404, "noop", "none", "provider_model_gone", "provider_model_gone", "not_found_error", kGone},
    {429, "charge", "closed 1", "provider_error", "provider_rate_limited", "rate_limit_error",
     kRefused},
    {499, "noop", "none", "provider_error", "provider_error", "invalid_request_error", kFailed},
    {500, "charge", "closed 1", "provider_error", "provider_error", "server_error", kFailed},
    {501, "charge", "closed 1", "provider_error", "provider_error", "server_error", kFailed},
    {502, "charge", "closed 1", "provider_error", "provider_error", "server_error", kFailed},
    {503, "charge", "closed 1", "provider_error", "provider_error", "server_error", kFailed},
    {504, "charge", "closed 1", "provider_error", "provider_error", "server_error", kFailed},
    // F009: every status from 500 on, 52x and 529 included.
    {520, "charge", "closed 1", "provider_error", "provider_error", "server_error", kFailed},
    {522, "charge", "closed 1", "provider_error", "provider_error", "server_error", kFailed},
    {524, "charge", "closed 1", "provider_error", "provider_error", "server_error", kFailed},
    {529, "charge", "closed 1", "provider_error", "provider_error", "server_error", kFailed},
    {530, "charge", "closed 1", "provider_error", "provider_error", "server_error", kFailed},
    {599, "charge", "closed 1", "provider_error", "provider_error", "server_error", kFailed},
};

std::string First(const Row& row) {
  return "0 u1 " + std::to_string(row.status) + " " + row.breaker + " " + row.kind;
}

/// A last candidate that answers this is asked once more.
bool IsRepeated(int status) { return status == 500 || (status >= 502 && status <= 504); }

// A circuit that was only touched neutrally may be listed or not; both say the same.
bool CircuitIs(const Harness& h, const std::string& want) {
  const std::string is = h.Circuit("u1");
  return is == want || (want == "none" && is == "closed 0");
}

TEST_CASE("F005 F007 F009 an eligible status moves the request on, whole answer or stream") {
  for (const Row& row : kMovesOn) {
    for (const bool stream : {false, true}) {
      INFO("status " << row.status << (stream ? " stream" : ""));
      Harness h;
      h.Demo({"u1", "u2"}).On("u1", Script::Json(row.status, std::string(kWords)));
      const Script good = stream ? Script::ChatStream("Good day to you") : Script::Chat("Good day");
      h.On("u2", good);
      const Client client = h.Ask("hotel/demo", stream);
      CHECK(client.status() == 200);
      CHECK(client.body() == BytesOf(good));
      CHECK(client.header("content-type") == (stream ? "text/event-stream" : "application/json"));
      CHECK(client.header("x-hotel-provider") == "u2");
      CHECK(client.header("x-hotel-model") == "m");
      CHECK(client.header("x-hotel-attempts") == "2");
      CHECK(client.header("x-hotel-request-id") == h.record().request_id);
      CHECK(client.sink->head.streaming == stream);
      CHECK(client.sink->end.complete);
      CHECK(h.Calls("u1") == 1);
      CHECK(h.Calls("u2") == 1);
      CHECK(h.Trail() == Lines{First(row), "1 u2 200 success -"});
      CHECK(CircuitIs(h, row.circuit));
      CHECK(h.Circuit("u2") == "closed 0");
      CHECK(h.EventCount("circuit_breaker.open") == (row.status == 402 ? 1 : 0));
      CHECK(h.record().status == 200);
      CHECK(h.record().provider == "u2");
      CHECK(h.record().streaming == stream);
      CHECK(h.record().error_kind == ErrorKind::kNone);
    }
  }
}

TEST_CASE(
    "F005 F015 an eligible status of the last candidate reaches the client in gateway words") {
  for (const Row& row : kMovesOn) {
    for (const bool stream : {false, true}) {
      INFO("status " << row.status << (stream ? " stream" : ""));
      Harness h;
      h.Demo({"u1"}).On("u1", Script::Json(row.status, std::string(kWords)));
      const Client client = h.Ask("hotel/demo", stream);
      CHECK(client.status() == row.status);
      CHECK(client.body() == ErrorBody(std::string(row.reason) + " (provider u1, upstream HTTP " +
                                           std::to_string(row.status) + ")",
                                       row.type, row.code));
      CHECK(client.header("content-type") == "application/json");
      CHECK(client.header("x-hotel-provider") == "u1");
      CHECK(client.header("x-hotel-model") == "m");
      CHECK(client.header("x-hotel-attempts") == (IsRepeated(row.status) ? "2" : "1"));
      CHECK_FALSE(client.sink->head.streaming);
      if (IsRepeated(row.status)) {
        CHECK(h.Trail() == Lines{First(row), "1" + First(row).substr(1)});
        CHECK(h.Circuit("u1") == "closed 2");
      } else {
        CHECK(client.took == Duration::zero());
        CHECK(h.Trail() == Lines{First(row)});
        CHECK(CircuitIs(h, row.circuit));
      }
      CHECK(h.Calls("u1") == h.record().attempts.size());
      CHECK(h.record().status == row.status);
      CHECK(ErrorKindName(h.record().error_kind) == std::string(row.kind));
    }
  }
}

TEST_CASE("facts a: a payload refusal is final, forwarded as written, and proves health") {
  const std::string words = R"({"error":{"message":"bad value","code":12345678901234567890}})";
  for (const int status : {400, 405, 406, 408, 409, 410, 413, 415, 418, 422, 424, 425, 428, 451}) {
    for (const bool stream : {false, true}) {
      INFO("status " << status << (stream ? " stream" : ""));
      Harness h;
      h.Demo({"u1", "u2"}).On("u1", Script::Json(500, "")).On("u1", Script::Json(status, words));
      h.On("u2", Script::Chat("never asked"));
      h.On("u2", Script::Chat("never asked"));
      h.Ask("hotel/demo", false);  // one failure, so that a credit shows
      CHECK(h.Circuit("u1") == "closed 1");
      const std::size_t before = h.Calls("u2");
      const Client client = h.Ask("hotel/demo", stream);
      CHECK(client.status() == status);
      CHECK(client.body() == words);
      CHECK(client.header("content-type") == "application/json");
      CHECK(client.header("x-hotel-provider") == "u1");
      CHECK(client.header("x-hotel-attempts") == "1");
      CHECK(h.Calls("u2") == before);
      CHECK(h.Circuit("u1") == "closed 0");
      CHECK(h.Trail() == Lines{"0 u1 " + std::to_string(status) + " alive provider_bad_request"});
      CHECK(h.record().status == status);
      CHECK(h.record().error_kind == ErrorKind::kProviderBadRequest);
    }
  }
}

TEST_CASE("facts g: 407 is final, proves health, and is never forwarded as written") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script::Json(407, std::string(kWords)));
  const Client client = h.Ask();
  CHECK(client.status() == 407);
  CHECK(Message(client.body()) == std::string(kFailed) + " (provider u1, upstream HTTP 407)");
  CHECK(h.Calls("u2") == 0);
  CHECK(h.Trail() == Lines{"0 u1 407 alive provider_error"});
}

TEST_CASE("decisions 10: a provider's 3xx is a failed attempt, never followed, never forwarded") {
  for (const int status : {301, 302, 307, 308}) {
    INFO("status " << status);
    Harness h;
    Script redirect;
    redirect.Head(status, {{"location", "https://evil.test/"}}).End();
    h.Demo({"u1", "u2"}).On("u1", redirect).On("u2", Script::Chat("Good day"));
    CHECK(h.Ask().header("x-hotel-provider") == "u2");
    CHECK(h.Circuit("u1") == "closed 1");
    CHECK(h.Calls("evil") == 0);
    testing::AddGroup(*h.store, "solo", {"u1/m"});
    const Client alone = h.Ask("hotel/solo");
    CHECK(alone.status() == 502);
    CHECK(alone.body() == ErrorBody("provider request failed for model hotel/solo", "server_error",
                                    "all_providers_failed"));
    CHECK(alone.header("location").empty());
  }
}

TEST_CASE("F011 a made-up status is a broken transport, not a crash and not a marker") {
  for (const int status : {600, 999, 99}) {
    INFO("status " << status);
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", Script().Head(status).End()).On("u2", Script::Chat("Good day"));
    CHECK(h.Ask().status() == 200);
    CHECK(h.Circuit("u1") == "closed 1");
    testing::AddGroup(*h.store, "solo", {"u1/m"});
    CHECK(h.Ask("hotel/solo").status() == 502);
  }
}

TEST_CASE("F011 an upstream 499 is a provider's answer, not our client's leaving") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script::Json(499, "{}")).On("u2", Script::Json(499, "{}"));
  const Client client = h.Ask();
  CHECK(client.status() == 499);
  CHECK(h.record().error_kind == ErrorKind::kProviderError);
  CHECK(h.Trail() == Lines{"0 u1 499 noop provider_error", "1 u2 499 noop provider_error"});
}

TEST_CASE("F017 one upstream call for each candidate, whatever they answer") {
  for (const Script& fault :
       {Script::Json(501, ""), Script::Json(429, ""), Script::Json(200, "?"), Script::Sse({})}) {
    Harness h;
    h.Demo({"u1", "u2", "u3"}).On("u1", fault).On("u2", fault).On("u3", fault);
    h.Ask();
    CHECK(h.upstreams.seen().size() == 3);
  }
}

TEST_CASE("failover_on_rate_limit off: a 429 goes to the client, uncharged, in gateway words") {
  Settings settings = Settings::Defaults();
  StatusSet eligible;
  for (const int code : {401, 402, 403, 404, 499}) eligible.AddCode(code);
  eligible.AddClass(5);
  settings.global.failover.retry_on_statuses = eligible;
  settings.global.circuit_breaker.failure_on_statuses =
      StatusSet().AddCode(401).AddCode(403).AddClass(5);
  Harness h(settings);
  h.Demo({"u1", "u2"}).On("u1", Script::Json(429, std::string(kWords)));
  const Client client = h.Ask();
  CHECK(client.status() == 429);
  CHECK(client.body() == ErrorBody(std::string(kRefused) + " (provider u1, upstream HTTP 429)",
                                   "rate_limit_error", "provider_rate_limited"));
  CHECK(h.Calls("u2") == 0);
  CHECK(h.Trail() == Lines{"0 u1 429 alive provider_error"});
}

TEST_CASE("an empty failover list means none: the first refusal is the answer") {
  Settings settings = Settings::Defaults();
  settings.global.failover.retry_on_statuses = StatusSet();
  Harness h(settings);
  h.Demo({"u1", "u2"}).On("u1", Script::Json(503, ""));
  CHECK(h.Ask().status() == 503);
  CHECK(h.Calls("u2") == 0);
  CHECK(h.Circuit("u1") == "closed 1");
}

TEST_CASE("a 402 is an ordinary charge when open_on_exhaustion is off") {
  Settings settings = Settings::Defaults();
  settings.global.circuit_breaker.open_on_exhaustion = false;
  Harness h(settings);
  h.Demo({"u1", "u2"}).On("u1", Script::Json(402, "")).On("u2", Script::Chat("Good day"));
  CHECK(h.Ask().status() == 200);
  CHECK(h.Circuit("u1") == "closed 1");
}

}  // namespace
}  // namespace hotel::scenario
