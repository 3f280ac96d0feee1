#include <string>
#include <string_view>

#include "libhotel/wire/stream_frame.h"
#include "tests/support/catch.h"

namespace hotel::wire {
namespace {

using Kind = StreamFrame::Kind;

StreamFrame Read(std::string_view data, std::string_view event = "") {
  return ReadStreamFrame(Dialect::kResponses, event, data);
}
Kind KindOf(std::string_view data, std::string_view event = "") { return Read(data, event).kind; }
int ErrorOf(std::string_view data, std::string_view event = "") {
  const StreamFrame frame = Read(data, event);
  return frame.kind == Kind::kError ? frame.error_status : 0;
}

TEST_CASE("R35 what ends a Responses stream") {
  for (const char* type : {"response.completed", "response.incomplete", "response.done"}) {
    INFO(type);
    CHECK(KindOf(std::string(R"({"type":")") + type + R"(","response":{"error":null}})") ==
          Kind::kTerminator);
    CHECK(KindOf(R"({"response":{}})", type) == Kind::kTerminator);
    CHECK(KindOf("", type) == Kind::kTerminator);
  }
  CHECK(KindOf("[DONE]") == Kind::kTerminator);
  CHECK(KindOf(R"({"type":"response.c\u006fmpleted"})") == Kind::kTerminator);
  CHECK(KindOf(R"({"type":"message_stop"})") == Kind::kOutput);
}

TEST_CASE("R25 a failed response is an error with the status that it states") {
  CHECK(ErrorOf(R"({"type":"response.failed","response":{"error":{"code":"server_error"}}})") ==
        502);
  CHECK(ErrorOf(R"({"type":"response.failed","response":{"error":{"code":"429"}}})") == 429);
  CHECK(ErrorOf(R"({"type":"response.failed","response":{"error":{"code":503}}})") == 503);
  CHECK(ErrorOf(R"({"type":"response.failed","response":{"error":null}})") == 502);
  CHECK(ErrorOf(R"({"type":"response.failed"})") == 502);
  CHECK(ErrorOf("", "response.failed") == 502);
  CHECK(ErrorOf(R"({"type":"response.done","response":{"error":{"code":500}}})") == 500);
}

TEST_CASE("R35 the error event of a Responses stream") {
  CHECK(ErrorOf(R"({"type":"error","code":"429","message":"x","param":null})", "error") == 429);
  CHECK(ErrorOf(R"({"type":"error","code":"rate_limit_exceeded","message":"x"})") == 502);
  CHECK(ErrorOf(R"({"type":"error","error":{"type":"rate_limit_error"}})") == 429);
  CHECK(ErrorOf(R"({"error":{"code":503}})") == 503);
  CHECK(ErrorOf(R"({"type":"response.output_text.delta","delta":"x","error":"no"})") == 502);
  CHECK(ErrorOf("x", "error") == 502);
  CHECK(ErrorOf(R"({"type":"response.created","error":null})") == 0);
}

TEST_CASE("Facts f: deltas, named calls, filled items and unknown Responses events are output") {
  for (
      const std::string_view data :
      {R"({"type":"response.output_text.delta","item_id":"i","delta":"x"})",
       R"({"type":"response.reasoning_summary_text.delta","delta":"x"})",
       R"({"type":"response.function_call_arguments.delta","delta":"{"})",
       R"({"type":"response.refusal.delta","delta":"no"})",
       R"({"type":"response.audio.delta","delta":"AA=="})",
       R"({"type":"response.output_item.added","item":{"type":"function_call","name":"f","arguments":""}})",
       R"({"type":"response.output_item.added","item":{"type":"web_search_call","status":"in_progress"}})",
       R"({"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"x"}]}})",
       R"({"type":"response.output_item.done","item":{"type":"reasoning","summary":[{"type":"summary_text","text":"x"}]}})",
       R"({"type":"response.content_part.done","part":{"type":"output_text","text":"x"}})",
       R"({"type":"response.output_text.done","text":"x"})",
       R"({"type":"response.web_search_call.searching"})", R"({"type":"response.something.new"})",
       R"({"foo":1})", R"({"type":7})", "[]", "1", "null"}) {
    INFO(data);
    CHECK(KindOf(data) == Kind::kOutput);
  }
  CHECK(KindOf(R"({"delta":"x"})", "response.output_text.delta") == Kind::kOutput);
  CHECK(KindOf(std::string(600, '[') + std::string(600, ']')) == Kind::kOutput);
}

TEST_CASE("F045 what a Responses stream says before there is output") {
  for (
      const std::string_view data :
      {R"({"type":"response.created","response":{"id":"r","status":"in_progress","output":[],"error":null}})",
       R"({"type":"response.in_progress","response":{"id":"r"}})",
       R"({"type":"response.queued","response":{}})", R"({"type":"keepalive","sequence_number":3})",
       R"({"type":"ping"})",
       R"({"type":"response.output_item.added","item":{"id":"m","type":"message","status":"in_progress","role":"assistant","content":[]}})",
       R"({"type":"response.output_item.added","item":{"id":"r","type":"reasoning","summary":[],"encrypted_content":"gAAA"}})",
       R"({"type":"response.output_item.added","item":{"type":"function_call","call_id":"c","name":"","arguments":""}})",
       R"({"type":"response.content_part.added","part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}})",
       R"({"type":"response.reasoning_summary_part.added","part":{"type":"summary_text","text":""}})",
       R"({"type":"response.output_text.delta","item_id":"i","delta":""})",
       R"({"type":"response.output_text.done","text":""})", "{}", "", " \r\n"}) {
    INFO(data);
    CHECK(KindOf(data) == Kind::kNoOutput);
  }
  CHECK(KindOf("", "response.created") == Kind::kNoOutput);
  CHECK(KindOf("{", "response.created") == Kind::kMalformed);
}

TEST_CASE("F067 usage stands in the response that ends the stream, however it ends") {
  const std::string response =
      R"("response":{"output":[],"usage":{"input_tokens":300,"input_tokens_details":{"cached_tokens":256},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":320}}})";
  const TokenUsage expected{300, 20, 256, 5, false};
  for (const char* type :
       {"response.completed", "response.incomplete", "response.failed", "response.done"}) {
    INFO(type);
    CHECK(Read(std::string(R"({"type":")") + type + "\"," + response).usage == expected);
  }
  CHECK(Read(R"({"type":"response.created","response":{"usage":null}})").usage == std::nullopt);
  CHECK(Read(R"({"type":"response.completed","usage":{"input_tokens":1}})").usage ==
        TokenUsage{1, 0, 0, 0, false});
}

TEST_CASE("Responses: the last event may hold the only output") {
  CHECK(
      Read(
          R"({"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"x"}]}]}})")
          .output_inside);
  CHECK_FALSE(Read(R"({"type":"response.completed","response":{"output":[]}})").output_inside);
  CHECK_FALSE(
      Read(
          R"({"type":"response.completed","response":{"output":[{"type":"message","content":[]}]}})")
          .output_inside);
  CHECK_FALSE(Read("[DONE]").output_inside);
}

TEST_CASE("R43 a last event of hundreds of KiB is read whole") {
  const std::string text(std::size_t{700} * 1024, 'x');
  const StreamFrame frame = Read(
      R"({"response":{"output":[{"type":"message","content":[{"type":"output_text","text":")" +
      text + R"("}]}],"usage":{"input_tokens":1,"output_tokens":2}},"type":"response.completed"})");
  CHECK(frame.kind == Kind::kTerminator);
  CHECK(frame.output_inside);
  CHECK(frame.usage == TokenUsage{1, 2, 0, 0, false});
}

}  // namespace
}  // namespace hotel::wire
