// Property: wherever a valid stream breaks off and however it is cut into pieces, the client holds
// the whole answer or one that ends with exactly one error event (R34-R41; decisions, 5).
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

struct Dialect {
  const char* name;
  Endpoint endpoint;
  const char* provider_type;
  std::string stream;
  /// Where the first model output has come, where what has come is whole, and where the terminal
  /// event begins (behind it nothing is missing).
  std::size_t output, whole, terminal;
};

std::size_t EndOf(const std::string& stream, const std::string& event) {
  return stream.find(event) + event.size() + 2;
}

Dialect ChatDialect() {
  const std::string stream = Bytes({Role(), Text("Good"), Text(" day"), Fin(), Done()});
  return {"chat",
          Endpoint::kChatCompletions,
          "openai",
          stream,
          EndOf(stream, Text("Good")),
          EndOf(stream, Fin()),
          stream.find(Done())};
}

std::string Named(const std::string& name, const std::string& rest) {
  return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + rest + "}";
}

Dialect MessagesDialect() {
  const std::string first =
      Named("content_block_delta", R"(,"index":0,"delta":{"type":"text_delta","text":"Good"})");
  const std::string stop = Named("message_stop", "");
  const std::string stream = Bytes(
      {Named("message_start",
             R"(,"message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":3}})"),
       Named("content_block_start", R"(,"index":0,"content_block":{"type":"text","text":""})"),
       first,
       Named("content_block_delta", R"(,"index":0,"delta":{"type":"text_delta","text":" day"})"),
       Named("content_block_stop", R"(,"index":0)"),
       Named("message_delta", R"(,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2})"),
       stop});
  return {"messages",           Endpoint::kMessages, "anthropic",      stream,
          EndOf(stream, first), EndOf(stream, stop), stream.find(stop)};
}

Dialect ResponsesDialect() {
  const std::string first = Named("response.output_text.delta", R"(,"item_id":"i","delta":"Good")");
  const std::string stop = Named(
      "response.completed",
      R"(,"response":{"id":"r","status":"completed","usage":{"input_tokens":3,"output_tokens":2}})");
  const std::string stream =
      Bytes({Named("response.created", R"(,"response":{"id":"r","status":"in_progress"})"), first,
             Named("response.output_text.delta", R"(,"item_id":"i","delta":" day")"), stop});
  return {"responses",          Endpoint::kResponses, "openai",         stream,
          EndOf(stream, first), EndOf(stream, stop),  stream.find(stop)};
}

std::vector<Dialect> Dialects() { return {ChatDialect(), MessagesDialect(), ResponsesDialect()}; }

/// Two providers of the dialect; circuits off, since they are not what is asked here.
struct Pair : Harness {
  explicit Pair(const Dialect& dialect, const Settings& with) : Harness(with), of(dialect) {
    for (const char* name : {"u1", "u2"}) {
      testing::AddProvider(*store, name, of.provider_type[0] == 'a' ? "k" : "", of.provider_type);
    }
    testing::AddGroup(*store, "demo", {"u1/m", "u2/m"});
    On("u2", Head().Bytes(of.stream).End());
  }

  static Script Head() {
    Script script;
    return script.Head(200, {{"content-type", "text/event-stream"}});
  }

  Client Ask(Script script) {
    upstreams.Clear(Url("u1"));
    On("u1", std::move(script));
    RouteRequest request;
    request.endpoint = of.endpoint;
    request.body = std::make_shared<const std::string>(
        R"({"model":"hotel/demo","stream":true,"stream_options":{"include_usage":true}})");
    Client client = Send(std::move(request));
    Wait(client);
    return client;
  }

  const Dialect& of;
};

Settings NoCircuits() {
  return FailoverFirst({{"resilience.circuit_breaker.enabled", "false"},
                        {"failover.backoff.initial", "0s"},
                        {"resilience.retry.max_retries", "0"}});
}

std::size_t Count(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

TEST_CASE("R34 R40 R41 a stream cut at any byte is whole or ends with exactly one error event") {
  for (const Dialect& dialect : Dialects()) {
    Pair h(dialect, NoCircuits());
    for (std::size_t cut = 0; cut <= dialect.stream.size(); ++cut) {
      for (const bool clean : {true, false}) {
        Script script = Pair::Head();
        if (cut > 0) script.Bytes(dialect.stream.substr(0, cut));
        const Client client = h.Ask(clean ? script.End() : Cut(std::move(script)));
        INFO(dialect.name << " cut at " << cut << (clean ? " cleanly: " : " hard: ")
                          << client.body());
        REQUIRE(client.status() == 200);
        const std::size_t incomplete = Count(client.body(), "stream_incomplete");
        // An event whose last line end or blank line is missing counts at a clean end only.
        const std::size_t slack = clean ? 2 : 0;
        if (client.header("x-hotel-provider") == "u2") {
          REQUIRE(cut < dialect.output);
          REQUIRE(client.body() == dialect.stream);
          REQUIRE(client.sink->end.complete);
        } else if (incomplete == 0) {
          REQUIRE(cut + slack >= dialect.whole);
          REQUIRE(client.sink->end.complete);
          // Everything that came, and what was missing of the end in the form it has.
          const std::string end = dialect.stream.substr(dialect.terminal);
          REQUIRE(client.body().rfind(dialect.stream.substr(0, std::min(cut, dialect.terminal)),
                                      0) == 0);
          REQUIRE(Count(client.body(), end.substr(0, end.size() - 2)) == 1);
        } else {
          REQUIRE(cut + slack >= dialect.output);
          REQUIRE(cut < dialect.whole);
          REQUIRE(incomplete == 1);
          const bool chat = dialect.endpoint == Endpoint::kChatCompletions;
          REQUIRE(Count(client.body(), chat ? "{\"error\":{" : "event: error\n") == 1);
          REQUIRE(Count(client.body(), "[DONE]") == 0);
          REQUIRE(Count(client.body(), "message_stop") == 0);
          REQUIRE_FALSE(client.sink->end.complete);
          REQUIRE(client.body().substr(client.body().size() - 2) == "\n\n");
        }
      }
    }
  }
}

/// Three frames of each dialect, as short as they can be.
std::vector<Dialect> ThreeFrames() {
  std::vector<Dialect> dialects = Dialects();
  dialects[0].stream = Bytes({R"(data: {"choices":[{"delta":{"content":"a"}}]})",
                              R"(data: {"choices":[{"finish_reason":"stop"}]})", Done()});
  dialects[1].stream =
      Bytes({R"(data: {"type":"message_start","message":{}})",
             R"(data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}})",
             R"(data: {"type":"message_stop"})"});
  dialects[2].stream = Bytes({R"(data: {"type":"response.created"})",
                              R"(data: {"type":"response.output_text.delta","delta":"a"})",
                              R"(data: {"type":"response.completed","response":{}})"});
  return dialects;
}

/// The stream in pieces that end at `first`, at `second` and at its end.
void CheckPieces(Pair& h, std::size_t first, std::size_t second) {
  const std::string& stream = h.of.stream;
  Script script = Pair::Head();
  std::size_t from = 0;
  for (const std::size_t to : {first, second, stream.size()}) {
    if (to > from) script.Bytes(stream.substr(from, to - from)).After(milliseconds(1));
    from = to;
  }
  const Client client = h.Ask(script.End());
  if (client.body() == stream && client.sink->end.complete &&
      client.header("x-hotel-provider") == "u1") {
    return;
  }
  INFO(h.of.name << " cut at " << first << " and " << second);
  CHECK(client.sink->end.complete);
  REQUIRE(client.body() == stream);
  REQUIRE(client.header("x-hotel-provider") == "u1");
}

TEST_CASE("F055 F059 the bytes are the same however three frames are cut into chunks") {
  for (const Dialect& dialect : ThreeFrames()) {
    Pair h(dialect, NoCircuits());
    const std::size_t size = dialect.stream.size();
    for (std::size_t first = 0; first <= size; ++first) {
      for (std::size_t second = first; second <= size; ++second) CheckPieces(h, first, second);
    }
  }
  for (const Dialect& dialect : Dialects()) {
    Pair h(dialect, NoCircuits());
    const std::size_t size = dialect.stream.size();
    for (std::size_t first = 0; first <= size; ++first) {
      for (std::size_t second = first; second <= size; second += 97) CheckPieces(h, first, second);
    }
  }
}

}  // namespace
}  // namespace hotel::scenario
