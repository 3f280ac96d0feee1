// Forms that streams of the other dialects come in: large, cut, with tools, with keys.
#include <string>
#include <utility>
#include <vector>

#include "tests/scenario/endpoints.h"
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

TEST_CASE("F043 R28 an error object where a stream of any dialect was asked for is that error") {
  for (const Endpoint endpoint : {kMessages, kResponses}) {
    Harness h;
    Twins(h, endpoint == kMessages ? "anthropic" : "openai");
    const Script good = Open(endpoint == kMessages ? MessageFrames("Hi") : ResponseFrames("Hi"));
    h.On("u1", Script()
                   .Head(200, {{"content-type", "application/json"}})
                   .Bytes(R"({"error":{"code":503,"message":"overloaded"}})")
                   .Hang());
    h.On("u2", Script(good).End());
    const Client client = AskFor(h, endpoint, StreamBody());
    CHECK(client.body() == BytesOf(good));
    CHECK(client.took < seconds(1));
    CHECK(h.Circuit("u1") == "closed 1");
  }
}

TEST_CASE("F069 tool calls are relayed untouched; the first name or input is output") {
  const auto call = [](const std::string& id, const std::string& rest) {
    return R"(data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":")" + id + "\"" +
           rest + "}]}}]}";
  };
  Harness chat;
  const Script sent =
      Open({Role(), call("a", R"(,"function":{"name":"f","arguments":""})"),
            call("b", R"(,"function":{"name":"g","arguments":"{"})"),
            call("a", R"(,"function":{"arguments":"{}"})"), Fin("tool_calls"), Done()});
  chat.Demo({"u1", "u2"}).On("u1", Script(sent).End());
  CHECK(chat.Ask("hotel/demo", true).body() == BytesOf(sent));
  CHECK(chat.Circuit("u1") == "closed 0");

  Harness messages;
  Twins(messages, "anthropic");
  const Script used = Open(
      {MessageStart(),
       Typed("content_block_start",
             R"(,"index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}})"),
       Typed("content_block_delta",
             R"(,"index":0,"delta":{"type":"input_json_delta","partial_json":"{}"})"),
       BlockStop(), MessageDelta(), MessageStop()});
  messages.On("u1", Script(used).End());
  CHECK(AskMessages(messages).body() == BytesOf(used));
  CHECK(messages.Trail() == Lines{"0 u1 200 success -"});
}

TEST_CASE("F077 F081 F051 events of other dialects are found however they are written and cut") {
  const std::string odd =
      "\xEF\xBB\xBF: hello\r\n\r\nretry: 3000\n\nid: 7\n\ndata:\n\n" + MessageStart() + "\n\n" +
      "data:{\"type\":\"content_block_delta\",\"index\":0,\ndata: \"delta\":{\"type\":"
      "\"text_delta\",\"text\":\"h\xC3\xA9\"}}\nevent:content_block_delta\n\n" +
      MessageDelta() + "\r\n\r\n" + "data: {\"type\":\"message_stop\"}\n\n";
  for (const char* type : {"text/event-stream; charset=utf-8", "text/plain", ""}) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{5}, odd.size()}) {
      INFO(type << " in pieces of " << step);
      Harness h;
      Twins(h, "anthropic");
      Script script;
      script.Head(200, {{"content-type", type}});
      for (std::size_t at = 0; at < odd.size(); at += step) script.Bytes(odd.substr(at, step));
      h.On("u1", script.Hang());
      const Client client = AskMessages(h);
      CHECK(client.body() == odd);
      CHECK(client.sink->end.complete);
      CHECK(h.Calls("u2") == 0);
      CHECK(h.record().usage->completion == 7);
    }
  }
}

TEST_CASE("F057 an event of four megabytes passes in any dialect, first or later") {
  for (const bool first : {true, false}) {
    Harness h;
    Twins(h, "anthropic");
    std::vector<std::string> frames = {MessageStart(), BlockStart()};
    if (!first) frames.push_back(BlockText("x"));
    frames.push_back(BlockText(std::string(std::size_t{4} << 20, 'x')));
    frames.push_back(MessageStop());
    const std::string bytes = Bytes(frames);
    Script script;
    script.Head(200, {{"content-type", "text/event-stream"}});
    for (std::size_t at = 0; at < bytes.size(); at += 16384) script.Bytes(bytes.substr(at, 16384));
    h.On("u1", script.End());
    const Client client = AskMessages(h);
    CHECK((client.body() == bytes));
    CHECK(client.sink->end.complete);
  }
}

TEST_CASE("R32 what is held back of another dialect is bounded, then it commits, unchanged") {
  Harness h;
  Twins(h, "anthropic");
  std::string openers = MessageStart() + "\n\n";
  while (openers.size() < (std::size_t{80} << 10)) openers += Typed("ping") + "\n\n";
  Script script;
  script.Head(200, {{"content-type", "text/event-stream"}});
  for (std::size_t at = 0; at < openers.size(); at += 1000) script.Bytes(openers.substr(at, 1000));
  script.Hang();
  h.On("u1", script);
  Client client = h.Send(To(kMessages, StreamBody()));
  h.loop.RunUntilIdle();
  CHECK(client.sink->has_head);
  CHECK(client.body().size() > (std::size_t{64} << 10));
  CHECK(openers.rfind(client.body(), 0) == 0);
  client.call->Cancel();
  h.Wait(client);
}

TEST_CASE("F049 nothing is sent to keep a silent stream alive, before or behind the commit") {
  Harness h;
  Twins(h, "anthropic");
  const std::string late = Bytes({BlockStop(), MessageDelta(), MessageStop()});
  const Script sent = Open({"id: 1\n" + MessageStart(), BlockStart(), BlockText("x")})
                          .After(seconds(25))
                          .Bytes(late)
                          .End();
  h.On("u1", sent);
  const Client client = AskMessages(h);
  CHECK(client.body() == BytesOf(sent));
  CHECK(client.took == seconds(25));
}

TEST_CASE("F157 F165 each provider gets its own model id, the client what the provider wrote") {
  for (const Endpoint endpoint : {kMessages, kResponses}) {
    Harness h;
    const std::string type = endpoint == kMessages ? "anthropic" : "openai";
    for (const char* name : {"u1", "u2"}) {
      testing::AddProvider(*h.store, name, endpoint == kMessages ? "k" : "", type);
    }
    testing::AddGroup(*h.store, "demo", {"u1/hotel/demo", "u2/other"});
    const auto frames = endpoint == kMessages ? MessageFrames("Hi") : ResponseFrames("Hi");
    const Script good = Open(frames).End();
    h.On("u1", Script::Json(500, "")).On("u2", good);
    const Client client = AskFor(h, endpoint, StreamBody());
    CHECK(h.Seen("u1").body == StreamBody());
    CHECK(h.Seen("u2").body == R"({"model":"other","stream":true})");
    CHECK(client.body() == BytesOf(good));
    CHECK(client.header("x-hotel-model") == "other");
    CHECK(h.record().resolved_model == "other");
  }
}

TEST_CASE("R18 R19 R21 the idempotency key goes with calls of every dialect alike") {
  Harness h;
  Twins(h, "anthropic");
  h.On("u1", Script::Reset()).On("u1", Script::Json(500, ""));
  h.On("u2", Open(MessageFrames("Hi")).End());
  RouteRequest request = To(kMessages, StreamBody());
  request.idempotency_key = " k-1 ";
  AskFor(h, request);
  REQUIRE(h.Calls("u1") == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(FindHeader(h.Seen("u1", i).request.headers, "idempotency-key") == "k-1");
  }
  CHECK(FindHeader(h.Seen("u2").request.headers, "idempotency-key").empty());
}

TEST_CASE("decisions 10 a stopping gateway says so in each dialect") {
  Harness h;
  Twins(h, "anthropic");
  h.On("u1", Open({MessageStart(), BlockStart(), BlockText("x")}).Hang());
  Client client = h.Send(To(kMessages, StreamBody()));
  h.loop.RunUntilIdle();
  h.router->EndAll();
  h.Wait(client);
  CHECK(client.body().find("event: error\ndata: {\"type\":\"error\"") != std::string::npos);
  CHECK(client.body().find("gateway restarting") != std::string::npos);
  CHECK(h.Circuit("u1") != "closed 1");
}

}  // namespace
}  // namespace hotel::scenario
