// What answers cost: read where it is stated, guessed where not (F065, F067, F191; facts o).
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

std::string UsageFrame() {
  return R"(data: {"id":"c","object":"chat.completion.chunk","choices":[],"usage":{)"
         R"("prompt_tokens":21,"completion_tokens":9,"total_tokens":30,)"
         R"("prompt_tokens_details":{"cached_tokens":5},)"
         R"("completion_tokens_details":{"reasoning_tokens":4}}})";
}

TokenUsage Counts(std::int64_t prompt, std::int64_t completion, std::int64_t cached = 0,
                  std::int64_t reasoning = 0) {
  TokenUsage usage;
  usage.prompt = prompt;
  usage.completion = completion;
  usage.cached = cached;
  usage.reasoning = reasoning;
  return usage;
}

TEST_CASE("F065 usage is asked for on the gateway's own account and kept from who did not ask") {
  const std::string shown = Bytes({Role(), Text("Good"), Text("day"), Fin()});
  const std::string end = Bytes({Done()});
  const std::string usage = Bytes({UsageFrame()});
  const std::string whole = shown + usage + end;
  // In pieces of every size: alone, beside others, in halves.
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{90}, whole.size()}) {
    INFO("pieces of " << step);
    Harness h;
    Script script;
    script.Head(200, {{"content-type", "text/event-stream"}});
    for (std::size_t at = 0; at < whole.size(); at += step) script.Bytes(whole.substr(at, step));
    h.Demo({"u1"}).On("u1", script.End());
    const Client client = h.Ask("hotel/demo", true);
    CHECK(h.Seen("u1").body.find(R"("stream_options":{"include_usage":true})") !=
          std::string::npos);
    CHECK(client.body() == shown + end);
    CHECK(client.sink->end.complete);
    CHECK(h.record().usage == Counts(21, 9, 5, 4));
    CHECK(h.record().attempts[0].usage == Counts(21, 9, 5, 4));
    CHECK(h.Trail() == Lines{"0 u1 200 success -"});
  }
}

TEST_CASE("F065 who asks for usage gets it once, who declines it does not") {
  for (const bool wanted : {true, false}) {
    Harness h;
    const std::string shown = Bytes({Text("Good"), Fin()});
    const Script script = Open({Text("Good"), Fin(), UsageFrame(), Done()}).End();
    h.Demo({"u1"}).On("u1", script);
    Client client =
        h.Send(std::string(R"({"model":"hotel/demo","stream":true,)") +
               R"("stream_options":{"include_usage":)" + (wanted ? "true" : "false") + "}}");
    h.Wait(client);
    CHECK(client.body() == (wanted ? BytesOf(script) : shown + Bytes({Done()})));
    CHECK(h.Seen("u1").body.find(R"("include_usage":true)") != std::string::npos);
    CHECK(h.record().usage == Counts(21, 9, 5, 4));
  }
}

TEST_CASE("F065 usage in front of the first output, and as the last event without its blank line") {
  Harness h;
  h.Demo({"u1"}).On("u1",
                    Open({Role(), UsageFrame(), Text("Good"), Fin()}).Bytes(UsageFrame()).End());
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.body() == Bytes({Role(), Text("Good"), Fin(), Done()}));
  CHECK(h.record().usage == Counts(21, 9, 5, 4));
}

TEST_CASE("F065 whom nobody may ask for usage is sent the client's own body") {
  Harness h;
  testing::AddProvider(*h.store, "u1", "k", "cohere");
  testing::AddGroup(*h.store, "demo", {"u1/m"});
  const Script script = Open({Text("Good"), Fin(), UsageFrame(), Done()}).End();
  h.On("u1", script);
  const Client client = h.Ask("hotel/demo", true);
  CHECK(h.Seen("u1").body == R"({"model":"m","messages":[],"stream":true})");
  CHECK(client.body() == BytesOf(script));  // what it sends by itself is not ours to hide
  CHECK(h.record().usage == Counts(21, 9, 5, 4));
}

TEST_CASE("F067 usage beside choices is read and the chunk relayed untouched") {
  Harness h;
  const std::string chunk =
      R"(data: {"choices":[{"index":0,"delta":{}}],"usage":{"prompt_tokens":300,)"
      R"("completion_tokens":2,"prompt_tokens_details":{"cached_tokens":256}}})";
  const Script script = Open({Text("Good"), Fin(), chunk, Done()}).End();
  h.Demo({"u1"}).On("u1", script);
  CHECK(h.Ask("hotel/demo", true).body() == BytesOf(script));
  CHECK(h.record().usage == Counts(300, 2, 256));
}

TEST_CASE("F053 usage is read with any spacing behind the colon") {
  for (const char* form : {"data:", "data: ", "data:  "}) {
    Harness h;
    const std::string frame = form + UsageFrame().substr(6);
    h.Demo({"u1"}).On("u1", Open({Text("Good"), Fin(), frame, Done()}).End());
    h.Ask("hotel/demo", true);
    CHECK(h.record().usage == Counts(21, 9, 5, 4));
  }
}

TEST_CASE("usage of messages is spread over its events, of responses it stands in the last") {
  Harness messages;
  Twins(messages, "anthropic");
  messages.On("u1", Open(MessageFrames("Good day")).End());
  AskFor(messages, Endpoint::kMessages, StreamBody());
  REQUIRE(messages.record().usage.has_value());
  CHECK(messages.record().usage->completion == 7);
  CHECK(messages.record().usage->cached == 4);
  CHECK_FALSE(messages.record().usage->estimated);
  Harness responses;
  Twins(responses, "openai");
  responses.On("u1", Open({ResponseCreated(), ResponseText("x"), ResponseCompleted()}).End());
  AskFor(responses, Endpoint::kResponses, StreamBody());
  CHECK(responses.record().usage == Counts(11, 7, 0, 2));
}

TEST_CASE("usage of whole answers, of any endpoint") {
  Harness h;
  h.Demo({"u1"});
  h.On("u1", Script::Json(200, R"({"object":"list","data":[{"embedding":[0.1]}],)"
                               R"("usage":{"prompt_tokens":8,"total_tokens":8}})"));
  CHECK(AskFor(h, Endpoint::kEmbeddings, R"({"model":"hotel/demo","input":"x"})").status() == 200);
  CHECK(h.record().usage == Counts(8, 0));
}

TEST_CASE("F191 what states no usage is guessed: four bytes of text a token") {
  Harness h;
  h.Demo({"u1"});
  h.On("u1", Script::Json(200, R"({"id":"c","choices":[{"index":0,"message":{"role":"assistant",)"
                               R"("content":")" +
                                   std::string(400, 'a') + R"("},"finish_reason":"stop"}]})"));
  Client client = h.Send(R"({"model":"hotel/demo","messages":[{"role":"user","content":")" +
                         std::string(4000, 'b') + R"("}]})");
  h.Wait(client);
  REQUIRE(h.record().usage.has_value());
  CHECK(h.record().usage->estimated);
  CHECK(h.record().usage->prompt >= 1000);
  CHECK(h.record().usage->prompt < 1020);
  CHECK(h.record().usage->completion >= 100);
  CHECK(h.record().usage->completion < 120);
}

TEST_CASE("F191 a client that leaves before the usage chunk has cost its prompt and what it read") {
  Harness h;
  std::vector<std::string> frames = {Role()};
  for (int i = 0; i < 50; ++i) frames.push_back(Text("some words here"));
  h.Demo({"u1"}).On("u1", Open(frames).Hang());
  Client client = h.Send(R"({"model":"hotel/demo","stream":true,"messages":[{"role":"user",)"
                         R"("content":")" +
                         std::string(4000, 'b') + R"("}]})");
  h.loop.RunUntilIdle();
  REQUIRE(client.sink->has_head);
  client.call->Cancel();
  h.Wait(client);
  REQUIRE(h.record().usage.has_value());
  const TokenUsage usage = *h.record().usage;
  CHECK(usage.estimated);
  CHECK(usage.prompt >= 1000);
  CHECK(usage.completion >= 100);  // 750 bytes of text in all
  CHECK(usage.completion <= 300);
  CHECK(h.record().attempts[0].usage == usage);
  CHECK(h.record().status == 499);
}

TEST_CASE("F191 what a messages stream stated before it was left is not lost") {
  Harness h;
  Twins(h, "anthropic");
  std::vector<std::string> frames = {MessageStart(), BlockStart()};
  for (int i = 0; i < 40; ++i) frames.push_back(BlockText("some words here"));
  h.On("u1", Open(frames).Hang());
  Client client = h.Send(To(Endpoint::kMessages, StreamBody()));
  h.loop.RunUntilIdle();
  client.call->Cancel();
  h.Wait(client);
  REQUIRE(h.record().usage.has_value());
  CHECK(h.record().usage->estimated);
  CHECK(h.record().usage->prompt >= 11);  // stated at the start
  CHECK(h.record().usage->completion >= 40);
}

TEST_CASE("facts o losers of a race that had answered 2xx have read the prompt") {
  Harness h(FailoverFirst({{"hedging.enabled", "true"}, {"hedging.delay", "1s"}}));
  h.Demo({"u1", "u2", "u3"}).On("u1", Open({Role()}).Hang()).On("u2", Script().Hang());
  h.On("u3", Open({Text("fast"), Fin(), UsageFrame(), Done()}).End());
  Client client = h.Send(R"({"model":"hotel/demo","stream":true,"messages":[{"role":"user",)"
                         R"("content":")" +
                         std::string(400, 'b') + R"("}]})");
  h.Wait(client);
  const auto& attempts = h.record().attempts;
  REQUIRE(attempts.size() == 3);
  REQUIRE(attempts[0].usage.has_value());
  CHECK(attempts[0].usage->estimated);
  CHECK(attempts[0].usage->prompt >= 100);
  CHECK(attempts[0].usage->completion == 0);
  CHECK_FALSE(attempts[1].usage.has_value());  // it had not answered
  CHECK(attempts[2].usage == Counts(21, 9, 5, 4));
  CHECK(h.record().usage == Counts(21, 9, 5, 4));  // the guess is not in the row's columns
}

TEST_CASE(
    "facts o a failed first-output probe behind a 2xx has cost its prompt, an error has not") {
  Harness h(FailoverFirst({{"ttft_timeout", "1s"}}));
  h.Demo({"u1", "u2", "u3", "u4"}).On("u1", Open({Role()}).Hang());
  h.On("u2", Open({ErrorFrame("503")}).End()).On("u3", Script::Json(500, "{}"));
  h.On("u4", Open({Text("x"), Fin(), UsageFrame(), Done()}).End());
  h.Ask("hotel/demo", true);
  const auto& attempts = h.record().attempts;
  REQUIRE(attempts.size() == 4);
  CHECK(attempts[0].usage.has_value());
  CHECK_FALSE(attempts[1].usage.has_value());
  CHECK_FALSE(attempts[2].usage.has_value());
  CHECK(attempts[3].usage == Counts(21, 9, 5, 4));
}

TEST_CASE("nothing was served: no usage") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Json(400, R"({"error":{"message":"no"}})"));
  h.Ask();
  CHECK_FALSE(h.record().usage.has_value());
  CHECK_FALSE(h.record().attempts[0].usage.has_value());
}

}  // namespace
}  // namespace hotel::scenario
