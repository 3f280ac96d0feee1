// The same target again, with growing waits (seed 003; R1-R17). The profile is retry_first; the
// options are written as in a configuration.
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/scenario/refusals.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

std::vector<Duration> GapsTo(const Harness& h, const std::string& provider) {
  std::vector<Duration> gaps;
  for (std::size_t i = 1; i < h.Calls(provider); ++i) {
    gaps.push_back(h.Seen(provider, i).at - h.Seen(provider, i - 1).at);
  }
  return gaps;
}

void CheckGaps(const Harness& h, const std::vector<int>& base_us, int percent) {
  const std::vector<Duration> gaps = GapsTo(h, "u1");
  REQUIRE(gaps.size() == base_us.size());
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    INFO("wait " << i << ": " << gaps[i].count() << " ns");
    const Duration base = std::chrono::microseconds(base_us[i]);
    CHECK(gaps[i] >= base * (100 - percent) / 100);
    CHECK(gaps[i] <= base * (100 + percent) / 100);
  }
}

TEST_CASE("R4 max_retries N is N + 1 tries of one attempt; 0 is one") {
  for (const int n : {0, 1, 2, 3, 5}) {
    Harness h(RetryFirst({{"resilience.retry.max_retries", std::to_string(n)}}));
    h.Demo({"u1"}).On("u1", Script::Json(503, ""));
    const Client client = h.Ask();
    CHECK(client.status() == 503);
    CHECK(client.header("x-hotel-attempts") == "1");
    CHECK(h.Calls("u1") == static_cast<std::size_t>(n) + 1);
    CHECK(h.Trail() == Lines{"0 u1 503 charge provider_error"});
    CHECK(h.record().attempts[0].tries == n + 1);
    CHECK(h.breaker.issued() == 1);
  }
}

TEST_CASE("R5 the waits are 1, 2, 4 s, a tenth more or less") {
  Harness h(RetryFirst());
  h.Demo({"u1"}).On("u1", Script::Json(503, ""));
  const Client client = h.Ask();
  CheckGaps(h, {1'000'000, 2'000'000, 4'000'000}, 10);
  CHECK(client.took >= milliseconds(6300));
  CHECK(client.took <= milliseconds(7700));
}

TEST_CASE("R5 the seed's sample: 500 ms, factor 1.5, jitter 0.05") {
  Harness h(RetryFirst({{"resilience.retry.initial_backoff", "500ms"},
                        {"resilience.retry.backoff_factor", "1.5"},
                        {"resilience.retry.max_backoff", "10s"},
                        {"resilience.retry.jitter_factor", "0.05"},
                        {"resilience.retry.max_retries", "5"}}));
  h.Demo({"u1"}).On("u1", Script::Json(503, ""));
  h.Ask();
  CheckGaps(h, {500'000, 750'000, 1'125'000, 1'687'500, 2'531'250}, 5);
}

TEST_CASE("R5 no jitter: exact waits; max_backoff is the ceiling, jitter included") {
  Harness exact(
      RetryFirst({{"resilience.retry.jitter_factor", "0"}, {"resilience.retry.max_retries", "7"}}));
  exact.Demo({"u1"}).On("u1", Script::Json(503, ""));
  exact.Ask();
  CHECK(GapsTo(exact, "u1") == std::vector<Duration>{seconds(1), seconds(2), seconds(4), seconds(8),
                                                     seconds(16), seconds(30), seconds(30)});
  Harness jitter(RetryFirst(
      {{"resilience.retry.initial_backoff", "30s"}, {"resilience.retry.max_retries", "10"}}));
  jitter.Demo({"u1"}).On("u1", Script::Json(503, ""));
  jitter.Ask();
  for (const Duration gap : GapsTo(jitter, "u1")) CHECK(gap <= seconds(30));
}

TEST_CASE("R3 every target of a route has its own full budget of tries") {
  Harness h(RetryFirst({{"resilience.retry.max_retries", "2"}}));
  h.Demo({"u1", "u2", "u3"}).On("u1", Script::Json(503, "")).On("u2", Script::Json(503, ""));
  h.On("u3", Script::Json(503, ""));
  CHECK(h.Ask().header("x-hotel-attempts") == "3");
  for (const char* name : {"u1", "u2", "u3"}) CHECK(h.Calls(name) == 3);
}

TEST_CASE("R6 R11 transport failures are repeated, also with an empty status list") {
  for (const Script& fault : {Script::Refused(), Script::Reset(),
                              Script().Fail(TransportError::kResolve, TransportPhase::kNotSent),
                              Script().Fail(TransportError::kOther, TransportPhase::kSent)}) {
    Harness h(RetryFirst({{"resilience.retry.retry_on_statuses", "[]"}}));
    h.Demo({"u1"}).On("u1", fault).On("u1", fault).On("u1", Script::Chat("Good day"));
    CHECK(h.Ask().status() == 200);
    CHECK(h.record().attempts[0].tries == 3);
    CHECK(h.Circuit("u1", "") == "closed 0");
  }
}

TEST_CASE("R7 the default list, and what is not on it goes back after the first try") {
  for (const int status : {429, 502, 503, 504, 522, 524}) {
    Harness h(RetryFirst());
    h.Demo({"u1"}).On("u1", Script::Json(status, "")).On("u1", Script::Chat("Good day"));
    CHECK(h.Ask().status() == 200);
    CHECK(h.Calls("u1") == 2);
  }
  for (const int status : {400, 401, 403, 404, 408, 422, 500, 501, 520, 529}) {
    INFO(status);
    Harness h(RetryFirst());
    h.Demo({"u1"}).On("u1", Script::Json(status, ""));
    const Client client = h.Ask();
    CHECK(client.status() == status);
    CHECK(client.took == Duration::zero());
    CHECK(h.Calls("u1") == 1);
  }
}

TEST_CASE("R7 error_body provider: the client reads what the provider wrote") {
  const std::string words = R"({"error":{"message":"out of GPUs","code":"x"}})";
  Harness h(RetryFirst({{"resilience.retry.max_retries", "0"}}));
  h.Demo({"u1"}).On("u1", Script::Json(503, words));
  const Client client = h.Ask();
  CHECK(client.status() == 503);
  CHECK(client.body() == words);
}

TEST_CASE("F095 R7 the hint of a refusal survives beside the provider's own words") {
  const std::string words = R"({"error":{"message":"slow down"}})";
  for (const auto& [status, hint] : {std::pair<int, const char*>{429, "30"}, {503, "120"}}) {
    Harness h(RetryFirst({{"resilience.retry.max_retries", "0"}}));
    h.Demo({"u1"}).On("u1", Refusal(status, words, {{"retry-after", hint}}));
    const Client client = h.Ask();
    CHECK(client.status() == status);
    CHECK(client.body() == words);
    CHECK(client.header("retry-after") == hint);
  }
}

TEST_CASE("R8 a timeout of our own ends the attempt at once: 504, charged, fails over") {
  Harness h(RetryFirst({{"timeouts.request_timeout", "20s"}}));
  h.Demo({"u1", "u2"}).On("u1", Script().Hang()).On("u2", Script::Chat("Good day"));
  const Client client = h.Ask();
  CHECK(client.header("x-hotel-provider") == "u2");
  CHECK(client.took == seconds(20));
  CHECK(h.Calls("u1") == 1);
  CHECK(h.Circuit("u1", "") == "closed 1");
  const Client direct = h.Ask("u1/m");
  CHECK(direct.status() == 504);
  CHECK(h.Calls("u1") == 2);
}

TEST_CASE("R8 R9 the attempt's own limit bounds its tries and the waits between them") {
  Harness h(RetryFirst(
      {{"timeouts.request_timeout", "2500ms"}, {"resilience.retry.jitter_factor", "0"}}));
  h.Demo({"u1"}).On("u1", Script::Json(503, ""));
  const Client client = h.Ask();
  CHECK(client.status() == 503);
  CHECK(client.took == seconds(1));  // the next wait would not fit
  CHECK(h.Calls("u1") == 2);
}

TEST_CASE("R9 a client that leaves in a wait: no further try, nothing charged") {
  Harness h(RetryFirst());
  h.Demo({"u1", "u2"}).On("u1", Script::Json(503, ""));
  Client client = h.Chat();
  h.loop.Advance(milliseconds(500));
  client.call->Cancel();
  h.loop.Advance(minutes(1));
  CHECK(h.Calls("u1") == 1);
  CHECK(h.Calls("u2") == 0);
  CHECK(h.Trail() == Lines{"0 u1 503 noop client_disconnect"});
  CHECK((h.Circuit("u1", "") == "none" || h.Circuit("u1", "") == "closed 0"));
}

TEST_CASE("R12 the retry list and the breaker's list are independent") {
  struct Row {
    const char* retry;
    const char* charged;
    int status;
    std::size_t calls;
    const char* state;
  };
  const Row rows[] = {{"5xx", "[]", 500, 3, "closed"},
                      {"[]", "524", 524, 1, "open"},
                      {"429,502,503,504,522,524", "500", 429, 3, "closed"}};
  for (const Row& row : rows) {
    INFO(row.status);
    Harness h(RetryFirst({{"resilience.retry.retry_on_statuses", row.retry},
                          {"resilience.retry.max_retries", "2"},
                          {"resilience.circuit_breaker.failure_on_statuses", row.charged},
                          {"resilience.circuit_breaker.failure_threshold", "1"}}));
    h.Demo({"u1"}).On("u1", Script::Json(row.status, ""));
    CHECK(h.Ask().status() == row.status);
    CHECK(h.Calls("u1") == row.calls);
    CHECK(h.Circuit("u1", "").substr(0, std::string(row.state).size()) == row.state);
  }
}

TEST_CASE("R13 a stream is never repeated, not by status, not by transport") {
  for (const Script& fault : {Script::Json(503, ""), Script::Reset(), Script::Refused(),
                              Open({ErrorFrame("503")}).End()}) {
    Harness h(RetryFirst());
    h.Demo({"u1", "u2"}).On("u1", fault).On("u2", Script::ChatStream("Good day"));
    const Client client = h.Ask("hotel/demo", true);
    CHECK(client.header("x-hotel-provider") == "u2");
    CHECK(client.took == Duration::zero());
    CHECK(h.Calls("u1") == 1);
    CHECK(h.Circuit("u1", "") == "closed 1");
  }
}

TEST_CASE(
    "retry.streaming before_commit: the list holds for streams until something was forwarded") {
  const Script good = Script::ChatStream("Good day");
  for (const Script& fault : {Script::Json(503, ""), Open({ErrorFrame("503")}).End()}) {
    Harness h(RetryFirst({{"resilience.retry.streaming", "before_commit"}}));
    h.Demo({"u1"}).On("u1", fault).On("u1", good);
    const Client client = h.Ask("hotel/demo", true);
    CHECK(client.body() == BytesOf(good));
    CHECK(h.record().attempts[0].tries == 2);
  }
  Harness h(RetryFirst({{"resilience.retry.streaming", "before_commit"}}));
  h.Demo({"u1"}).On("u1", Cut(Open({Text("one")})));
  CHECK_FALSE(h.Ask("hotel/demo", true).sink->end.complete);
  CHECK(h.Calls("u1") == 1);
}

TEST_CASE(
    "R26 an error hidden in a 200 drives retry, breaker and failover by the status it carries") {
  const Script hidden = Script::Json(200, R"({"error":{"code":503,"message":"overloaded"}})");
  Harness h(RetryFirst({{"resilience.retry.max_retries", "1"}}));
  h.Demo({"u1", "u2"}).On("u1", hidden).On("u2", Script::Chat("Good day"));
  CHECK(h.Ask().header("x-hotel-provider") == "u2");
  CHECK(h.Calls("u1") == 2);
  CHECK(h.Circuit("u1", "") == "closed 1");
}

TEST_CASE("R17 Retry-After is not looked at; with retry_after floor it is the least wait") {
  const Script busy = Refusal(503, "{}", {{"retry-after", "20"}});
  for (const auto& [how, wait] : {std::pair<const char*, int>{"ignore", 1}, {"floor", 20}}) {
    Harness h(RetryFirst(
        {{"resilience.retry.retry_after", how}, {"resilience.retry.jitter_factor", "0"}}));
    h.Demo({"u1"}).On("u1", busy).On("u1", Script::Chat("Good day"));
    CHECK(h.Ask().took == seconds(wait));
  }
  Harness far(RetryFirst({{"resilience.retry.retry_after", "floor"}}));
  far.Demo({"u1", "u2"}).On("u1", Refusal(503, "{}", {{"retry-after", "31"}}));
  far.On("u2", Script::Chat("Good day"));
  const Client client = far.Ask();  // more than max_backoff: on to the next one
  CHECK(client.took == Duration::zero());
  CHECK(far.Calls("u1") == 1);
}

TEST_CASE("retry_first has no pause between targets and no deadline for the route") {
  Harness h(RetryFirst({{"timeouts.request_timeout", "100s"}}));
  h.Demo({"u1", "u2", "u3", "u4"});
  for (const char* name : {"u1", "u2", "u3"}) h.On(name, Script().Hang());
  h.On("u4", Script::Chat("Good day"));
  const Client client = h.Ask();
  CHECK(client.status() == 200);
  CHECK(client.took == seconds(300));
}

TEST_CASE("failover.judge first: only the first target's error decides to go on") {
  Harness h(RetryFirst());
  h.Demo({"u1", "u2", "u3"}).On("u1", Script::Json(500, "")).On("u2", Script::Json(404, ""));
  h.On("u3", Script::Chat("Good day"));
  CHECK(h.Ask().header("x-hotel-provider") == "u3");
  testing::AddGroup(*h.store, "other", {"u2/m", "u3/m"});
  CHECK(h.Ask("hotel/other").status() == 404);  // not in failover.retry_on_statuses

  Harness every(RetryFirst({{"failover.judge", "every"}}));
  every.Demo({"u1", "u2", "u3"}).On("u1", Script::Json(500, "")).On("u2", Script::Json(404, ""));
  CHECK(every.Ask().status() == 404);
  CHECK(every.Calls("u3") == 0);
}

TEST_CASE("stream.commit_on first_event: a role-only opener commits, and is not waited behind") {
  Harness h(RetryFirst());
  h.Demo({"u1", "u2"})
      .On("u1", Open({Role()}).After(minutes(4)).Bytes(Bytes({Text("x"), Fin(), Done()})).End());
  Client client = h.Chat("hotel/demo", true);
  h.loop.RunUntilIdle();
  CHECK(client.body() == Bytes({Role()}));
  h.Wait(client);
  CHECK(client.sink->end.complete);
  // An error as the first event fails over all the same, and an empty stream too.
  for (const Script& fault : {Open({ErrorFrame("503")}).End(), Open({": ping"}).End()}) {
    Harness first(RetryFirst());
    first.Demo({"u1", "u2"}).On("u1", fault).On("u2", Script::ChatStream("Good day"));
    CHECK(first.Ask("hotel/demo", true).header("x-hotel-provider") == "u2");
  }
}

}  // namespace
}  // namespace hotel::scenario
