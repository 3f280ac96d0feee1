// Streams of the messages and responses dialects, native on both sides (R30-R44; decisions 5, 10).
#include <string>
#include <utility>
#include <vector>

#include "tests/scenario/endpoints.h"
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

TEST_CASE("facts i messages go as they are to providers that speak them, only the model changes") {
  Harness h;
  Twins(h, "anthropic");
  const Script sent = Open(MessageFrames("Good day")).End();
  h.On("u1", sent);
  const Client client =
      AskFor(h, kMessages, R"({"max_tokens":9,"model":"hotel/demo","stream":true,"x":1.0})");
  CHECK(client.status() == 200);
  CHECK(client.body() == BytesOf(sent));
  CHECK(client.sink->end.complete);
  CHECK(h.Seen("u1").request.url == "https://u1.test/v1/messages");
  CHECK(h.Seen("u1").body == R"({"max_tokens":9,"model":"m","stream":true,"x":1.0})");
  CHECK(FindHeader(h.Seen("u1").request.headers, "x-api-key") == "k");
  CHECK(FindHeader(h.Seen("u1").request.headers, "anthropic-version") == "2023-06-01");
  CHECK(h.Trail() == Lines{"0 u1 200 success -"});
  CHECK(h.record().endpoint == kMessages);
}

TEST_CASE("F061 a dialect's own last event ends the stream; [DONE] is demanded nowhere else") {
  for (const bool hang : {false, true}) {
    Harness messages;
    Twins(messages, "anthropic");
    const Script said = Open(MessageFrames("Good day"));
    messages.On("u1", hang ? Script(said).Hang() : Script(said).End());
    const Client one = AskMessages(messages);
    CHECK(one.body() == BytesOf(said));
    CHECK(one.sink->end.complete);
    CHECK(messages.Circuit("u1") == "closed 0");
    Harness responses;
    Twins(responses, "openai");
    const Script told = Open(ResponseFrames("Good day"));
    responses.On("u1", hang ? Script(told).Hang() : Script(told).End());
    const Client two = AskResponses(responses);
    CHECK(two.body() == BytesOf(told));
    CHECK(two.sink->end.complete);
    CHECK(two.took == Duration::zero());
    CHECK(responses.Circuit("u1") == "closed 0");
  }
}

TEST_CASE("R38 a messages stream without message_stop is cut: one error event, nothing invented") {
  for (const bool reset : {false, true}) {
    Harness h;
    Twins(h, "anthropic");
    // The reason to stop was told, but only message_stop says that nothing is missing.
    const Script sent = Open({MessageStart(), BlockStart(), BlockText("Good"), MessageDelta()});
    h.On("u1", reset ? Cut(sent) : Script(sent).End());
    const Client client = AskMessages(h);
    REQUIRE(client.body().rfind(BytesOf(sent), 0) == 0);
    const std::string rest = client.body().substr(BytesOf(sent).size());
    CHECK(rest.rfind("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\"",
                     0) == 0);
    CHECK(rest.find("\"code\":\"stream_incomplete\"") != std::string::npos);
    CHECK(client.body().find("message_stop") == std::string::npos);
    CHECK(client.body().find("[DONE]") == std::string::npos);
    CHECK_FALSE(client.sink->end.complete);
    CHECK_FALSE(client.sink->end.cut);
    CHECK(h.Calls("u2") == 0);
    CHECK(h.Trail() == Lines{"0 u1 200 charge provider_error"});
  }
}

TEST_CASE("R37 a responses stream without a terminal event is cut: one error event") {
  Harness h;
  Twins(h, "openai");
  const Script sent = Open({ResponseCreated(), ResponseText("Good")});
  h.On("u1", Script(sent).End());
  const Client client = AskResponses(h);
  REQUIRE(client.body().rfind(BytesOf(sent), 0) == 0);
  const std::string rest = client.body().substr(BytesOf(sent).size());
  CHECK(rest.rfind("event: error\ndata: {\"type\":\"error\"", 0) == 0);
  CHECK(rest.find("\"code\":\"stream_incomplete\"") != std::string::npos);
  CHECK_FALSE(client.sink->end.complete);
  CHECK(h.Circuit("u1") == "closed 1");
}

TEST_CASE("R35 response.incomplete and response.done are terminal, a failure is judged") {
  for (const char* name : {"response.completed", "response.incomplete", "response.done"}) {
    Harness h;
    Twins(h, "openai");
    const Script sent =
        Open({ResponseCreated(), ResponseText("x"), Typed(name, R"(,"response":{"id":"r"})")});
    h.On("u1", Script(sent).Hang());
    const Client client = AskResponses(h);
    INFO(name);
    CHECK(client.body() == BytesOf(sent));
    CHECK(client.sink->end.complete);
  }
  Harness h;
  Twins(h, "openai");
  const Script failed = Open({ResponseCreated(), ResponseText("x"), ResponseFailed("503")});
  h.On("u1", Script(failed).Bytes(ResponseText("never") + "\n\n").Hang());
  const Client client = AskResponses(h);
  CHECK(client.body() == BytesOf(failed));  // relayed once, nothing added
  CHECK_FALSE(client.sink->end.complete);
  CHECK(h.Trail() == Lines{"0 u1 200 charge provider_error"});
  CHECK(h.Calls("u2") == 0);
}

TEST_CASE("R31 response.failed before any output is that error and moves on") {
  Harness h;
  Twins(h, "openai");
  const Script good = Open(ResponseFrames("Good day")).End();
  h.On("u1", Open({ResponseCreated(), ResponseFailed("503")}).End()).On("u2", good);
  CHECK(AskResponses(h).body() == BytesOf(good));
  CHECK(h.Trail() == Lines{"0 u1 200 charge provider_error", "1 u2 200 success -"});
}

TEST_CASE("F047 event: error before output is that error, behind it it is relayed") {
  const std::string overloaded =
      Typed("error", R"(,"error":{"type":"overloaded_error","message":"Overloaded"})");
  Harness before;
  Twins(before, "anthropic");
  const Script good = Open(MessageFrames("Good day")).End();
  before.On("u1", Open({MessageStart(), overloaded}).End()).On("u2", good);
  CHECK(AskMessages(before).body() == BytesOf(good));
  CHECK(before.Circuit("u1") == "closed 1");

  Harness behind;
  Twins(behind, "anthropic");
  const Script sent = Open({MessageStart(), BlockStart(), BlockText("Go"), overloaded});
  behind.On("u1", Script(sent).End());
  const Client client = AskMessages(behind);
  CHECK(client.body() == BytesOf(sent));
  CHECK_FALSE(client.sink->end.complete);
  CHECK(behind.Calls("u2") == 0);
  CHECK(behind.Circuit("u1") == "closed 1");
  CHECK(behind.record().error_kind == ErrorKind::kProviderError);
}

TEST_CASE("F045 openers, pings and empty blocks of every dialect are no first output") {
  const std::pair<Endpoint, std::vector<std::string>> rows[] = {
      {kMessages, {MessageStart()}},
      {kMessages, {MessageStart(), Typed("ping"), Typed("ping")}},
      {kMessages, {MessageStart(), BlockStart()}},
      {kMessages, {": ping"}},
      {kMessages, {"retry: 3000", "id: 7", "event: ping", "data:"}},  // F051
      {kResponses, {ResponseCreated()}},
      {kResponses, {ResponseCreated(), Typed("response.in_progress", R"(,"response":{})")}},
  };
  for (const auto& [endpoint, frames] : rows) {
    INFO(frames.back());
    const bool messages = endpoint == kMessages;
    Harness h(FailoverFirst({{"ttft_timeout", "2s"}}));
    Twins(h, messages ? "anthropic" : "openai");
    const Script good = Open(messages ? MessageFrames("Hi") : ResponseFrames("Hi")).End();
    h.On("u1", Open(frames).Hang()).On("u2", good);
    const Client client = AskFor(h, endpoint, StreamBody());
    CHECK(client.body() == BytesOf(good));
    CHECK(client.took >= seconds(2));
    CHECK(h.Trail()[0] == "0 u1 200 charge provider_timeout");
  }
}

TEST_CASE(
    "R30 F041 a stream of another dialect without an event moves on, an empty one is served") {
  Harness nothing;
  Twins(nothing, "anthropic");
  const Script good = Open(MessageFrames("Hi")).End();
  nothing.On("u1", Open({": ping"}).End()).On("u2", good);
  CHECK(AskMessages(nothing).body() == BytesOf(good));

  Harness empty;
  Twins(empty, "anthropic");
  const Script said = Open({MessageStart(), MessageDelta(), MessageStop()});
  empty.On("u1", Script(said).End());
  const Client client = AskMessages(empty);
  CHECK(client.body() == BytesOf(said));
  CHECK(client.sink->end.complete);
  CHECK(empty.Trail() == Lines{"0 u1 200 charge -"});
}

TEST_CASE("R44 the watchdog ends silent streams in their dialect") {
  Harness h(FailoverFirst({{"timeouts.stream_stall_timeout", "5s"}}));
  Twins(h, "anthropic");
  h.On("u1", Open({MessageStart(), BlockStart(), BlockText("Good")}).Hang());
  const Client client = AskMessages(h);
  CHECK(client.took == seconds(5));
  CHECK(client.body().find("event: error\n") != std::string::npos);
  CHECK(client.body().find("stream_incomplete") != std::string::npos);
  CHECK(h.Trail() == Lines{"0 u1 200 charge provider_timeout"});
}

TEST_CASE("R43 a terminal event of a megabyte is seen") {
  Harness h;
  Twins(h, "openai");
  const std::string large =
      Typed("response.completed",
            R"(,"response":{"id":"r","output":[],"x":")" + std::string(1 << 20, 'x') + "\"}");
  const std::string bytes = Bytes({ResponseCreated(), ResponseText("x"), large});
  Script script;
  script.Head(200, {{"content-type", "text/event-stream"}});
  for (std::size_t at = 0; at < bytes.size(); at += 16000) script.Bytes(bytes.substr(at, 16000));
  h.On("u1", script.Hang());
  const Client client = AskResponses(h);
  CHECK((client.body() == bytes));
  CHECK(client.sink->end.complete);
}

TEST_CASE("facts g errors on /v1/messages have the Anthropic form, elsewhere OpenAI's") {
  Harness h;
  Twins(h, "anthropic");
  h.On("u1", Script::Json(503, "{}")).On("u2", Script::Json(529, "{}"));
  const Client client = AskMessages(h);
  CHECK(client.status() == 529);
  CHECK(client.body().rfind(R"({"type":"error","error":{"type":)", 0) == 0);
  CHECK(client.body().find(R"("code":"provider_error")") != std::string::npos);
  const Client unknown = AskFor(h, kMessages, R"({"model":"hotel/none"})");
  CHECK(unknown.status() == 404);
  CHECK(unknown.body().find(R"("type":"not_found_error")") != std::string::npos);
  const Client bad = AskFor(h, kMessages, "{");
  CHECK(bad.status() == 400);
  CHECK(bad.body().rfind(R"({"type":"error")", 0) == 0);
  const Client chat = AskFor(h, Endpoint::kEmbeddings, "{");
  CHECK(chat.body().rfind(R"({"error":{"message":)", 0) == 0);
}

TEST_CASE("facts g a refused payload of /v1/messages is told in the provider's words") {
  Harness h;
  Twins(h, "anthropic");
  const std::string words =
      R"({"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: required"}})";
  h.On("u1", Script::Json(400, words));
  const Client client = AskMessages(h);
  CHECK(client.status() == 400);
  CHECK(client.body() == words);
  CHECK(h.Calls("u2") == 0);
  CHECK(h.Trail() == Lines{"0 u1 400 alive provider_bad_request"});
}

TEST_CASE("R24 R25 an error hidden in a whole answer of any dialect is that error") {
  for (const Endpoint endpoint : {kMessages, kResponses}) {
    Harness h;
    Twins(h, endpoint == kMessages ? "anthropic" : "openai");
    const std::string good =
        endpoint == kMessages
            ? R"({"id":"m","type":"message","role":"assistant","content":[{"type":"text",)"
              R"("text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}})"
            : R"({"id":"r","object":"response","status":"completed","output":[{"type":"message",)"
              R"("content":[{"type":"output_text","text":"Hi"}]}]})";
    h.On("u1", Script::Json(200, R"({"error":{"code":503,"message":"overloaded"}})"));
    h.On("u2", Script::Json(200, good));
    const Client client = AskFor(h, endpoint, R"({"model":"hotel/demo"})");
    CHECK(client.body() == good);
    CHECK(h.Trail() == Lines{"0 u1 200 charge provider_error", "1 u2 200 success -"});
  }
}

TEST_CASE("decisions 10 hedging races streaming chat completions only") {
  for (const Endpoint endpoint : {kMessages, kResponses}) {
    Harness h(FailoverFirst({{"hedging.enabled", "true"}, {"hedging.delay", "1s"}}));
    Twins(h, endpoint == kMessages ? "anthropic" : "openai");
    const auto frames = endpoint == kMessages ? MessageFrames("Hi") : ResponseFrames("Hi");
    h.On("u1", Script()
                   .After(seconds(10))
                   .Head(200, {{"content-type", "text/event-stream"}})
                   .Bytes(Bytes(frames))
                   .End());
    const Client client = AskFor(h, endpoint, StreamBody());
    CHECK(client.took == seconds(10));
    CHECK(h.Calls("u2") == 0);
    CHECK_FALSE(h.record().attempts[0].hedged);
  }
}

TEST_CASE("facts i a candidate that does not speak the dialect is skipped, and the trail says so") {
  Harness h;
  testing::AddProvider(*h.store, "u1");  // speaks no messages
  testing::AddProvider(*h.store, "u2", "k", "anthropic");
  testing::AddGroup(*h.store, "demo", {"u1/m", "u2/m"});
  const Script good = Open(MessageFrames("Hi")).End();
  h.On("u1", Script::Chat("wrong")).On("u2", good);
  CHECK(AskMessages(h).body() == BytesOf(good));
  CHECK(h.Calls("u1") == 0);
  CHECK(h.Trail() == Lines{"-1 u1 - skipped -", "0 u2 200 success -"});
  CHECK_FALSE(h.record().attempts[0].detail.empty());

  testing::AddGroup(*h.store, "none", {"u1/m"});
  const Client client = AskFor(h, kMessages, R"({"model":"hotel/none"})");
  CHECK(client.status() == 400);
  CHECK(client.body().rfind(R"({"type":"error")", 0) == 0);
  CHECK(h.Trail() == Lines{"-1 u1 - skipped -"});
}

TEST_CASE("decisions 2 failover.endpoints: where a request does not go on, one is asked") {
  Harness h(RetryFirst({{"resilience.retry.max_retries", "0"}}));
  Twins(h, "openai");
  h.On("u1", Script::Json(503, "{}"));
  h.On("u2", Script::Json(200, R"({"object":"list","data":[]})"));
  CHECK(AskFor(h, Endpoint::kEmbeddings, R"({"model":"hotel/demo"})").status() == 503);
  CHECK(h.Calls("u2") == 0);
  h.settings.Set(RetryFirst(
      {{"resilience.retry.max_retries", "0"}, {"failover.endpoints", "embeddings,image"}}));
  CHECK(AskFor(h, Endpoint::kEmbeddings, R"({"model":"hotel/demo"})").status() == 200);
  CHECK(h.Calls("u2") == 1);
  CHECK(h.Ask().status() == 503);
}

}  // namespace
}  // namespace hotel::scenario
