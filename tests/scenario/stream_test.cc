// Committed streams: what is relayed, what is added, what is charged (decisions 5 and 10).
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

std::size_t CountOf(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

/// The answer ends with exactly one error event of this code and no [DONE].
void CheckBroken(const Client& client, const std::string& relayed, const std::string& code) {
  REQUIRE(client.body().size() > relayed.size());
  CHECK(client.body().substr(0, relayed.size()) == relayed);
  const std::string rest = client.body().substr(relayed.size());
  CHECK(rest.rfind("data: {\"error\":{", 0) == 0);
  CHECK(rest.substr(rest.size() - 2) == "\n\n");
  CHECK(CountOf(client.body(), "\"error\"") == 1);
  CHECK(rest.find("\"type\":\"server_error\"") != std::string::npos);
  CHECK(rest.find("\"code\":\"" + code + "\"") != std::string::npos);
  CHECK(CountOf(client.body(), "[DONE]") == 0);
  CHECK_FALSE(client.sink->end.complete);
}

TEST_CASE(
    "R34 R36 R42 F033 F037 F063 a cut behind output: one error event, no [DONE], nobody else") {
  for (const bool reset : {true, false}) {
    INFO((reset ? "reset" : "clean end"));
    Harness h;
    const Script sent = Open({Role(), Text("one"), Text("two"), Text("three")});
    h.Demo({"u1", "u2"}).On("u1", reset ? Cut(sent) : Script(sent).End());
    const Client client = h.Ask("hotel/demo", true);
    CHECK(client.status() == 200);
    CheckBroken(client, BytesOf(sent), "stream_incomplete");
    CHECK(h.Calls("u2") == 0);
    CHECK(h.Circuit("u1") == "closed 1");
    CHECK(h.Trail() == Lines{"0 u1 200 charge provider_error"});
    CHECK(h.record().status == 200);
    CHECK(h.record().error_kind == ErrorKind::kProviderError);
  }
}

TEST_CASE("R39 F037 a cut inside an event: the half event is not left before the error event") {
  Harness h;
  const Script whole = Open({Text("one")});
  h.Demo({"u1", "u2"}).On("u1", Cut(Script(whole).Bytes(Text("two").substr(0, 30))));
  CheckBroken(h.Ask("hotel/demo", true), BytesOf(whole), "stream_incomplete");
}

TEST_CASE("decisions 5: a finish_reason without [DONE] is whole; the gateway adds [DONE]") {
  for (const bool reset : {true, false}) {
    Harness h;
    const Script sent = Open({Role(), Text("one"), Fin()});
    h.Demo({"u1", "u2"}).On("u1", reset ? Cut(sent) : Script(sent).End());
    const Client client = h.Ask("hotel/demo", true);
    CHECK(client.body() == BytesOf(sent) + "data: [DONE]\n\n");
    CHECK(client.sink->end.complete);
    CHECK(h.Trail() == Lines{"0 u1 200 success -"});
  }
}

TEST_CASE("F059 a last event without its blank line counts") {
  for (const char* last : {"data: [DONE]", "data: [DONE]\n", "data:[DONE]\r\n"}) {
    Harness h;
    const Script sent = Open({Text("one"), Fin()}).Bytes(last);
    h.Demo({"u1"}).On("u1", Script(sent).End());
    const Client client = h.Ask("hotel/demo", true);
    CHECK(client.body().rfind(BytesOf(sent), 0) == 0);
    CHECK(CountOf(client.body(), "[DONE]") == 1);
    CHECK(client.body().back() == '\n');
    CHECK(client.sink->end.complete);
    CHECK(h.Circuit("u1") == "closed 0");
  }
}

TEST_CASE("decisions 10: a provider's error event behind output is relayed once, nothing added") {
  Harness h;
  const Script sent = Open({Role(), Text("one"), ErrorFrame("503")});
  h.Demo({"u1", "u2"})
      .On("u1", Script(sent).Bytes(Text("more") + "\n\n").Bytes("data: [DONE]\n\n").Hang());
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.body() == BytesOf(sent));
  CHECK_FALSE(client.sink->end.complete);
  CHECK(h.Calls("u2") == 0);
  CHECK(h.Trail() == Lines{"0 u1 200 charge provider_error"});  // judged by its 503
  CHECK(h.Seen("u1").cancelled);
}

TEST_CASE("decisions 10: an error event behind output is judged by the status it carries") {
  for (const auto& [code, circuit] : std::vector<std::pair<std::string, std::string>>{
           {"400", "closed 0"}, {"402", "open 5"}, {"\"500\"", "closed 1"}}) {
    INFO(code);
    Harness h;
    h.Demo({"u1"}).On("u1", Open({Text("one"), ErrorFrame(code)}).End());
    h.Ask("hotel/demo", true);
    CHECK(h.Circuit("u1") == circuit);
  }
}

TEST_CASE("decisions 5: an upstream held open behind [DONE] is closed within a second") {
  Harness h;
  const Script sent = Open({Text("one"), Fin(), Done()});
  h.Demo({"u1"}).On("u1", Script(sent).Hang());
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.body() == BytesOf(sent));
  CHECK(client.took == Duration::zero());
  h.loop.Advance(seconds(1));
  CHECK(h.Seen("u1").cancelled);
  CHECK(h.Circuit("u1") == "closed 0");
}

TEST_CASE("decisions 5: what a provider sends behind [DONE] does not reach the client") {
  Harness h;
  const Script sent = Open({Text("one"), Fin(), Done()});
  h.Demo({"u1"}).On("u1", Script(sent).Bytes(ErrorFrame("500") + "\n\n").End());
  CHECK(h.Ask("hotel/demo", true).body() == BytesOf(sent));
  CHECK(h.Circuit("u1") == "closed 0");
}

TEST_CASE("F041 an empty stream is served as the provider ended it and charged once") {
  const std::pair<Script, std::string> rows[] = {
      {Open({Role(), Fin(), Done()}).End(), Bytes({Role(), Fin(), Done()})},
      {Open({Role(), Done()}).End(), Bytes({Role(), Done()})},
      // Nobody but the gateway asked for usage.
      {Open({Role(), Usage(), Done()}).Hang(), Bytes({Role(), Done()})}};
  for (const auto& [empty, shown] : rows) {
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", empty).On("u2", Script::ChatStream("Good day"));
    const Client client = h.Ask("hotel/demo", true);
    CHECK(client.status() == 200);
    CHECK(client.body() == shown);
    CHECK(client.sink->end.complete);
    CHECK(h.Calls("u2") == 0);
    CHECK(h.Trail() == Lines{"0 u1 200 charge -"});
    CHECK(h.Circuit("u1") == "closed 1");
  }
}

TEST_CASE("F041 enough empty streams open the circuit") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Open({Role(), Fin(), Done()}).End());
  h.On("u2", Script::ChatStream("Good day"));
  for (int i = 0; i < 5; ++i) CHECK(h.Ask("hotel/demo", true).header("x-hotel-provider") == "u1");
  CHECK(h.Circuit("u1") == "open 5");
  CHECK(h.Ask("hotel/demo", true).header("x-hotel-provider") == "u2");
}

TEST_CASE("bytes are relayed exactly, however they are cut") {
  const std::string bytes =
      "\xEF\xBB\xBF: hello\r\n\r\ndata:" + Text("h\xC3\xA9 \xF0\x9F\x98\x80").substr(6) +
      "\r\n\r\nid: 7\r\nevent: message\r\n" + Text("x") + "\r\n\r\nretry: 5\n\n" + Text("\\u00e9") +
      "\n\n" + Fin() + "\n\n" + Done() + "\n\n";
  for (std::size_t step : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7},
                           std::size_t{64}, bytes.size()}) {
    INFO("pieces of " << step);
    Harness h;
    Script script;
    script.Head(200, {{"content-type", "text/event-stream; charset=utf-8"}});
    for (std::size_t at = 0; at < bytes.size(); at += step) script.Bytes(bytes.substr(at, step));
    h.Demo({"u1"}).On("u1", script.End());
    const Client client = h.Ask("hotel/demo", true);
    CHECK(client.body() == bytes);
    CHECK(client.sink->end.complete);
    CHECK(h.Circuit("u1") == "closed 0");
  }
}

TEST_CASE("F081 a payload spread over several data lines is one event") {
  const std::string split =
      "data: {\"id\":\"c\",\"choices\":\ndata: "
      "[{\"index\":0,\"delta\":\ndata:{\"content\":\"Hi\"}}]}\n"
      "id: 9\nevent: x\n\n";
  const std::string fin =
      "data: {\"choices\":[{\"index\":0,\"delta\":{},\ndata: \"finish_reason\":\"stop\"}]}\n\n";
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Open({}).Bytes(split + fin).End());
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.body() == split + fin + "data: [DONE]\n\n");
  CHECK(h.Calls("u2") == 0);
  Harness other;
  other.Demo({"u1", "u2"})
      .On("u1",
          Open({}).Bytes("data: {\"error\":\ndata: {\"code\":503,\"message\":\"x\"}}\n\n").End());
  other.On("u2", Script::ChatStream("Good day"));
  CHECK(other.Ask("hotel/demo", true).header("x-hotel-provider") == "u2");
}

TEST_CASE("F077 a stream is recognised whatever its content type and first pieces are") {
  for (const char* type : {"text/event-stream", "text/plain", "application/octet-stream", ""}) {
    Harness h;
    Script script;
    script.Head(200, {{"content-type", type}})
        .Bytes("")
        .Bytes("da")
        .Bytes("ta")
        .Bytes(": " + Text("one").substr(6) + "\n")
        .Bytes("\n")
        .Bytes(Bytes({Fin(), Done()}))
        .End();
    h.Demo({"u1"}).On("u1", script);
    const Client client = h.Ask("hotel/demo", true);
    CHECK(client.body() == BytesOf(script));
    CHECK(client.header("content-type") == "text/event-stream");
    CHECK(h.Circuit("u1") == "closed 0");
  }
}

TEST_CASE("decisions 5: a malformed event in the middle does not end the stream") {
  Harness h;
  const Script sent = Open({Text("one"), "data: {oops", Text("two"), Fin(), Done()});
  h.Demo({"u1"}).On("u1", Script(sent).End());
  CHECK(h.Ask("hotel/demo", true).body() == BytesOf(sent));
  CHECK(h.Circuit("u1") == "closed 0");
}

TEST_CASE("F165 the model a client sees is what the serving provider wrote, in every chunk") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script::Json(503, ""));
  const std::string own = R"(data: {"model":"vendor-x","choices":[{"delta":{"content":"Hi"}}]})";
  const Script sent = Open({own, own, Fin(), Done()});
  h.On("u2", Script(sent).End());
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.body() == BytesOf(sent));
  CHECK(client.header("x-hotel-model") == "m");
  CHECK(h.record().requested_model == "hotel/demo");
  CHECK(h.record().resolved_model == "m");
}

}  // namespace
}  // namespace hotel::scenario
