// Reports about streams and bodies, through the whole router.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/scenario/endpoints.h"
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

std::string Other() { return BytesOf(Script::ChatStream("Good day")); }

/// Frames of a first provider behind which a second one, that is well, has to serve.
void CheckMovesOn(const std::vector<std::string>& frames) {
  INFO(Bytes(frames));
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Open(frames).Hang()).On("u2", Script::ChatStream("Good day"));
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.header("x-hotel-provider") == "u2");
  CHECK(client.body() == Other());
  CHECK(client.took < seconds(1));
  CHECK(h.Circuit("u1") == "closed 1");
  CHECK(h.Seen("u1").cancelled);
}

TEST_CASE("F039 a harmless opener, then an error: the client gets the next provider's stream") {
  const std::string error = R"(data: {"error":{"code":"insufficient_quota","message":"x"}})";
  CheckMovesOn({Role(), error});
  CheckMovesOn({Role(), "event: error\n" + error});
  CheckMovesOn({Role(), Usage(), error});
  CheckMovesOn({Role(), ": ping", Delta(R"({"content":""})"), "event: error\n" + error});
}

TEST_CASE("F049 no byte of the gateway's own stands between a provider's events") {
  Harness h(FailoverFirst({{"timeouts.stream_stall_timeout", "0s"}}));
  const Script sent = Open({"id: 1\n" + Text("one")})
                          .After(seconds(20))
                          .Bytes("id: 2\n" + Text("two") + "\n\n")
                          .After(seconds(20))
                          .Bytes("id: 3\n" + Fin() + "\n\n" + Bytes({Done()}))
                          .End();
  h.Demo({"u1"}).On("u1", sent);
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.body() == BytesOf(sent));
  CHECK(client.took == seconds(40));
}

TEST_CASE("F051 blocks without data are no event: what follows decides, they are kept") {
  const std::string blocks = "retry: 3000\n\nid: 7\n\nevent: ping\n\ndata:\n\n";
  Harness h;
  const Script good =
      Open({}).Bytes(blocks).After(seconds(5)).Bytes(Bytes({Text("x"), Fin(), Done()})).End();
  h.Demo({"u1", "u2"}).On("u1", good);
  Client client = h.Chat("hotel/demo", true);
  h.loop.Advance(seconds(4));
  CHECK_FALSE(client.sink->has_head);
  h.Wait(client);
  CHECK(client.body() == BytesOf(good));
  CHECK(client.sink->end.complete);

  Harness silent;  // they are no first output either
  silent.Demo({"u1", "u2"}).On("u1", Open({}).Bytes(blocks).Hang());
  silent.On("u2", Script::ChatStream("Good day"));
  const Client moved = silent.Ask("hotel/demo", true);
  CHECK(moved.body() == Other());
  CHECK(moved.took >= seconds(60));
}

TEST_CASE("F057 an event of any size arrives whole, as the first one and as the tenth") {
  for (const std::size_t kib : {63, 65, 1023, 1025, 4096}) {
    const std::string large = Text(std::string(kib << 10, 'x'));
    for (const bool first : {true, false}) {
      INFO(kib << " KiB" << (first ? " first" : " tenth"));
      std::string bytes;
      for (int i = 0; i < 9 && !first; ++i) bytes += Text("word") + "\n\n";
      bytes += large + "\n\n" + Bytes({Fin(), Done()});
      Script script = Open({});
      for (std::size_t at = 0; at < bytes.size(); at += 16384)
        script.Bytes(bytes.substr(at, 16384));
      Harness h;
      h.Demo({"u1"}).On("u1", script.End());
      const Client client = h.Ask("hotel/demo", true);
      CHECK((client.body() == bytes));  // no megabytes in a failure's text
      CHECK(client.sink->end.complete);
      CHECK(h.Circuit("u1") == "closed 0");
    }
  }
}

TEST_CASE("F069 tool calls go through untouched, however they are numbered") {
  const auto calls = [](const std::string& list) {
    return Delta("{\"tool_calls\":[" + list + "]}");
  };
  const auto call = [](const std::string& index, const std::string& id, const std::string& name) {
    return "{" + index + "\"id\":\"" + id + R"(","type":"function","function":{"name":")" + name +
           R"(","arguments":""}})";
  };
  const std::string more = R"({"index":0,"function":{"arguments":"{\"a\":"}})";
  const std::string zero = "\"index\":0,";
  const std::vector<std::vector<std::string>> streams = {
      {calls(call(zero, "a", "f")), calls(call(zero, "b", "g")), calls(more), calls(more)},
      {calls(call("", "a", "f")), calls(call("", "b", "g"))},
      {calls(call(zero, "a", "f") + "," + call(zero, "b", "g"))},
  };
  for (std::vector<std::string> frames : streams) {
    Script script = Open({Role(), frames.front()}).After(seconds(2));
    frames.erase(frames.begin());
    script.Bytes(Bytes(frames)).Bytes(Bytes({Fin("tool_calls"), Done()})).End();
    Harness h;
    h.Demo({"u1"}).On("u1", script);
    Client client = h.Chat("hotel/demo", true);
    h.loop.Advance(seconds(1));
    CHECK(client.sink->has_head);  // the name is output
    h.Wait(client);
    CHECK(client.body() == BytesOf(script));
    CHECK(client.sink->end.complete);
    CHECK(h.Circuit("u1") == "closed 0");
  }
}

/// The names of a JSON object's members at its top, in order; enough for bodies of this file.
std::vector<std::string> Members(const std::string& json) {
  std::vector<std::string> names;
  int depth = 0;
  for (std::size_t at = 0; at < json.size(); ++at) {
    if (json[at] == '{' || json[at] == '[') ++depth;
    if (json[at] == '}' || json[at] == ']') --depth;
    if (json[at] != '"') continue;
    const std::size_t end = json.find('"', at + 1);
    if (depth == 1 && end + 1 < json.size() && json[end + 1] == ':') {
      names.push_back(json.substr(at + 1, end - at - 1));
    }
    at = end;
  }
  return names;
}

TEST_CASE("F167 nothing of the gateway's own reaches a provider, on any endpoint or attempt") {
  struct Row {
    Endpoint endpoint;
    const char* type;
    const char* body;
    bool adds_usage;
  };
  const Row rows[] = {
      {Endpoint::kChatCompletions, "openai", R"({"model":"hotel/demo","messages":[],"user":"x"})",
       false},
      {Endpoint::kChatCompletions, "openai",
       R"({"model":"hotel/demo","stream":true,"messages":[],"odd":{"a":1}})", true},
      {Endpoint::kMessages, "anthropic", R"({"model":"hotel/demo","max_tokens":5,"messages":[]})",
       false},
      {Endpoint::kMessages, "anthropic", R"({"model":"hotel/demo","stream":true,"messages":[]})",
       false},
      {Endpoint::kResponses, "openai", R"({"model":"hotel/demo","input":"x"})", false},
      {Endpoint::kResponses, "openai", R"({"model":"hotel/demo","stream":true,"input":"x"})",
       false},
      {Endpoint::kEmbeddings, "openai", R"({"model":"hotel/demo","input":"x"})", false},
      {Endpoint::kRerank, "openai", R"({"model":"hotel/demo","query":"x","documents":[]})", false},
      {Endpoint::kImageGenerations, "openai", R"({"model":"hotel/demo","prompt":"x"})", false},
      {Endpoint::kSpeech, "openai", R"({"model":"hotel/demo","input":"x","voice":"a"})", false},
  };
  const std::vector<std::string> fields = {"content-type",    "accept",         "accept-encoding",
                                           "authorization",   "x-api-key",      "anthropic-version",
                                           "idempotency-key", "content-length", "user-agent"};
  for (const Row& row : rows) {
    INFO(EndpointName(row.endpoint) << " " << row.body);
    Harness h(FailoverFirst({{"resilience.retry.retry_on_statuses", "503"}}));
    for (const char* name : {"u1", "u2"}) testing::AddProvider(*h.store, name, "k", row.type);
    testing::AddGroup(*h.store, "demo", {"u1/m", "u2/m"});
    h.On("u1", Script::Json(503, "")).On("u2", Script::Json(500, ""));
    RouteRequest request = To(row.endpoint, row.body);
    request.idempotency_key = "order-17";
    AskFor(h, std::move(request));
    REQUIRE(h.upstreams.seen().size() >= 3);  // repeats, the next one, and that once more
    for (const testing::SeenRequest& seen : h.upstreams.seen()) {
      std::string expected = row.body;
      expected.replace(expected.find("hotel/demo"), 10, "m");
      std::vector<std::string> members = Members(expected);
      if (row.adds_usage) {
        members.push_back("stream_options");
        std::vector<std::string> sent = Members(seen.body);
        std::sort(sent.begin(), sent.end());
        std::sort(members.begin(), members.end());
        CHECK(sent == members);
      } else {
        CHECK(seen.body == expected);
      }
      CHECK(seen.body.find("hotel") == std::string::npos);
      CHECK(seen.request.url.find("hotel") == std::string::npos);
      for (const Header& header : seen.request.headers) {
        INFO(header.name);
        CHECK(std::find(fields.begin(), fields.end(), header.name) != fields.end());
        CHECK((header.value.find("hotel") == std::string::npos || header.name == "user-agent"));
      }
    }
  }
}

}  // namespace
}  // namespace hotel::scenario
