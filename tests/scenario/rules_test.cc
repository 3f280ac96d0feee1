// Rules of seed 003 that stand beside each other nowhere else: whose the repeats and circuits are,
// what a status list may say, what is nobody's fault, when the answer's head goes out.
#include <string>
#include <vector>

#include "tests/scenario/endpoints.h"
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/scenario/refusals.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

std::string KeyOf(const testing::SeenRequest& seen) {
  return std::string(FindHeader(seen.request.headers, "idempotency-key"));
}

RouteRequest WithKey(bool stream) {
  RouteRequest request = To(Endpoint::kChatCompletions,
                            stream ? StreamBody() : R"({"model":"hotel/demo","messages":[]})");
  request.idempotency_key = "order-17";
  return request;
}

TEST_CASE("R1 R2 repeats and the circuit are the selected target's and bring in nobody else") {
  Harness h(RetryFirst({{"resilience.retry.max_retries", "2"},
                        {"resilience.circuit_breaker.failure_threshold", "1"}}));
  h.Demo({"u1", "u2"}).On("u1", Script::Json(503, "")).On("u2", Script::Chat("Good day"));
  CHECK(h.Ask("u1/m").status() == 503);
  REQUIRE(h.Calls("u1") == 3);
  for (std::size_t i = 1; i < 3; ++i) {
    CHECK(h.Seen("u1", i).body == h.Seen("u1").body);
    CHECK(h.Seen("u1", i).request.url == h.Seen("u1").request.url);
  }
  // The circuit is the provider's: it fails fast for each of its models, and for nobody else's.
  for (const char* model : {"u1/m", "u1/other"}) {
    const Client client = h.Ask(model);
    CHECK(client.status() == 503);
    CHECK(client.took == Duration::zero());
  }
  CHECK(h.Calls("u1") == 3);
  CHECK(h.Calls("u2") == 0);
  CHECK(h.Ask("u2/m").status() == 200);

  Harness model(RetryFirst({{"resilience.retry.max_retries", "0"},
                            {"resilience.circuit_breaker.scope", "model"},
                            {"resilience.circuit_breaker.failure_threshold", "1"}}));
  model.Demo({"u1"}).On("u1", Script::Json(503, "")).On("u1", Script::Chat("Good day"));
  CHECK(model.Ask("u1/m").status() == 503);
  CHECK(model.Ask("u1/other").status() == 200);
  CHECK(model.Calls("u1") == 2);
}

TEST_CASE("R10 a status list takes codes and classes, trimmed and in any case, and nothing else") {
  struct Row {
    const char* list;
    int status;
    std::size_t calls;
  };
  const Row rows[] = {{"5XX", 529, 2},         {"5xx", 499, 1}, {" 4xx , 503 ", 418, 2},
                      {" 4xx , 503 ", 503, 2}, {"503", 502, 1}, {"100,599", 599, 2}};
  for (const Row& row : rows) {
    INFO(row.list << " " << row.status);
    Harness h(RetryFirst(
        {{"resilience.retry.retry_on_statuses", row.list}, {"resilience.retry.max_retries", "1"}}));
    h.Demo({"u1"}).On("u1", Script::Json(row.status, ""));
    CHECK(h.Ask().status() != 200);
    CHECK(h.Calls("u1") == row.calls);
  }
  for (const char* list : {"600", "999", "99", "6xx", "0xx", "oops", "5x", "5xxx", "503;504"}) {
    INFO(list);
    CHECK_THROWS(RetryFirst({{"resilience.retry.retry_on_statuses", list}}));
  }
}

TEST_CASE("R16 what fails in this process is not repeated and is no word on the provider") {
  const Script local = Script().Fail(TransportError::kLocal, TransportPhase::kNotSent);
  Harness h(RetryFirst({{"resilience.circuit_breaker.failure_threshold", "1"},
                        {"resilience.circuit_breaker.timeout", "30s"},
                        {"resilience.circuit_breaker.success_threshold", "1"}}));
  h.Demo({"u1"}).On("u1", local).On("u1", Script::Json(500, "")).On("u1", local);
  h.On("u1", Script::Chat("Good day"));
  CHECK(h.Ask("u1/m").status() >= 500);
  CHECK(h.Calls("u1") == 1);
  CHECK(h.record().attempts[0].breaker == BreakerEffect::kNoop);
  CHECK((h.Circuit("u1", "") == "none" || h.Circuit("u1", "") == "closed 0"));
  // Nor is a request that cannot be understood: it asks nobody.
  CHECK(h.Send(R"({"model":"u1/m","messages":[})").sink != nullptr);
  h.loop.RunUntilIdle();
  CHECK(h.Calls("u1") == 1);
  // A probe that ends so gives its place back at once.
  CHECK(h.Ask("u1/m").status() == 500);
  CHECK(h.Circuit("u1", "") == "open 1");
  h.loop.Advance(seconds(30));
  h.Ask("u1/m");
  CHECK(h.Calls("u1") == 3);
  CHECK(h.Circuit("u1", "") == "half-open 1");
  CHECK(h.Ask("u1/m").status() == 200);
  CHECK(h.Circuit("u1", "") == "closed 0");
}

TEST_CASE("R18 R19 R20 f.7/7 the key goes with every call to the first target and no other call") {
  // Repeats, then the last candidate's repeat of the first target.
  Harness alone(FailoverFirst({{"resilience.retry.retry_on_statuses", "503"}}));
  alone.Demo({"u1"}).On("u1", Script::Json(503, "")).On("u1", Script::Json(503, ""));
  alone.On("u1", Script::Json(500, "")).On("u1", Script::Chat("Good day"));
  CHECK(AskFor(alone, WithKey(false)).status() == 200);
  REQUIRE(alone.Calls("u1") == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(KeyOf(alone.Seen("u1", i)) == "order-17");

  Harness list;
  list.Demo({"u1", "u2", "u3"}).On("u1", Script::Json(500, "")).On("u2", Script::Json(500, ""));
  list.On("u3", Script::Json(500, "")).On("u3", Script::Chat("Good day"));
  CHECK(AskFor(list, WithKey(false)).status() == 200);
  CHECK(KeyOf(list.Seen("u1")) == "order-17");
  CHECK(KeyOf(list.Seen("u2")).empty());
  CHECK(KeyOf(list.Seen("u3")).empty());
  CHECK(KeyOf(list.Seen("u3", 1)).empty());

  // In a race the first one has it alone.
  Harness race(FailoverFirst({{"hedging.enabled", "true"}, {"hedging.delay", "1s"}}));
  race.Demo({"u1", "u2"}).On("u1", Open({Role()}).Hang()).On("u2", Script::ChatStream("Good day"));
  CHECK(AskFor(race, WithKey(true)).header("x-hotel-provider") == "u2");
  CHECK(KeyOf(race.Seen("u1")) == "order-17");
  CHECK(KeyOf(race.Seen("u2")).empty());

  // A skipped candidate is not the first target: who is contacted first has the key.
  Harness skip(FailoverFirst({{"resilience.circuit_breaker.failure_threshold", "1"}}));
  skip.Demo({"u1", "u2"}).On("u1", Script::Json(500, "")).On("u2", Script::Chat("Good day"));
  skip.Ask();
  CHECK(AskFor(skip, WithKey(false)).header("x-hotel-provider") == "u2");
  CHECK(KeyOf(skip.Seen("u2", 1)) == "order-17");

  // The gateway makes no calls of its own: each one is a try of some request's attempt.
  for (const Harness* h : {&alone, &list, &race, &skip}) {
    std::size_t tries = 0;
    for (const RequestRecord& record : h->log.records) {
      for (const AttemptRecord& attempt : record.attempts) {
        if (attempt.attempt >= 0) tries += static_cast<std::size_t>(attempt.tries);
      }
    }
    CHECK(h->upstreams.seen().size() == tries);
  }
}

TEST_CASE("R33 the answer's head waits for the provider's first event, a comment is none") {
  Harness h(RetryFirst());
  h.Demo({"u1"}).On("u1", Open({})
                              .After(seconds(3))
                              .Bytes(": ping\n\n")
                              .After(seconds(3))
                              .Bytes(Bytes({Role()}))
                              .After(seconds(3))
                              .Bytes(Bytes({Text("x"), Fin(), Done()}))
                              .End());
  Client client = h.Chat("hotel/demo", true);
  h.loop.Advance(seconds(5));
  CHECK_FALSE(client.sink->has_head);
  h.loop.Advance(seconds(2));
  CHECK(client.status() == 200);
  CHECK(client.body() == ": ping\n\n" + Bytes({Role()}));
  h.Wait(client);
  CHECK(client.body() == ": ping\n\n" + Bytes({Role(), Text("x"), Fin(), Done()}));
}

TEST_CASE("R45 a client that takes nothing until it is given up costs its provider nothing") {
  Harness h(RetryFirst({{"timeouts.stream_stall_timeout", "30s"},
                        {"resilience.circuit_breaker.failure_threshold", "1"}}));
  h.Demo({"u1"}).On("u1", Open({Text("one"), Text("two")}).Hang());
  Client client = h.Chat("hotel/demo", true);
  client.sink->pause_after = 1;
  h.loop.RunUntilIdle();
  h.loop.Advance(minutes(2));  // no watchdog of the provider's side counts this
  CHECK_FALSE(client.sink->ended);
  CHECK_FALSE(h.Seen("u1").cancelled);
  client.call->Cancel();
  h.loop.RunUntilIdle();
  CHECK(h.Seen("u1").cancelled);
  CHECK(client.body() == Bytes({Text("one")}));
  CHECK(h.record().status == 499);
  CHECK(h.record().error_kind == ErrorKind::kClientDisconnect);
  CHECK(h.Circuit("u1", "").substr(0, 4) != "open");
}

}  // namespace
}  // namespace hotel::scenario
