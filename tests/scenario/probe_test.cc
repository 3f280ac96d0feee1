// The wait for the first output, the hold-back before the commit, back-pressure (facts f; F039,
// F045).
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

Settings Probe(Duration ttft) {
  Settings settings = Settings::Defaults();
  settings.global.timeouts.ttft_timeout = ttft;
  return settings;
}

/// An opener, then a ping every 100 ms for five seconds.
Script Pinging(const std::string& opener) {
  Script script = Open({opener});
  for (int i = 0; i < 50; ++i) script.After(milliseconds(100)).Bytes(": ping\n\n");
  return script;
}

TEST_CASE("F045 openers, pings and usage are no output: the probe moves on after its time") {
  const std::pair<const char*, std::string> openers[] = {
      {"role-only", Role()},
      {"comment", ": ping"},
      {"ping event", "event: ping\ndata: {\"type\": \"ping\"}"},
      {"usage", Usage()},
      {"empty content", Delta(R"({"content":""})")},
      {"null delta", Delta("null")},
      {"no choices", R"(data: {"choices":[]})"},
      {"empty tool_calls", Delta(R"({"tool_calls":[]})")},
      {"tool call header", Delta(R"({"tool_calls":[{"index":0,"id":"x","type":"function"}]})")},
      {"empty text part", Delta(R"({"content":[{"type":"text","text":""}]})")},
  };
  for (const auto& [what, opener] : openers) {
    INFO(what);
    Harness h(Probe(seconds(1)));
    h.Demo({"u1", "u2"}).On("u1", Pinging(opener));
    const Script good = Script::ChatStream("Good day");
    h.On("u2", good);
    const Client client = h.Ask("hotel/demo", true);
    CHECK(client.body() == BytesOf(good));
    CHECK(client.took >= seconds(1) + milliseconds(100));
    CHECK(client.took < seconds(1) + milliseconds(200));
    CHECK(h.Seen("u1").cancelled);
    CHECK(h.Trail() == Lines{"0 u1 200 charge provider_timeout", "1 u2 200 success -"});
    CHECK(h.Circuit("u1") == "closed 1");
  }
}

TEST_CASE("F045 model output in every spelling commits at once") {
  const std::pair<const char*, std::string> outputs[] = {
      {"content", Text("x")},
      {"a lone newline", Text("\\n")},
      {"reasoning_content", Delta(R"({"reasoning_content":"hm"})")},
      {"reasoning", Delta(R"({"reasoning":"hm"})")},
      {"tool call name", Delta(R"({"tool_calls":[{"index":0,"function":{"name":"f"}}]})")},
      {"refusal", Delta(R"({"refusal":"no"})")},
      {"audio", Delta(R"({"audio":{"data":"AAAA"}})")},
      {"unknown dialect", R"(data: {"candidates":[{"x":"y"}]})"},
  };
  for (const auto& [what, output] : outputs) {
    INFO(what);
    Harness h(Probe(seconds(1)));
    const Script slow =
        Open({Role(), output}).After(seconds(5)).Bytes(Bytes({Fin(), Done()})).End();
    h.Demo({"u1", "u2"}).On("u1", slow);
    Client client = h.Chat("hotel/demo", true);
    h.loop.RunUntilIdle();
    CHECK(client.body() == Bytes({Role(), output}));  // the held opener comes first
    h.Wait(client);
    CHECK(client.body() == BytesOf(slow));
    CHECK(h.Calls("u2") == 0);
  }
}

TEST_CASE("facts f: the probe lasts a minute by default and counts from the attempt's start") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script()
                              .After(seconds(40))
                              .Head(200, {{"content-type", "text/event-stream"}})
                              .Bytes(Role() + "\n\n")
                              .Hang());
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.took == seconds(60));
  CHECK(client.status() == 502);
  CHECK(Message(client.body()) == "provider request failed for model hotel/demo");
  CHECK(h.record().error_kind == ErrorKind::kProviderTimeout);
}

TEST_CASE("facts f: the probe also covers the wait for the head of a stream") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script().Hang()).On("u2", Script::ChatStream("Good day"));
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.took >= seconds(60));
  CHECK(client.took < seconds(61));
  CHECK(h.Trail() == Lines{"0 u1 - charge provider_timeout", "1 u2 200 success -"});
}

TEST_CASE("facts f: ttft_timeout 0 commits on the first frame") {
  Harness h(Probe(Duration::zero()));
  h.Demo({"u1", "u2"})
      .On("u1", Open({Role()})
                    .After(seconds(29))
                    .Bytes(Text("x") + "\n\n")
                    .Bytes(Bytes({Fin(), Done()}))
                    .End());
  Client client = h.Chat("hotel/demo", true);
  h.loop.RunUntilIdle();
  CHECK(client.body() == Bytes({Role()}));
  h.Wait(client);
  CHECK(client.sink->end.complete);
  CHECK(h.Calls("u2") == 0);
}

TEST_CASE("R32 decisions 5: what is held back is bounded, then it commits, unchanged") {
  Harness h(Probe(seconds(1)));
  Script opener = Open({});
  for (int i = 0; i < 70; ++i) opener.Bytes(": " + std::string(1021, 'x') + "\n");
  opener.After(seconds(5)).Bytes("\n" + Bytes({Text("x"), Fin(), Done()})).End();
  h.Demo({"u1", "u2"}).On("u1", opener);
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.body() == BytesOf(opener));
  CHECK(h.Calls("u2") == 0);
}

TEST_CASE("the first output's time is in the record, from the request's arrival") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script::Json(503, ""));
  h.On("u2", Open({Role()}).After(seconds(3)).Bytes(Bytes({Text("x"), Fin(), Done()})).End());
  h.Ask("hotel/demo", true);
  REQUIRE(h.record().ttft.has_value());
  CHECK(*h.record().ttft >= seconds(3) + milliseconds(100));
  CHECK(*h.record().ttft < seconds(3) + milliseconds(200));
  CHECK(h.record().attempts[1].ttft == h.record().ttft);
  CHECK_FALSE(h.record().attempts[0].ttft.has_value());
}

TEST_CASE("a client that cannot take more pauses the upstream, and loses nothing") {
  Harness h;
  const Script stream =
      Open({Role(), Text("one"), Text("two"), Text("three"), Fin(), Done()}).End();
  h.Demo({"u1"}).On("u1", stream);
  Client client = h.Chat("hotel/demo", true);
  client.sink->pause_after = 1;
  h.loop.RunUntilIdle();
  CHECK(client.body() == Bytes({Role(), Text("one")}));
  h.loop.Advance(seconds(30));
  CHECK(client.body() == Bytes({Role(), Text("one")}));
  CHECK_FALSE(client.sink->ended);
  client.sink->pause_after = client.sink->chunks.size() + 1;  // and once more
  client.call->Resume();
  h.loop.RunUntilIdle();
  CHECK(client.body() == Bytes({Role(), Text("one"), Text("two")}));
  client.call->Resume();
  client.call->Resume();  // once too often does no harm
  h.Wait(client);
  CHECK(client.body() == BytesOf(stream));
  CHECK(client.sink->end.complete);
  CHECK(h.Circuit("u1") == "closed 0");
}

TEST_CASE("decisions 10: time in which the client holds up its stream is not the provider's") {
  Harness h;
  const Script stream = Open({Text("one"), Text("two"), Fin(), Done()}).End();
  h.Demo({"u1"}).On("u1", stream);
  Client client = h.Chat("hotel/demo", true);
  client.sink->pause_after = 1;
  h.loop.RunUntilIdle();
  h.loop.Advance(minutes(45));  // beyond the attempt's and the request's limits
  CHECK_FALSE(client.sink->ended);
  client.call->Resume();
  h.Wait(client);
  CHECK(client.body() == BytesOf(stream));
  CHECK(client.sink->end.complete);
  CHECK(h.Circuit("u1") == "closed 0");
}

TEST_CASE("decisions 10: a pause moves the limits of a stream, it does not lift them") {
  Settings settings = Settings::Defaults();
  settings.global.timeouts.stream_stall_timeout = Duration::zero();
  Harness h(settings);
  h.Demo({"u1"}).On("u1", Open({Text("one"), Text("two")}).Hang());
  Client client = h.Chat("hotel/demo", true);
  client.sink->pause_after = 1;
  h.loop.RunUntilIdle();
  h.loop.Advance(minutes(5));
  client.call->Resume();
  h.loop.Advance(minutes(9));
  CHECK_FALSE(client.sink->ended);
  h.loop.Advance(minutes(2));
  CHECK(client.sink->ended);
  CHECK_FALSE(client.sink->end.complete);
  CHECK(h.Circuit("u1") == "closed 1");
}

TEST_CASE("Resume without a pause changes nothing") {
  Harness h;
  const Script stream = Open({Text("one")}).After(seconds(1)).Bytes(Bytes({Fin(), Done()})).End();
  h.Demo({"u1"}).On("u1", stream);
  Client client = h.Chat("hotel/demo", true);
  client.call->Resume();
  h.loop.RunUntilIdle();
  client.call->Resume();
  h.Wait(client);
  CHECK(client.body() == BytesOf(stream));
  client.call->Resume();
}

}  // namespace
}  // namespace hotel::scenario
