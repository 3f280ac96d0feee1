// What the gateway learns about a provider's in-flight window (seed 000, "Saturation happens
// because..."; facts e).
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/scenario/refusals.h"
#include "tests/scenario/slots.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

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
