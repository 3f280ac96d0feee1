#include <string>
#include <string_view>

#include "libhotel/wire/stream_frame.h"
#include "tests/support/catch.h"

namespace hotel::wire {
namespace {

using Kind = StreamFrame::Kind;

StreamFrame Read(std::string_view data, std::string_view event = "") {
  return ReadStreamFrame(Dialect::kMessages, event, data);
}
Kind KindOf(std::string_view data, std::string_view event = "") { return Read(data, event).kind; }
int ErrorOf(std::string_view data, std::string_view event = "") {
  const StreamFrame frame = Read(data, event);
  return frame.kind == Kind::kError ? frame.error_status : 0;
}

TEST_CASE("R35 a messages stream ends with message_stop and with nothing else") {
  CHECK(KindOf(R"({"type":"message_stop"})") == Kind::kTerminator);
  CHECK(KindOf(R"({"type":"message_stop"})", "message_stop") == Kind::kTerminator);
  CHECK(KindOf(R"({"type":"message_st\u006fp","x":1})") == Kind::kTerminator);
  CHECK(KindOf("{}", "message_stop") == Kind::kTerminator);
  CHECK(KindOf("", "message_stop") == Kind::kTerminator);
  CHECK(KindOf("[DONE]") == Kind::kNoOutput);
  const StreamFrame last = Read(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})");
  CHECK(last.kind == Kind::kNoOutput);
  CHECK_FALSE(last.finished);
}

TEST_CASE("Facts f: text, thinking, tool input, a tool's name and redacted data are output") {
  for (
      const std::string_view data :
      {R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}})",
       R"({"type":"content_block_start","content_block":{"type":"tool_use","id":"t","name":"f","input":{}}})",
       R"({"type":"content_block_start","content_block":{"type":"redacted_thinking","data":"x"}})",
       R"({"type":"content_block_start","content_block":{"type":"web_search_tool_result","content":[{"type":"web_search_result","url":"u"}]}})",
       R"({"type":"content_block_delta","delta":{"type":"text_delta","text":"\n"}})",
       R"({"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"x"}})",
       R"({"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{"}})",
       R"({"type":"content_block_delta","delta":"x"})"}) {
    INFO(data);
    CHECK(KindOf(data) == Kind::kOutput);
    CHECK(Read(data).error_status == 0);
  }
  CHECK(KindOf(R"({"delta":{"type":"text_delta","text":"x"}})", "content_block_delta") ==
        Kind::kOutput);
}

TEST_CASE("F045 message_start, pings and empty blocks are no output") {
  for (
      const std::string_view data :
      {R"({"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":3}}})",
       R"({"type":"ping"})", R"({"type":"content_block_stop","index":0})",
       R"({"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":1}})",
       R"({"type":"content_block_start","content_block":{"type":"text","text":""}})",
       R"({"type":"content_block_start","content_block":{"type":"thinking","thinking":"","signature":""}})",
       R"({"type":"content_block_delta","delta":{"type":"text_delta","text":""}})",
       R"({"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":""}})",
       R"({"type":"content_block_delta","delta":{"type":"signature_delta","signature":"x"}})", "{}",
       "", " \r\n"}) {
    INFO(data);
    CHECK(KindOf(data) == Kind::kNoOutput);
  }
  CHECK(KindOf("{}", "ping") == Kind::kNoOutput);
  CHECK(KindOf("", "ping") == Kind::kNoOutput);
}

TEST_CASE("Facts f: what is not known of a messages stream counts as output") {
  for (const std::string_view data :
       {R"({"type":"something_new"})", R"({"choices":[]})", "[]", "1", "null", R"({"type":5})"}) {
    INFO(data);
    CHECK(KindOf(data) == Kind::kOutput);
  }
  CHECK(KindOf("{}", "something_new") == Kind::kOutput);
  CHECK(KindOf(std::string(600, '[') + std::string(600, ']')) == Kind::kOutput);
  for (const std::string_view data : {"hello", "{", R"({"type":"ping"}})"}) {
    INFO(data);
    CHECK(KindOf(data) == Kind::kMalformed);
  }
}

TEST_CASE("F047 an error event stands for the status of its type") {
  const auto with_type = [](std::string_view type) {
    return ErrorOf(
        R"({"type":"error","error":{"type":")" + std::string(type) + R"(","message":"x"}})",
        "error");
  };
  CHECK(with_type("overloaded_error") == 529);
  CHECK(with_type("rate_limit_error") == 429);
  CHECK(with_type("authentication_error") == 401);
  CHECK(with_type("billing_error") == 402);
  CHECK(with_type("permission_error") == 403);
  CHECK(with_type("not_found_error") == 404);
  CHECK(with_type("request_too_large") == 413);
  CHECK(with_type("timeout_error") == 504);
  CHECK(with_type("api_error") == 502);
  CHECK(with_type("invalid_request_error") == 502);
}

TEST_CASE("F047 an error is one with or without the event's name") {
  CHECK(ErrorOf(R"({"type":"error","error":{"type":"overloaded_error"}})") == 529);
  CHECK(ErrorOf(R"({"error":{"type":"overloaded_error","code":503}})") == 503);
  CHECK(ErrorOf(R"({"type":"error"})") == 502);
  CHECK(ErrorOf(R"({"type":"error","code":"429"})") == 429);
  CHECK(ErrorOf("busy", "error") == 502);
  CHECK(ErrorOf("", "error") == 502);
  CHECK(ErrorOf(R"({"type":"ping"})", "error") == 502);
  CHECK(ErrorOf(R"({"type":"ping","error":null})") == 0);
  CHECK(ErrorOf(R"({"type":"content_block_delta","error":"busy"})") == 502);
}

TEST_CASE("F067 message_start and message_delta share the usage of a messages stream") {
  std::optional<TokenUsage> usage;
  const auto feed = [&](std::string_view data) {
    if (const std::optional<TokenUsage> more = Read(data).usage) MergeUsage(*more, &usage);
  };
  feed(
      R"({"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":1000,"output_tokens":1}}})");
  CHECK(usage == TokenUsage{1110, 1, 100, 0, false});
  feed(R"({"type":"ping"})");
  feed(R"({"type":"message_delta","delta":{},"usage":{"output_tokens":25}})");
  CHECK(usage == TokenUsage{1110, 25, 100, 0, false});
  feed(R"({"type":"message_delta","delta":{},"usage":{"input_tokens":10,"output_tokens":24}})");
  CHECK(usage == TokenUsage{1110, 25, 100, 0, false});
}

TEST_CASE("F081 data lines joined by a newline read as one") {
  CHECK(KindOf("{\"type\":\"content_block_delta\",\n\"delta\":{\"text\":\n\"x\"}}") ==
        Kind::kOutput);
}

}  // namespace
}  // namespace hotel::wire
