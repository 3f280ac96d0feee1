// In-flight windows: skipping, spilling, waiting in line (seed 000, "Saturation happens
// because..."; facts e, g).
#include "tests/scenario/slots.h"

#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/scenario/refusals.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

TEST_CASE("facts e: a provider at its window is skipped without a request, the next entry serves") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", ChatAfter(seconds(10))).On("u2", Script::Chat("Good day"));
  Ceiling(h, "u1", 1);
  Client holder = h.Chat();
  h.loop.RunUntilIdle();
  const Client client = h.Ask();
  CHECK(client.header("x-hotel-provider") == "u2");
  CHECK(client.header("x-hotel-attempts") == "1");
  CHECK(client.took == Duration::zero());  // a skip is no contact: no pause behind it
  CHECK(h.Trail() == Lines{"-1 u1 - noop provider_saturated", "0 u2 200 success -"});
  CHECK(h.record().attempts[0].detail == "at in-flight limit");
  CHECK(h.record().attempts[0].tries == 0);
  h.Wait(holder);
  CHECK(h.Ask().header("x-hotel-provider") == "u1");
}

TEST_CASE("seed 000: all at their windows: the first slot that frees serves, whoever's it is") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", ChatAfter(seconds(10))).On("u2", ChatAfter(seconds(4)));
  h.On("u2", Script::Chat("second"));
  Ceiling(h, "u1", 1);
  Ceiling(h, "u2", 1);
  Client one = h.Chat();
  h.loop.RunUntilIdle();
  Client two = h.Chat();
  h.loop.RunUntilIdle();
  const Client waiting = h.Ask();
  CHECK(waiting.status() == 200);
  CHECK(waiting.body() == BytesOf(Script::Chat("second")));
  CHECK(waiting.took == seconds(4));
  CHECK(waiting.header("x-hotel-provider") == "u2");
  CHECK(h.Trail() == Lines{"-1 u1 - noop provider_saturated", "-1 u2 - noop provider_saturated",
                           "0 u2 200 success -"});
  h.Wait(two);
  h.Wait(one);
}

TEST_CASE("seed 000: nothing frees in time: the honest 429") {
  Harness h;
  h.Demo({"u1"}).On("u1", Talking(300));
  Ceiling(h, "u1", 1);
  Client holder = h.Chat("hotel/demo", true);
  h.loop.RunUntilIdle();
  for (const char* model : {"hotel/demo", "u1/m"}) {
    const Client client = h.Ask(model, true);
    CHECK(client.status() == 429);
    CHECK(client.took == seconds(60));
    CHECK(client.header("retry-after") == "2");
    CHECK(client.header("x-hotel-attempts") == "0");
    CHECK(client.body() ==
          ErrorBody("all providers busy for model " + std::string(model) + ", retry shortly",
                    "rate_limit_error", "provider_saturated"));
    CHECK(h.record().error_kind == ErrorKind::kProviderSaturated);
    CHECK(h.Trail() == Lines{"-1 u1 - noop provider_saturated"});
  }
  CHECK(h.Calls("u1") == 1);
  holder.call->Cancel();
}

TEST_CASE("decisions 10: Retry-After of all busy is the smallest wait a busy one stated") {
  Harness h(FailoverFirst({{"rate_limit_saturation_max_wait", "30s"}}));
  h.Demo({"u1", "u2", "u3"}).On("u1", Talking(300)).On("u2", Busy(25)).On("u3", Busy(12));
  Ceiling(h, "u1", 1);
  Client holder = h.Chat("hotel/demo", true);
  h.loop.RunUntilIdle();
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.status() == 429);
  CHECK(client.header("retry-after") == "12");
  CHECK(Message(client.body()) == "all providers busy for model hotel/demo, retry shortly");
  holder.call->Cancel();
}

TEST_CASE("facts e: the wait for a slot ends at the overall deadline") {
  Harness h(FailoverFirst({{"request_timeout", "2s"}}));
  h.Demo({"u1"}).On("u1", Talking(15));
  Ceiling(h, "u1", 1);
  Client holder = h.Chat("hotel/demo", true);
  h.loop.RunUntilIdle();
  const Client client = h.Ask();  // not a stream: 4 s in all
  CHECK(client.status() == 429);
  CHECK(client.took == seconds(4));
  h.Wait(holder);
}

TEST_CASE("facts g: exhaustion last_error: a request that found everybody busy is a 502") {
  Harness h(FailoverFirst({{"failover_exhaustion_status_429", "false"}}));
  h.Demo({"u1"}).On("u1", Talking(300));
  Ceiling(h, "u1", 1);
  Client holder = h.Chat("hotel/demo", true);
  h.loop.RunUntilIdle();
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.status() == 502);
  CHECK(client.header("retry-after").empty());
  holder.call->Cancel();
}

TEST_CASE("facts e: a slot is held to the end of the body, not to its head or first word") {
  Harness h;
  h.Demo({"u1"}).On("u1", Talking(10)).On("u1", Script::Chat("Good day"));
  Ceiling(h, "u1", 1);
  Client holder = h.Chat("hotel/demo", true);
  h.loop.RunUntilIdle();
  CHECK(holder.sink->has_head);
  Client client = h.Chat();
  h.Wait(client);
  CHECK(client.took == seconds(10));
  CHECK(holder.sink->ended);
}

TEST_CASE("a refusal gives its slot back when its body was read, a client that leaves at once") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script().Hang()).On("u1", Script::Json(400, "{}"));
  h.On("u1", Script::Chat("Good day"));
  Ceiling(h, "u1", 1);
  Client leaving = h.Chat();
  h.loop.Advance(seconds(1));
  leaving.call->Cancel();
  CHECK(h.Ask().status() == 400);
  CHECK(h.Ask().status() == 200);
  CHECK(Window(h, "u1").inflight == 0);
}

TEST_CASE("F185 streams that are left at any moment give their slots back") {
  Harness h;
  h.Demo({"u1"}).On("u1", Talking(10));
  Ceiling(h, "u1", 2);
  for (int i = 0; i < 60; ++i) {
    Client one = h.Chat("hotel/demo", true);
    Client two = h.Chat("hotel/demo", true);
    Client third = h.Chat("hotel/demo", true);
    h.loop.Advance(milliseconds(170 * i));
    two.call->Cancel();
    one.call.reset();
    h.loop.RunUntilIdle();
    third.call.reset();
    h.loop.RunUntilIdle();
  }
  CHECK(Window(h, "u1").inflight == 0);
  Client one = h.Chat("hotel/demo", true);
  Client two = h.Chat("hotel/demo", true);
  h.Wait(one);
  h.Wait(two);
  CHECK(one.took <= seconds(10));
  CHECK(two.took == Duration::zero());
}

TEST_CASE("facts e: who waits is served in turn, a newcomer does not overtake") {
  Harness h;
  h.Demo({"u1"}).On("u1", ChatAfter(seconds(5)));
  Ceiling(h, "u1", 1);
  std::vector<Client> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(h.Chat());
    h.loop.Advance(milliseconds(10));
  }
  h.loop.Advance(seconds(5) - milliseconds(50));  // the first is done in this instant
  Client newcomer = h.Chat();
  std::vector<bool> done;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    h.Wait(clients[i]);
    CHECK(clients[i].status() == 200);
    CHECK_FALSE(newcomer.sink->ended);
    if (i + 1 < clients.size()) CHECK_FALSE(clients[i + 1].sink->ended);
  }
  h.Wait(newcomer);
  CHECK(newcomer.status() == 200);
  CHECK(h.Calls("u1") == 6);
}

TEST_CASE("a client that leaves the line: the slot goes to the next one") {
  Harness h;
  h.Demo({"u1"}).On("u1", ChatAfter(seconds(5)));
  Ceiling(h, "u1", 1);
  Client holder = h.Chat();
  h.loop.RunUntilIdle();
  Client leaving = h.Chat();
  h.loop.RunUntilIdle();
  Client staying = h.Chat();
  h.loop.Advance(seconds(1));
  leaving.call->Cancel();
  h.loop.RunUntilIdle();
  CHECK(leaving.sink->ended);
  CHECK(h.record().status == 499);
  CHECK(h.Trail() == Lines{"-1 u1 - noop provider_saturated"});
  h.Wait(staying);
  CHECK(staying.took == seconds(9));
  CHECK(h.Calls("u1") == 2);
  CHECK(holder.sink->ended);
}

TEST_CASE(
    "shutdown in the line, in the wait for a busy one, between two tries: 503, nothing is lost") {
  Harness h;
  h.Demo({"u1", "u2", "u3"}).On("u1", Talking(30)).On("u2", Busy(20)).On("u3", Script::Reset());
  Ceiling(h, "u1", 1);
  Client holder = h.Chat("u1/m", true);
  h.loop.RunUntilIdle();
  std::vector<Client> waiting;
  for (const char* model : {"u1/m", "u2/m", "u3/m"}) waiting.push_back(h.Chat(model));
  h.loop.Advance(milliseconds(50));
  h.router->EndAll();
  h.loop.RunUntilIdle();
  for (const Client& client : waiting) {
    CHECK(client.status() == 503);
    CHECK(client.body() == ErrorBody("gateway restarting", "server_error", "gateway_shutdown"));
  }
  CHECK_FALSE(holder.sink->end.complete);
  CHECK(h.upstreams.open() == 0);
}

}  // namespace
}  // namespace hotel::scenario
