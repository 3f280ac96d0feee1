// The splitter and the frame readers together: streams as providers write them.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libhotel/wire/sse.h"
#include "libhotel/wire/stream_frame.h"
#include "tests/support/catch.h"

namespace hotel::wire {
namespace {

using Kind = StreamFrame::Kind;

struct Story {
  std::vector<Kind> kinds;
  std::optional<TokenUsage> usage;
};

Story Tell(Dialect dialect, std::string_view stream) {
  Story story;
  const auto take = [&](const SseEvent& event) {
    if (!event.has_data) return true;
    const StreamFrame frame = ReadStreamFrame(dialect, event.name, event.data);
    story.kinds.push_back(frame.kind);
    if (frame.usage) MergeUsage(*frame.usage, &story.usage);
    return frame.kind != Kind::kTerminator && frame.kind != Kind::kError;
  };
  SseSplitter splitter;
  if (splitter.Feed(stream, take) == SseSplitter::Status::kOk) splitter.Finish(take);
  return story;
}

TEST_CASE("F051 blocks without data say nothing in any dialect") {
  for (const Dialect dialect :
       {Dialect::kChat, Dialect::kMessages, Dialect::kResponses, Dialect::kPlain}) {
    CHECK(Tell(dialect, "retry: 3000\n\nid: 7\n\nevent: ping\n\ndata:\n\n: x\n\n").kinds.empty());
  }
}

TEST_CASE("F053 usage is seen in every form of the data line, but for none that is no field") {
  const std::string usage = R"({"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}})";
  for (const char* field : {"data:", "data: ", "data:  ", "event: x\r\ndata: "}) {
    INFO(field);
    CHECK(Tell(Dialect::kChat, field + usage + "\r\n\r\n").usage == TokenUsage{5, 2, 0, 0, false});
  }
  CHECK(Tell(Dialect::kChat, "data :" + usage + "\n\n").kinds.empty());
}

TEST_CASE("F059 a last usage event without its blank line counts") {
  CHECK(Tell(Dialect::kChat, R"(data: {"usage":{"prompt_tokens":5}})").usage ==
        TokenUsage{5, 0, 0, 0, false});
}

TEST_CASE("F081 an event over several data lines is what it is over one") {
  const auto first = [](Dialect dialect, std::string_view stream) {
    const Story story = Tell(dialect, stream);
    REQUIRE(story.kinds.size() == 1);
    return story.kinds[0];
  };
  CHECK(first(Dialect::kChat,
              "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\ndata: \"x\"}}]}\nid: 4\n\n") ==
        Kind::kOutput);
  CHECK(first(Dialect::kMessages,
              "data: {\"type\":\"error\",\ndata:\"error\":{\"type\":\"x\"}}\nevent: error\n\n") ==
        Kind::kError);
  CHECK(first(Dialect::kResponses, "data: {\"type\":\ndata: \"response.completed\"}\n\n") ==
        Kind::kTerminator);
  CHECK(Tell(Dialect::kChat, "data: {\"usage\":\ndata: {\"prompt_tokens\":\ndata: 5}}\n\n").usage ==
        TokenUsage{5, 0, 0, 0, false});
}

TEST_CASE("F061 a messages stream from opener to end") {
  const Story story = Tell(
      Dialect::kMessages,
      "event: message_start\n"
      R"(data: {"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":25,"output_tokens":1}}})"
      "\n\nevent: content_block_start\n"
      R"(data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})"
      "\n\nevent: ping\n"
      R"(data: {"type":"ping"})"
      "\n\nevent: content_block_delta\n"
      R"(data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}})"
      "\n\nevent: content_block_stop\n"
      R"(data: {"type":"content_block_stop","index":0})"
      "\n\nevent: message_delta\n"
      R"(data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}})"
      "\n\nevent: message_stop\n"
      R"(data: {"type":"message_stop"})"
      "\n\n");
  CHECK(story.kinds == std::vector<Kind>{Kind::kNoOutput, Kind::kNoOutput, Kind::kNoOutput,
                                         Kind::kOutput, Kind::kNoOutput, Kind::kNoOutput,
                                         Kind::kTerminator});
  CHECK(story.usage == TokenUsage{25, 15, 0, 0, false});
}

TEST_CASE("F061 a Responses stream from opener to end") {
  const Story story = Tell(
      Dialect::kResponses,
      "event: response.created\n"
      R"(data: {"type":"response.created","response":{"id":"r","status":"in_progress","output":[],"usage":null}})"
      "\n\nevent: response.output_item.added\n"
      R"(data: {"type":"response.output_item.added","item":{"type":"message","status":"in_progress","role":"assistant","content":[]}})"
      "\n\nevent: response.content_part.added\n"
      R"(data: {"type":"response.content_part.added","part":{"type":"output_text","text":"","annotations":[]}})"
      "\n\nevent: response.output_text.delta\n"
      R"(data: {"type":"response.output_text.delta","delta":"Hi"})"
      "\n\nevent: response.completed\n"
      R"(data: {"type":"response.completed","response":{"status":"completed","error":null,"usage":{"input_tokens":9,"output_tokens":3}}})"
      "\n\n");
  CHECK(story.kinds == std::vector<Kind>{Kind::kNoOutput, Kind::kNoOutput, Kind::kNoOutput,
                                         Kind::kOutput, Kind::kTerminator});
  CHECK(story.usage == TokenUsage{9, 3, 0, 0, false});
}

TEST_CASE("F069 tool calls of any numbering, interleaved or without an index, are output") {
  for (
      const std::string_view calls :
      {R"([{"index":0,"id":"a","function":{"name":"f","arguments":""}},{"index":0,"id":"b","function":{"name":"g"}}])",
       R"([{"id":"a","function":{"name":"f"}}])",
       R"([{"index":0,"id":"b","function":{"arguments":"{\"x\""}}])"}) {
    const std::string stream =
        R"(data: {"choices":[{"index":0,"delta":{"tool_calls":)" + std::string(calls) + "}}]}\n\n";
    INFO(stream);
    CHECK(Tell(Dialect::kChat, stream).kinds == std::vector<Kind>{Kind::kOutput});
  }
}

}  // namespace
}  // namespace hotel::wire
