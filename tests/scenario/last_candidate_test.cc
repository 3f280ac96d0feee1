// Nobody is left to ask: the last candidate once more, and what the client is told (seed 000,
// "429s" and "Transient 5xx on the last candidate"; facts a, g).
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/scenario/refusals.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

constexpr const char* kFull = "the provider is at capacity; retry shortly";
constexpr const char* kQuota = "the provider's usage quota is exhausted; retry after it resets";
constexpr const char* kBilling = "the provider rejected this request for billing or plan reasons";

std::string Upstream429(const std::string& reason, const std::string& code) {
  return ErrorBody(reason + " (provider u1, upstream HTTP 429)", "rate_limit_error", code);
}

TEST_CASE("seed 000: a transient 5xx of the last candidate is asked once more, then it serves") {
  for (const int status : {500, 502, 503, 504}) {
    for (const bool stream : {false, true}) {
      for (const char* model : {"hotel/demo", "u1/m"}) {
        INFO(status << " " << model << (stream ? " stream" : ""));
        Harness h;
        const Script good = stream ? Script::ChatStream("Good day") : Script::Chat("Good day");
        h.Demo({"u1"}).On("u1", Script::Json(status, "")).On("u1", good);
        const Client client = h.Ask(model, stream);
        CHECK(client.status() == 200);
        CHECK(client.body() == BytesOf(good));
        CHECK(client.took >= milliseconds(500));
        CHECK(client.took < seconds(1));
        CHECK(client.header("x-hotel-attempts") == "2");
        CHECK(h.Trail() == Lines{"0 u1 " + std::to_string(status) + " charge provider_error",
                                 "1 u1 200 success -"});
        CHECK(h.Circuit("u1") == "closed 0");
        CHECK(h.Seen("u1", 1).body == h.Seen("u1", 0).body);
        CHECK(h.breaker.issued() == 2);
      }
    }
  }
}

TEST_CASE("seed 000: every real 5xx is charged, the repeated one too; there is one repeat") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script::Json(503, "")).On("u2", Script::Json(503, ""));
  const Client client = h.Ask();
  CHECK(client.status() == 503);
  CHECK(client.header("x-hotel-attempts") == "3");
  CHECK(h.Trail() == Lines{"0 u1 503 charge provider_error", "1 u2 503 charge provider_error",
                           "2 u2 503 charge provider_error"});
  CHECK(h.Circuit("u1") == "closed 1");
  CHECK(h.Circuit("u2") == "closed 2");
}

TEST_CASE("seed 000: a status that a repeat cannot change is not asked again") {
  for (const int status : {401, 402, 403, 404, 429, 499, 501, 505, 520, 522, 524, 529}) {
    INFO(status);
    Harness h;
    h.Demo({"u1"}).On("u1", Script::Json(status, ""));
    const Client client = h.Ask();
    CHECK(client.status() == status);
    CHECK(client.took == Duration::zero());
    CHECK(h.Calls("u1") == 1);
  }
}

TEST_CASE("F015 the candidate that just refused is never asked again while it is a 404") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script::Json(404, "")).On("u2", Script::Json(404, ""));
  const Client client = h.Ask();
  CHECK(client.status() == 404);
  CHECK(client.took < seconds(1));
  CHECK(h.upstreams.seen().size() == 2);
}

TEST_CASE(
    "seed 000: a transport failure of the last candidate had its repeats inside the attempt") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Reset());
  CHECK(h.Ask().status() == 502);
  CHECK(h.Trail() == Lines{"0 u1 - charge provider_error"});
  CHECK(h.Calls("u1") == 3);
}

TEST_CASE("server_error_retry_enabled off: the first answer is forwarded") {
  Harness h(FailoverFirst({{"server_error_retry_enabled", "false"}}));
  h.Demo({"u1"}).On("u1", Script::Json(503, ""));
  CHECK(h.Ask().took == Duration::zero());
  CHECK(h.Calls("u1") == 1);
}

TEST_CASE("seed 000: no repeat when the overall deadline has no room for it") {
  Harness h(FailoverFirst({{"request_timeout", "250ms"}}));
  h.Demo({"u1"}).On("u1", Script::Json(503, ""));
  const Client client = h.Ask();
  CHECK(client.status() == 503);
  CHECK(client.took == Duration::zero());
  CHECK(h.Calls("u1") == 1);
}

TEST_CASE("a client that leaves before the repeat: it is not made") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Json(503, ""));
  Client client = h.Chat();
  h.loop.Advance(milliseconds(400));
  client.call->Cancel();
  h.loop.Advance(seconds(2));
  CHECK(h.Calls("u1") == 1);
  CHECK(h.record().status == 499);
}

TEST_CASE("the first 5xx opens the circuit: a group does not repeat, a direct name does") {
  for (const char* model : {"hotel/demo", "u1/m"}) {
    Harness h(FailoverFirst({{"circuit_breaker_threshold", "1"}}));
    h.Demo({"u1"}).On("u1", Script::Json(503, ""));
    CHECK(h.Ask(model).status() == 503);
    CHECK(h.Calls("u1") == (std::string(model) == "u1/m" ? 2 : 1));
  }
}

TEST_CASE("seed 000: a saturated last candidate is waited out and asked once more") {
  for (const bool stream : {false, true}) {
    for (const char* model : {"hotel/demo", "u1/m"}) {
      Harness h;
      const Script good = stream ? Script::ChatStream("Good day") : Script::Chat("Good day");
      h.Demo({"u1"}).On("u1", Busy(20)).On("u1", good);
      const Client client = h.Ask(model, stream);
      CHECK(client.status() == 200);
      CHECK(client.body() == BytesOf(good));
      CHECK(client.took == seconds(20));
      CHECK(h.Trail() == Lines{"0 u1 429 noop provider_saturated", "1 u1 200 success -"});
      CHECK(h.Circuit("u1") == "closed 0");
    }
  }
}

TEST_CASE("F097 facts g: saturated twice: 429 with the wait it stated, 2 s when it stated none") {
  for (const auto& [busy, wait] :
       {std::pair<Script, int>{Busy(2), 2}, {Busy(60), 60}, {BusyWords(), 2}}) {
    Harness h;
    h.Demo({"u1"}).On("u1", busy);
    const Client client = h.Ask();
    CHECK(client.status() == 429);
    CHECK(client.took == seconds(wait));
    CHECK(client.header("retry-after") == std::to_string(wait));
    CHECK(client.body() == Upstream429(kFull, "provider_saturated"));
    CHECK(h.Calls("u1") == 2);
    CHECK(h.Trail() ==
          Lines{"0 u1 429 noop provider_saturated", "1 u1 429 noop provider_saturated"});
    CHECK(h.record().error_kind == ErrorKind::kProviderSaturated);
    CHECK(h.EventCount("circuit_breaker.open") == 0);
  }
}

TEST_CASE("F097 a wait above the ceiling is a window: pinned, answered at once, told as a minute") {
  Harness h;
  h.Demo({"u1"}).On("u1", Busy(3600));
  const Client client = h.Ask();
  CHECK(client.status() == 429);
  CHECK(client.took == Duration::zero());
  CHECK(client.header("retry-after") == "60");
  CHECK(client.body() == Upstream429(kQuota, "provider_quota_exhausted"));
  CHECK(h.Calls("u1") == 1);
  CHECK(h.Circuit("u1") == "open 5");
}

TEST_CASE("seed 000: no wait for a saturated one when the deadline comes before its end") {
  Harness h(FailoverFirst({{"request_timeout", "5s"}}));
  h.Demo({"u1"}).On("u1", Busy(10));
  const Client client = h.Ask();
  CHECK(client.status() == 429);
  CHECK(client.took == Duration::zero());
  CHECK(client.header("retry-after") == "10");
  CHECK(h.Calls("u1") == 1);
}

TEST_CASE("wait_saturated off: the busy answer is told at once") {
  Harness h(FailoverFirst({{"failover.last_candidate_retry.wait_saturated", "false"}}));
  h.Demo({"u1"}).On("u1", Busy(10));
  CHECK(h.Ask().took == Duration::zero());
  CHECK(h.Calls("u1") == 1);
}

TEST_CASE("one repeat for a request: a busy answer behind a repeated 5xx is the last word") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Json(503, "")).On("u1", Busy(10));
  const Client client = h.Ask();
  CHECK(client.status() == 429);
  CHECK(client.took < seconds(1));
  CHECK(h.Calls("u1") == 2);
}

TEST_CASE("only the last candidate is waited for, not one before it") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Busy(20)).On("u2", Script::Json(404, ""));
  const Client client = h.Ask();
  CHECK(client.status() == 404);
  CHECK(client.took < seconds(1));
}

TEST_CASE("facts g: a spent last candidate: 429 at once, by money or by window") {
  for (const auto& [refusal, reason, code] :
       {std::tuple<Script, const char*, const char*>{SpentMoney(), kBilling,
                                                     "provider_not_entitled"},
        {SpentWindow(), kQuota, "provider_quota_exhausted"}}) {
    Harness h;
    h.Demo({"u1"}).On("u1", refusal);
    const Client client = h.Ask();
    CHECK(client.status() == 429);
    CHECK(client.took == Duration::zero());
    CHECK(client.body() == Upstream429(reason, code));
    CHECK(h.Calls("u1") == 1);
    CHECK(ErrorKindName(h.record().error_kind) == std::string(code));
  }
}

TEST_CASE("F027 every skip waits out a quota pin: the kind says so, the wait stays a minute") {
  for (const bool all_pinned : {true, false}) {
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", SpentMoney());
    h.On("u2", all_pinned ? SpentWindow() : Script::Json(501, ""));
    for (int i = 0; i < 5; ++i) h.Ask();
    const std::size_t before = h.upstreams.seen().size();
    const Client client = h.Ask();
    CHECK(client.status() == 429);
    CHECK(client.header("retry-after") == "60");
    CHECK(client.body() == ErrorBody("no available provider for hotel/demo; earliest retry in 60s",
                                     "rate_limit_error", "no_available_provider"));
    CHECK(h.upstreams.seen().size() == before);
    CHECK(h.record().error_kind ==
          (all_pinned ? ErrorKind::kProviderQuotaExhausted : ErrorKind::kProviderSaturated));
  }
}

}  // namespace
}  // namespace hotel::scenario
