// The client goes, or the gateway does (facts g: 499; decisions 10).
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

TEST_CASE("facts g: a client that leaves closes the upstream at once, charges nobody, is a 499") {
  const std::pair<const char*, Script> rows[] = {
      {"before the head", Script().Hang()},
      {"before output", Open({Role()}).Hang()},
      {"mid-stream", Open({Role(), Text("x")}).Hang()},
      {"in a pause of the provider", Open({Text("x")}).After(minutes(5)).End()},
  };
  for (const auto& [what, script] : rows) {
    INFO(what);
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", script);
    Client client = h.Chat("hotel/demo", true);
    h.loop.Advance(seconds(2));
    client.call->Cancel();
    CHECK_FALSE(client.sink->ended);  // never from inside Cancel
    h.loop.RunUntilIdle();
    CHECK(client.sink->ended);
    CHECK_FALSE(client.sink->end.complete);
    CHECK(client.sink->end.error_kind == ErrorKind::kClientDisconnect);
    CHECK(h.Seen("u1").cancelled);
    CHECK(h.Calls("u2") == 0);
    CHECK(h.record().status == 499);
    CHECK(h.record().error_kind == ErrorKind::kClientDisconnect);
    CHECK(h.record().error_message == "client disconnected");
    REQUIRE(h.record().attempts.size() == 1);
    CHECK(h.record().attempts[0].breaker == BreakerEffect::kNoop);
    CHECK(h.record().attempts[0].error_kind == ErrorKind::kClientDisconnect);
    CHECK((h.Circuit("u1") == "none" || h.Circuit("u1") == "closed 0"));
  }
}

TEST_CASE("a client that leaves between two candidates: the second is never asked") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script::Json(503, "")).On("u2", Script::Chat("Good day"));
  Client client = h.Chat();
  h.loop.Advance(milliseconds(50));
  client.call.reset();  // dropping the handle cancels
  h.loop.Advance(seconds(1));
  CHECK(client.sink->ended);
  CHECK_FALSE(client.sink->has_head);
  CHECK(h.Calls("u2") == 0);
  CHECK(h.record().status == 499);
  CHECK(h.Trail() == Lines{"0 u1 503 charge provider_error"});
}

TEST_CASE("a client that leaves before the loop has looked at its request") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Chat("Good day"));
  Client client = h.Chat();
  client.call->Cancel();
  h.loop.RunUntilIdle();
  CHECK(client.sink->ended);
  CHECK(h.record().status == 499);
}

TEST_CASE("leaving behind the end changes nothing") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Chat("Good day"));
  Client client = h.Ask();
  client.call->Cancel();
  client.call.reset();
  h.loop.RunUntilIdle();
  CHECK(client.sink->end.complete);
  CHECK(h.log.records.size() == 1);
  CHECK(h.record().status == 200);
}

TEST_CASE("shutdown: a request that starts behind it is a 503 and contacts nobody") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Chat("never"));
  h.router->EndAll();
  const Client late = h.Ask();
  CHECK(late.status() == 503);
  CHECK(late.body() == ErrorBody("gateway restarting", "server_error", "gateway_shutdown"));
  CHECK(h.upstreams.seen().empty());
  CHECK(h.record().status == 503);
}

TEST_CASE("shutdown: what has not begun is a 503, a running stream gets one error event") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script().Hang()).On("u1", Open({Role(), Text("x")}).Hang());
  Client waiting = h.Chat("hotel/demo", true);
  Client running = h.Chat("hotel/demo", true);
  h.loop.Advance(seconds(1));
  h.router->EndAll();
  h.loop.RunUntilIdle();
  CHECK(waiting.status() == 503);
  CHECK(waiting.body() == ErrorBody("gateway restarting", "server_error", "gateway_shutdown"));
  CHECK(running.status() == 200);
  CHECK(running.body() == Bytes({Role(), Text("x")}) + "data: " +
                              ErrorBody("gateway restarting", "server_error", "gateway_shutdown") +
                              "\n\n");
  CHECK_FALSE(running.sink->end.complete);
  CHECK(running.sink->end.error_kind == ErrorKind::kInternal);
  CHECK(h.upstreams.open() == 0);
  CHECK((h.Circuit("u1") == "none" || h.Circuit("u1") == "closed 0"));
  for (const RequestRecord& record : h.log.records) {
    CHECK(record.attempts.at(0).breaker == BreakerEffect::kNoop);
  }
}

TEST_CASE("active_calls counts what has started and not ended") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script().Hang());
  CHECK(h.router->active_calls() == 0);
  Client one = h.Chat();
  Client two = h.Chat();
  CHECK(h.router->active_calls() == 2);
  h.loop.Advance(seconds(1));
  one.call->Cancel();
  h.loop.RunUntilIdle();
  CHECK(h.router->active_calls() == 1);
  h.Wait(two);
  CHECK(h.router->active_calls() == 0);
}

TEST_CASE("a router that is destroyed with work still posted touches nothing") {
  testing::ManualClock clock;
  testing::ManualLoop loop(&clock);
  testing::FakeDispatcher upstreams(&loop);
  const auto store = testing::MakeMemoryStore(&clock);
  const auto settings = MakeFixedSettings(Settings::Defaults());
  const auto breaker = MakeCircuitBreaker(settings.get(), nullptr);
  RouterDeps deps;
  deps.clock = &clock;
  deps.loop = &loop;
  deps.dispatcher = &upstreams;
  deps.groups = store.get();
  deps.breaker = breaker.get();
  deps.settings = settings.get();  // no log, no events
  auto router = MakeRouter(deps);
  RouteRequest request;
  request.body = std::make_shared<const std::string>(R"({"model":"hotel/none"})");
  const auto sink = std::make_shared<testing::RecordingSink>();
  const auto answered = router->Start(request, sink);
  loop.RunUntilIdle();
  CHECK(sink->head.status == 404);
  const auto unanswered = router->Start(request, std::make_shared<testing::RecordingSink>());
  router->EndAll();
  router.reset();
  loop.RunUntilIdle();
}

}  // namespace
}  // namespace hotel::scenario
