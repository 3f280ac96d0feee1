// Pauses, timeouts and deadlines in virtual time (facts a, f, g; F125, F127, F129).
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

Settings With(Duration request_timeout) {
  Settings settings = Settings::Defaults();
  settings.global.timeouts.request_timeout = request_timeout;
  return settings;
}

std::vector<Duration> Gaps(const Harness& h) {
  std::vector<Duration> gaps;
  const auto& seen = h.upstreams.seen();
  for (std::size_t i = 1; i < seen.size(); ++i) gaps.push_back(seen[i].at - seen[i - 1].at);
  return gaps;
}

TEST_CASE("facts a: 100, 200, 400 ms ... 2 s between candidates, plus up to 100 ms of jitter") {
  Harness h;
  const Lines names = {"u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8"};
  h.Demo(names);
  for (const std::string& name : names) h.On(name, Script::Json(501, ""));
  bool jitter_moved = false;
  Duration first{};
  for (int round = 0; round < 4; ++round) {
    const std::size_t before = h.upstreams.seen().size();
    CHECK(h.Ask().status() == 501);
    REQUIRE(h.upstreams.seen().size() == before + names.size());
    const int want[] = {100, 200, 400, 800, 1600, 2000, 2000};
    for (std::size_t i = 0; i < 7; ++i) {
      const Duration gap =
          h.upstreams.seen()[before + i + 1].at - h.upstreams.seen()[before + i].at;
      INFO("pause " << i << ": " << gap.count() << " ns");
      CHECK(gap >= milliseconds(want[i]));
      CHECK(gap < milliseconds(want[i] + 100));
      if (i == 0 && round == 0) first = gap;
      if (i == 0 && gap != first) jitter_moved = true;
    }
  }
  CHECK(jitter_moved);
}

TEST_CASE("facts a: no pause before the first contact, none behind the last") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Json(501, ""));
  CHECK(h.Ask().took == Duration::zero());
}

TEST_CASE("facts a: a skipped candidate does not advance the pauses") {
  Harness h;
  h.Demo({"u1", "u2", "u3"}).On("u1", Script::Json(402, "")).On("u2", Script::Json(503, ""));
  h.On("u3", Script::Chat("Good day"));
  h.Ask();
  CHECK(h.Circuit("u1") == "open 5");
  const std::size_t before = h.upstreams.seen().size();
  const Client client = h.Ask();
  CHECK(h.upstreams.seen()[before].request.url.rfind(Url("u2"), 0) == 0);
  CHECK(client.took >= milliseconds(100));
  CHECK(client.took < milliseconds(200));
  CHECK(client.header("x-hotel-attempts") == "2");
}

TEST_CASE("failover.backoff.initial 0: no pause at all") {
  Settings settings = Settings::Defaults();
  settings.global.failover.backoff_initial = Duration::zero();
  settings.global.retry.max_retries = 0;
  Harness h(settings);
  h.Demo({"u1", "u2", "u3"});  // nobody listens
  CHECK(h.Ask().took == Duration::zero());
  CHECK(Gaps(h) == std::vector<Duration>{Duration::zero(), Duration::zero()});
}

TEST_CASE("F129 an attempt's own timeout is the provider's failure; the next one answers") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script().Hang());
  h.On("u2", Script()
                 .After(seconds(30))
                 .Head(200, {{"content-type", "application/json"}})
                 .Bytes(BytesOf(Script::Chat("Good day")))
                 .End());
  const Client client = h.Ask();
  CHECK(client.status() == 200);
  CHECK(client.took >= seconds(90) + milliseconds(100));
  CHECK(client.took < seconds(90) + milliseconds(200));
  CHECK(h.Seen("u1").cancelled);
  CHECK(h.Trail() == Lines{"0 u1 - charge provider_timeout", "1 u2 200 success -"});
  CHECK(h.record().attempts[0].duration == seconds(60));
  CHECK(h.Circuit("u1") == "closed 1");
}

TEST_CASE("decisions 10: the attempt's timeout as the last failure answers 504") {
  for (const bool head : {false, true}) {
    Harness h;
    Script hang;
    if (head) hang.Head(200, {{"content-type", "application/json"}}).Bytes("{");
    h.Demo({"u1"}).On("u1", hang.Hang());
    const Client client = h.Ask();
    CHECK(client.status() == 504);
    CHECK(client.took == seconds(60));
    CHECK(client.body() ==
          ErrorBody("request timed out for model hotel/demo", "server_error", "provider_timeout"));
    CHECK(h.record().error_kind == ErrorKind::kProviderTimeout);
    CHECK(h.Circuit("u1") == "closed 1");
  }
}

TEST_CASE("F127 one deadline for the whole request: twice the attempt timeout, then 504") {
  Harness h(With(seconds(1)));
  const Lines names = {"u1", "u2", "u3", "u4", "u5"};
  h.Demo(names);
  for (const std::string& name : names) h.On(name, Script().Hang());
  const Client client = h.Ask();
  CHECK(client.status() == 504);
  CHECK(client.took == seconds(2));
  CHECK(client.body() ==
        ErrorBody("request timed out for model hotel/demo", "server_error", "failover_timeout"));
  CHECK(client.header("x-hotel-attempts") == "2");
  CHECK(h.record().error_kind == ErrorKind::kFailoverTimeout);
  REQUIRE(h.record().attempts.size() == 2);
  CHECK(h.record().attempts[0].duration == seconds(1));
  CHECK(h.record().attempts[1].duration < seconds(1));  // cut at the overall deadline
  CHECK(h.Trail() == Lines{"0 u1 - charge provider_timeout", "1 u2 - charge failover_timeout"});
  CHECK(h.Calls("u3") == 0);
}

TEST_CASE("F127 the deadline ends a pause between candidates too") {
  Settings settings = With(milliseconds(300));
  Harness h(settings);
  h.Demo({"u1", "u2", "u3"});
  const Script slow = Script().After(milliseconds(200)).Head(503).End();
  h.On("u1", slow).On("u2", slow).On("u3", slow);
  const Client client = h.Ask();
  CHECK(client.status() == 504);
  CHECK(client.took == milliseconds(600));
  CHECK(h.Calls("u3") == 0);
}

TEST_CASE("deadline_factor 0: no overall deadline") {
  Settings settings = With(seconds(1));
  settings.global.timeouts.deadline_factor = 0;
  Harness h(settings);
  h.Demo({"u1", "u2", "u3", "u4"});
  for (const char* name : {"u1", "u2", "u3"}) h.On(name, Script().Hang());
  h.On("u4", Script::Chat("Good day"));
  CHECK(h.Ask().status() == 200);
}

TEST_CASE("F125 a stream's timeout is ten times as long") {
  Harness h(With(seconds(2)));
  Script stream = Open({Role()});
  for (int i = 0; i < 50; ++i) stream.After(milliseconds(300)).Bytes(Text("x") + "\n\n");
  stream.Bytes(Bytes({Fin(), Done()})).End();
  h.Demo({"u1"}).On("u1", stream);
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.took == seconds(15));
  CHECK(client.body() == BytesOf(stream));
  CHECK(client.sink->end.complete);
}

TEST_CASE("F125 a whole answer that is late times out and moves on") {
  Harness h(With(seconds(2)));
  h.Demo({"u1", "u2"}).On("u1", Script().After(seconds(3)).Head(200).End());
  h.On("u2", Script::Chat("Good day"));
  CHECK(h.Ask().header("x-hotel-provider") == "u2");
  CHECK(h.Circuit("u1") == "closed 1");
}

TEST_CASE("F125 a stream that never ends is ended at ten times the timeout, visibly") {
  Harness h(With(seconds(1)));
  Script stream = Open({Role(), Text("x")});
  for (int i = 0; i < 100; ++i) stream.After(milliseconds(500)).Bytes(Text("x") + "\n\n");
  h.Demo({"u1", "u2"}).On("u1", stream);
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.took == seconds(10));
  CHECK_FALSE(client.sink->end.complete);
  CHECK(client.body().find("\"code\":\"stream_incomplete\"") != std::string::npos);
  CHECK(client.body().find("[DONE]") == std::string::npos);
  CHECK(h.Seen("u1").cancelled);
  CHECK(h.Calls("u2") == 0);
  CHECK(h.Circuit("u1") == "closed 1");
}

TEST_CASE("F129 the response head has a deadline of its own when one is set") {
  Settings settings = Settings::Defaults();
  settings.global.timeouts.upstream_header_timeout = seconds(5);
  Harness h(settings);
  h.Demo({"u1", "u2"}).On("u1", Script().Hang()).On("u2", Script::Chat("Good day"));
  const Client client = h.Ask();
  CHECK(client.took < seconds(6));
  CHECK(h.Trail() == Lines{"0 u1 - charge provider_timeout", "1 u2 200 success -"});
}

TEST_CASE("a refusal whose body never ends is judged by its head within seconds") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script().Head(503).Bytes("{\"err").Hang());
  h.On("u2", Script::Chat("Good day"));
  const Client client = h.Ask();
  CHECK(client.status() == 200);
  CHECK(client.took < seconds(10));
  CHECK(h.Trail() == Lines{"0 u1 503 charge provider_error", "1 u2 200 success -"});
  CHECK(h.Seen("u1").cancelled);
}

TEST_CASE("the connect timeout of the provider's own settings goes out with the request") {
  Settings settings = Settings::Defaults();
  settings.providers["u2"] = settings.global;
  settings.providers["u2"].timeouts.connect_timeout = seconds(3);
  Harness h(settings);
  h.Demo({"u1", "u2"}).On("u2", Script::Chat("Good day"));
  h.Ask();
  CHECK(h.Seen("u1").request.connect_timeout == settings.global.timeouts.connect_timeout);
  CHECK(h.Seen("u2").request.connect_timeout == seconds(3));
}

TEST_CASE("a provider's own request_timeout bounds its attempts only") {
  Settings settings = Settings::Defaults();
  settings.providers["u1"] = settings.global;
  settings.providers["u1"].timeouts.request_timeout = seconds(5);
  Harness h(settings);
  h.Demo({"u1", "u2"}).On("u1", Script().Hang()).On("u2", Script().Hang());
  h.Ask();
  CHECK(h.record().attempts[0].duration == seconds(5));
  CHECK(h.record().attempts[1].duration == seconds(60));
}

TEST_CASE("a change of settings applies to the next request, not to a running one") {
  Harness h(With(seconds(10)));
  h.Demo({"u1"}).On("u1", Script().Hang());
  Client running = h.Chat();
  h.loop.Advance(seconds(5));
  h.settings.Set(With(seconds(1)));
  Client later = h.Chat();
  h.Wait(later);
  CHECK(later.took == seconds(1));
  CHECK_FALSE(running.sink->ended);
  h.Wait(running);
  CHECK(running.took == seconds(4));
}

}  // namespace
}  // namespace hotel::scenario
