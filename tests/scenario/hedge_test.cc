// The race of streaming candidates (seed 000, "Request hedging"; facts f).
#include <algorithm>

#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/scenario/refusals.h"
#include "tests/scenario/slots.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

Settings Racing(Duration delay = seconds(4)) {
  Settings settings = FailoverFirst();
  settings.global.hedging = {true, delay};
  return settings;
}

/// A head and an opener at once, the first word after this time.
Script FirstWordAfter(Duration wait, const std::string& word) {
  return Open({Role()}).After(wait).Bytes(Bytes({Text(word), Fin(), Done()})).End();
}

std::vector<Duration> Starts(const Harness& h, TimePoint begin) {
  std::vector<Duration> starts;
  for (const auto& seen : h.upstreams.seen()) starts.push_back(seen.at - begin);
  return starts;
}

TEST_CASE("seed 000 hedging: a slow first word lets the next one join; the first output wins") {
  Harness h(Racing());
  const Script fast = FirstWordAfter(seconds(1), "fast");
  h.Demo({"u1", "u2"}).On("u1", FirstWordAfter(seconds(9), "slow")).On("u2", fast);
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.status() == 200);
  CHECK(client.took == seconds(5));
  CHECK(client.body() == BytesOf(fast));  // nothing of the loser
  CHECK(client.header("x-hotel-provider") == "u2");
  CHECK(client.header("x-hotel-attempts") == "2");
  CHECK(h.record().provider == "u2");
  CHECK(h.Seen("u1").cancelled);
  CHECK(h.Trail() == Lines{"0 u1 - noop hedge_superseded", "1 u2 200 success -"});
  CHECK(h.record().attempts[0].hedged);
  CHECK(h.record().attempts[1].hedged);
  CHECK((h.Circuit("u1") == "none" || h.Circuit("u1") == "closed 0"));
}

TEST_CASE("seed 000 hedging: a first word in time: nobody else is asked") {
  Harness h(Racing());
  h.Demo({"u1", "u2"}).On("u1", FirstWordAfter(seconds(3), "x"));
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.took == seconds(3));
  CHECK(h.Calls("u2") == 0);
  CHECK(h.Trail() == Lines{"0 u1 200 success -"});
}

TEST_CASE("F029 the loser's upstream is closed in the instant the winner speaks, not drained") {
  Harness h(Racing(milliseconds(200)));
  h.Demo({"u1", "u2"}).On("u1", Script().Head(200).Hang());
  h.On("u2", FirstWordAfter(milliseconds(100), "x"));
  Client client = h.Chat("hotel/demo", true);
  h.loop.Advance(milliseconds(299));
  CHECK_FALSE(client.sink->has_head);
  CHECK_FALSE(h.Seen("u1").cancelled);
  h.loop.Advance(milliseconds(1));
  CHECK(client.sink->has_head);
  CHECK(h.Seen("u1").cancelled);
  h.Wait(client);
  CHECK(client.sink->end.complete);
}

TEST_CASE("seed 000 hedging: each delay brings one more, a failure brings the next at once") {
  Harness h(Racing());
  h.Demo({"u1", "u2", "u3", "u4"});
  h.On("u1", Script().Hang()).On("u2", Script().After(seconds(2)).Head(503).End());
  h.On("u3", Script().Hang()).On("u4", FirstWordAfter(seconds(1), "x"));
  const TimePoint begin = h.clock.Now();
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.header("x-hotel-provider") == "u4");
  CHECK(Starts(h, begin) ==
        std::vector<Duration>{Duration::zero(), seconds(4), seconds(6), seconds(10)});
  CHECK(h.Trail() == Lines{"0 u1 - noop hedge_superseded", "1 u2 503 charge provider_error",
                           "2 u3 - noop hedge_superseded", "3 u4 200 success -"});
}

TEST_CASE("seed 000 hedging: a delay of nothing is a tenth of a second") {
  Harness h(Racing(Duration::zero()));
  h.Demo({"u1", "u2"}).On("u1", Script().Hang()).On("u2", FirstWordAfter(Duration(0), "x"));
  CHECK(h.Ask("hotel/demo", true).took == milliseconds(100));
}

TEST_CASE("seed 000 hedging: whole answers, direct names and lists of one do not race") {
  Harness h(Racing(seconds(1)));
  h.Demo({"u1", "u2"});
  testing::AddGroup(*h.store, "solo", {"u1/m"});
  for (const auto& [model, stream] :
       {std::pair<const char*, bool>{"hotel/demo", false}, {"u1/m", true}, {"hotel/solo", true}}) {
    h.upstreams.Clear(Url("u1"));
    Script late;
    late.After(seconds(10));
    if (stream) {
      late.Head(200, {{"content-type", "text/event-stream"}})
          .Bytes(Bytes({Text("x"), Fin(), Done()}));
    } else {
      late.Head(200, {{"content-type", "application/json"}}).Bytes(BytesOf(Script::Chat("x")));
    }
    h.On("u1", late.End());
    CHECK(h.Ask(model, stream).took == seconds(10));
    CHECK_FALSE(h.record().attempts[0].hedged);
  }
  CHECK(h.Calls("u2") == 0);
}

TEST_CASE("F115 a provider that always loses is charged with nothing, a hundred times over") {
  Harness h(Racing(milliseconds(100)));
  h.Demo({"u1", "u2"}).On("u1", FirstWordAfter(milliseconds(300), "slow"));
  h.On("u2", FirstWordAfter(milliseconds(100), "fast"));
  for (int i = 0; i < 100; ++i) {
    CHECK(h.Ask("hotel/demo", true).header("x-hotel-provider") == "u2");
    CHECK(h.record().attempts[0].error_kind == ErrorKind::kHedgeSuperseded);
  }
  CHECK(h.EventCount("circuit_breaker.open") == 0);
  CHECK((h.Circuit("u1") == "none" || h.Circuit("u1") == "closed 0"));
}

TEST_CASE("F031 a candidate at its window does not join; who runs goes on") {
  Harness h(Racing(milliseconds(100)));
  h.Demo({"u1", "u2"}).On("u1", FirstWordAfter(seconds(1), "x"));
  h.On("u2", Open({Text("x")}).After(seconds(20)).Bytes(Bytes({Fin(), Done()})).End());
  Ceiling(h, "u2", 1);
  Client holder = h.Chat("u2/m", true);
  h.loop.RunUntilIdle();
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.header("x-hotel-provider") == "u1");
  CHECK(client.took == seconds(1));
  CHECK(h.Calls("u2") == 1);
  CHECK(h.Trail() == Lines{"-1 u2 - noop provider_saturated", "0 u1 200 success -"});
  h.Wait(holder);
}

TEST_CASE("seed 000 hedging: busy candidates get the bounded wait for a slot all the same") {
  Harness h(Racing(milliseconds(100)));
  h.Demo({"u1", "u2"});
  for (const char* name : {"u1", "u2"}) {
    h.On(name, Open({Text("x")}).After(seconds(20)).Bytes(Bytes({Fin(), Done()})).End());
    Ceiling(h, name, 1);
  }
  Client one = h.Chat("u1/m", true);
  Client two = h.Chat("u2/m", true);
  h.loop.RunUntilIdle();
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.status() == 200);
  CHECK(client.took == seconds(40));
  CHECK(one.sink->ended);
  CHECK(two.sink->ended);
}

TEST_CASE("decisions 10 hedging: a refused payload ends the race and is the answer") {
  Harness h(Racing());
  h.Demo({"u1", "u2", "u3"}).On("u1", Script().Hang());
  h.On("u2", Script::Json(400, R"({"error":{"message":"no such tool"}})"));
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.status() == 400);
  CHECK(client.took == seconds(4));
  CHECK(Message(client.body()) == "no such tool");
  CHECK(h.Seen("u1").cancelled);
  CHECK(h.Calls("u3") == 0);
  CHECK(h.Trail() == Lines{"0 u1 - noop hedge_superseded", "1 u2 400 alive provider_bad_request"});
}

TEST_CASE("decisions 10 hedging: nobody says a word: 502 by the probes, 504 by the deadline") {
  Harness probes(Racing());
  probes.Demo({"u1", "u2"}).On("u1", Script().Hang()).On("u2", Open({Role()}).Hang());
  const Client client = probes.Ask("hotel/demo", true);
  CHECK(client.status() == 502);
  CHECK(client.took == seconds(64));
  CHECK(probes.Trail() ==
        Lines{"0 u1 - charge provider_timeout", "1 u2 200 charge provider_timeout"});

  Settings settings = Racing();
  Write(&settings.global, {{"ttft_timeout", "0s"}, {"request_timeout", "1s"}});
  settings.global.timeouts.deadline_factor = 1;
  Harness deadline(settings);
  deadline.Demo({"u1", "u2"}).On("u1", Script().Hang()).On("u2", Script().Hang());
  const Client late = deadline.Ask("hotel/demo", true);
  CHECK(late.status() == 504);
  CHECK(late.took == seconds(10));
  CHECK(deadline.Trail() ==
        Lines{"0 u1 - charge failover_timeout", "1 u2 - charge failover_timeout"});
}

TEST_CASE(
    "seed 000 hedging: the client leaves a race: every upstream is closed, nobody is charged") {
  Harness h(Racing(milliseconds(100)));
  h.Demo({"u1", "u2", "u3"}).On("u1", Open({Role()}).Hang()).On("u2", Script().Hang());
  h.On("u3", Script().Hang());
  Client client = h.Chat("hotel/demo", true);
  h.loop.Advance(milliseconds(150));
  client.call->Cancel();
  h.loop.RunUntilIdle();
  CHECK(h.upstreams.open() == 0);
  CHECK(h.Calls("u3") == 0);
  CHECK(h.Trail() == Lines{"0 u1 - noop client_disconnect", "1 u2 - noop client_disconnect"});
}

TEST_CASE("hedging: one writer: two first words in one instant give one whole stream") {
  Harness h(Racing(seconds(1)));
  const Script one = FirstWordAfter(seconds(2), "one");
  const Script two = FirstWordAfter(seconds(1), "two");
  h.Demo({"u1", "u2"}).On("u1", one).On("u2", two);
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.took == seconds(2));
  const bool first = client.header("x-hotel-provider") == "u1";
  CHECK(client.body() == BytesOf(first ? one : two));
  CHECK(client.sink->end.complete);
}

TEST_CASE("facts f: an answer that ends empty wins a race too, and is charged once") {
  Harness h(Racing(seconds(1)));
  const Script empty = Open({Role()}).After(seconds(2)).Bytes(Bytes({Fin(), Done()})).End();
  h.Demo({"u1", "u2"}).On("u1", empty).On("u2", Script().Hang());
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.took == seconds(2));
  CHECK(client.body() == BytesOf(empty));
  CHECK(h.Trail() == Lines{"0 u1 200 charge -", "1 u2 - noop hedge_superseded"});
}

TEST_CASE("facts f: a loser that had answered already keeps its own verdict") {
  Harness h(Racing());
  h.Demo({"u1", "u2"})
      .On("u1", Open({Role()}).After(seconds(5)).Bytes(ErrorFrame("503") + "\n\n").End());
  h.On("u2", FirstWordAfter(seconds(3), "x"));
  h.Ask("hotel/demo", true);
  CHECK(h.Trail() == Lines{"0 u1 200 charge provider_error", "1 u2 200 success -"});
}

TEST_CASE("hedging: the slot of a loser is free at once and counts as nothing clean") {
  Harness h(Racing(seconds(1)));
  h.Demo({"u1", "u2"}).On("u1", Script().Hang());
  h.On("u2", Open({Text("x")}).After(seconds(20)).Bytes(Bytes({Fin(), Done()})).End());
  Client client = h.Chat("hotel/demo", true);
  h.loop.Advance(seconds(2));
  for (const InflightView& view : h.limiter->Views(h.clock.Now())) {
    CHECK(view.inflight == (view.provider_name == "u1" ? 0 : 1));
  }
  h.Wait(client);
}

TEST_CASE("F103 a probe that loses a race gives its place back") {
  Settings settings = Racing(seconds(1));
  settings.global.circuit_breaker.half_open_max_in_flight = 1;
  Harness h(settings);
  h.Demo({"u1", "u2"}).On("u2", FirstWordAfter(Duration(0), "x"));
  for (int i = 0; i < 5; ++i) h.On("u1", Script::Json(501, ""));
  h.On("u1", Script().Hang()).On("u1", FirstWordAfter(Duration(0), "x"));
  for (int i = 0; i < 5; ++i) h.Ask("hotel/demo", true);
  CHECK(h.Circuit("u1") == "open 5");
  h.loop.Advance(minutes(1));
  CHECK(h.Ask("hotel/demo", true).header("x-hotel-provider") == "u2");
  CHECK(h.Trail() == Lines{"0 u1 - noop hedge_superseded", "1 u2 200 success -"});
  CHECK(h.Ask("hotel/demo", true).header("x-hotel-provider") == "u1");
  CHECK(h.Circuit("u1") == "closed 0");
}

TEST_CASE("F113 a hedge that lost is neither a failure nor a credit") {
  Settings settings = Racing(milliseconds(100));
  settings.global.circuit_breaker.failure_threshold = 3;
  Harness h(settings);
  h.Demo({"u1", "u2"}).On("u1", Script::Json(500, "")).On("u1", Script::Json(500, ""));
  h.On("u1", FirstWordAfter(seconds(1), "slow")).On("u1", Script::Json(500, ""));
  h.On("u2", FirstWordAfter(Duration(0), "x"));
  for (int i = 0; i < 3; ++i) h.Ask("hotel/demo", true);
  CHECK(h.record().attempts[0].breaker == BreakerEffect::kNoop);
  CHECK(h.Circuit("u1") == "closed 2");
  h.Ask("hotel/demo", true);
  CHECK(h.Circuit("u1") == "open 3");
}

TEST_CASE("hedging: when everybody in a race has failed, the last one is asked once more, alone") {
  Harness h(Racing(seconds(1)));
  h.Demo({"u1", "u2"}).On("u1", Script::Json(503, "")).On("u2", Script::Json(503, ""));
  h.On("u2", FirstWordAfter(Duration(0), "x"));
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.status() == 200);
  CHECK(client.took >= milliseconds(500));
  CHECK(client.took < seconds(1));
  CHECK(h.Trail() == Lines{"0 u1 503 charge provider_error", "1 u2 503 charge provider_error",
                           "2 u2 200 success -"});
  CHECK(h.record().attempts[1].hedged);
  CHECK_FALSE(h.record().attempts[2].hedged);
}

}  // namespace
}  // namespace hotel::scenario
