// In-flight windows (seed 000, "Saturation happens because..."; facts e).
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/scenario/refusals.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

/// A provider that takes this many requests at a time, as the operator says.
void Ceiling(Harness& h, const std::string& name, int max_in_flight) {
  ProviderSpec spec;
  spec.name = name;
  spec.type = "openai";
  spec.base_url = "https://" + name + ".test/v1";
  spec.max_in_flight = max_in_flight;
  REQUIRE(h.store->UpsertProvider(spec).ok());
}

Script After(Duration wait, const Script& script) {
  Script late;
  late.After(wait);
  for (const Script::Step& step : script.steps()) {
    if (step.kind == Script::Step::Kind::kHead) late.Head(step.status, step.headers);
    if (step.kind == Script::Step::Kind::kBytes) late.Bytes(step.bytes);
  }
  return late.End();
}

Script ChatAfter(Duration wait) { return After(wait, Script::Chat("Good day")); }

/// A stream that says a word every second.
Script Talking(int seconds_long) {
  Script script = Open({Role(), Text("x")});
  for (int i = 0; i < seconds_long; ++i) script.After(seconds(1)).Bytes(Text("x") + "\n\n");
  return script.Bytes(Bytes({Fin(), Done()})).End();
}

InflightView Window(const Harness& h, const std::string& provider) {
  for (const InflightView& view : h.limiter->Views(h.clock.Now())) {
    if (view.provider_name == provider) return view;
  }
  return {};
}

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

TEST_CASE("facts e: remaining 0 in an answer's head caps the window at what is in flight") {
  for (const char* name : {"X-RateLimit-Remaining-Requests", "x-ratelimit-remaining-tokens",
                           "X-Ratelimit-Remaining"}) {
    INFO(name);
    Harness h;
    Script full;
    full.Head(200, {{"content-type", "text/event-stream"}, {name, "0"}});
    full.Bytes(Bytes({Role(), Text("x")})).After(seconds(10)).Bytes(Bytes({Fin(), Done()})).End();
    h.Demo({"u1", "u2"}).On("u1", full).On("u2", Script::Chat("Good day"));
    Client holder = h.Chat("hotel/demo", true);
    h.loop.RunUntilIdle();
    CHECK(Window(h, "u1").limit == 1);
    CHECK(h.Ask().header("x-hotel-provider") == "u2");
    h.Wait(holder);
    CHECK(h.EventCount("circuit_breaker.open") == 0);
  }
}

TEST_CASE("facts e: remaining 1, or no number at all, caps nothing") {
  for (const char* value : {"1", "", "00", "none"}) {
    Harness h;
    Script head;
    head.Head(200, {{"content-type", "application/json"}, {"x-ratelimit-remaining", value}});
    h.Demo({"u1"}).On("u1", head.Bytes(BytesOf(Script::Chat("Good day"))).End());
    h.Ask();
    CHECK(Window(h, "u1").limit == 0);
  }
}

TEST_CASE("the learner off: nothing is learned, the operator's ceiling holds all the same") {
  Harness h(FailoverFirst({{"inflight_limiter_enabled", "false"}}));
  h.Demo({"u1", "u2"}).On("u1", Busy(2)).On("u1", ChatAfter(seconds(5)));
  h.On("u2", Script::Chat("Good day"));
  h.Ask();
  CHECK(Window(h, "u1").limit == 0);
  Ceiling(h, "u1", 1);
  Client holder = h.Chat();
  h.loop.RunUntilIdle();
  CHECK(h.Ask().header("x-hotel-provider") == "u2");
  h.Wait(holder);
}

TEST_CASE("facts e: a learned window widens by one with 20 clean answers, and is forgotten") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Busy(1)).On("u1", Script::Chat("Good day"));
  h.On("u2", Script::Chat("Good day"));
  h.Ask();
  CHECK(Window(h, "u1").limit == 1);
  for (int i = 0; i < 19; ++i) h.Ask();
  CHECK(Window(h, "u1").limit == 1);
  h.Ask();
  CHECK(Window(h, "u1").limit == 2);
  h.loop.Advance(minutes(10) + seconds(1));
  CHECK(Window(h, "u1").limit == 0);
}

/// Serves three requests at a time, a second each; a fourth is told that it is one too many.
void ServeThree(Harness& h, std::size_t* refused) {
  h.upstreams.OnEach(Url("u1"), [&h, refused](const testing::SeenRequest&) {
    std::size_t in_flight = 0;
    for (const auto& seen : h.upstreams.seen()) in_flight += !seen.done && !seen.cancelled;
    if (in_flight <= 3) return ChatAfter(seconds(1));
    ++*refused;
    return Busy(1);
  });
}

TEST_CASE("seed 000: three slots under ten clients: never benched, and its slots stay busy") {
  Harness h;
  h.Demo({"u1"});
  std::size_t refused = 0;
  ServeThree(h, &refused);
  constexpr int kClients = 10;
  constexpr int kRequests = 12;
  std::vector<Client> clients;
  std::vector<int> left(kClients, kRequests);
  for (int i = 0; i < kClients; ++i) clients.push_back(h.Chat());
  const TimePoint begin = h.clock.Now();
  int served = 0;
  int running = kClients;
  while (running > 0) {
    h.loop.RunUntilIdle();
    for (std::size_t i = 0; i < clients.size(); ++i) {
      if (left[i] == 0 || !clients[i].sink->ended) continue;
      CHECK(clients[i].status() == 200);
      ++served;
      if (--left[i] == 0) {
        --running;
      } else {
        clients[i] = h.Chat();
      }
    }
    h.loop.RunUntilIdle();
    const auto next = h.loop.next_timer();
    if (running == 0 || !next) break;
    h.loop.Advance(*next - h.clock.Now());
  }
  CHECK(served == kClients * kRequests);
  CHECK(h.EventCount("circuit_breaker.open") == 0);
  CHECK(h.Circuit("u1") == "closed 0");
  // 40 s of work for three slots; looking for a fourth costs little.
  const Duration took = h.clock.Now() - begin;
  CHECK(took >= seconds(40));
  CHECK(took <= seconds(46));
  CHECK(refused < 7 + 12);
}

}  // namespace
}  // namespace hotel::scenario
