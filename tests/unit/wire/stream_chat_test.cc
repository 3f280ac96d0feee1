#include <string>
#include <string_view>

#include "libhotel/wire/stream_frame.h"
#include "tests/support/catch.h"

namespace hotel::wire {
namespace {

using Kind = StreamFrame::Kind;

StreamFrame Read(std::string_view data, std::string_view event = "") {
  return ReadStreamFrame(Dialect::kChat, event, data);
}

Kind KindOf(std::string_view data, std::string_view event = "") { return Read(data, event).kind; }
// The status of an error frame; 0 when it is none.
int ErrorOf(std::string_view data, std::string_view event = "") {
  const StreamFrame frame = Read(data, event);
  return frame.kind == Kind::kError ? frame.error_status : 0;
}
std::string Delta(std::string_view delta) {
  return R"({"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":)" +
         std::string(delta) + "}]}";
}
std::string Choice(std::string_view choice) {
  return R"({"choices":[)" + std::string(choice) + "]}";
}

TEST_CASE("Frame: terminators") {
  CHECK(KindOf("[DONE]") == Kind::kTerminator);
  CHECK(KindOf(" [DONE]\r") == Kind::kTerminator);
  CHECK(KindOf("\xEF\xBB\xBF[DONE]") == Kind::kTerminator);
  CHECK(KindOf(R"({"type":"message_stop"})") == Kind::kTerminator);
  CHECK(KindOf("{}", "message_stop") == Kind::kTerminator);
  CHECK(KindOf("", "message_stop") == Kind::kTerminator);
  CHECK(KindOf("[DONE]]") == Kind::kMalformed);
}

TEST_CASE("Frame: every output member of a delta is output") {
  for (const std::string_view delta :
       {R"({"content":"x"})", R"({"content":"\n"})", R"({"reasoning_content":"x"})",
        R"({"reasoning":"x"})", R"({"reasoning_details":[{"type":"reasoning.text","text":"x"}]})",
        R"({"tool_calls":[{"index":0,"id":"i","type":"function","function":{"name":"f"}}]})",
        R"({"tool_calls":[{"index":0,"function":{"arguments":"{"}}]})",
        R"({"function_call":{"name":"f"}})", R"({"images":[{"image_url":{"url":"data:"}}]})",
        R"({"audio":{"id":"a","data":"AA=="}})", R"({"refusal":"no"})",
        R"({"role":"assistant","content":[{"type":"text","text":"x"}]})",
        R"({"cont\u0065nt":"x"})"}) {
    INFO(delta);
    CHECK(KindOf(Delta(delta)) == Kind::kOutput);
  }
  CHECK(KindOf(Choice(R"({"index":0,"text":"x"})")) == Kind::kOutput);
  CHECK(KindOf(Choice(R"({"delta":{}},{"delta":{"content":"x"}})")) == Kind::kOutput);
}

TEST_CASE("F045 openers, usage, finish and empty deltas are no output") {
  for (
      const std::string_view delta :
      {"{}", "null", R"({"role":"assistant"})", R"({"role":"assistant","content":""})",
       R"({"content":null,"refusal":null})", R"({"tool_calls":[]})",
       R"({"tool_calls":[{"index":0,"id":"i","type":"function"}]})",
       R"({"tool_calls":[{"index":0,"id":"i","type":"function","function":{"name":"","arguments":""}}]})",
       R"({"content":[{"type":"text","text":""}]})", R"({"audio":{"id":"a","expires_at":12}})",
       R"({"reasoning_details":[{"index":1,"id":"x","type":"t","n":3,"b":true}]})"}) {
    INFO(delta);
    CHECK(KindOf(Delta(delta)) == Kind::kNoOutput);
  }
  for (
      const std::string_view data :
      {R"({"choices":[]})", R"({"choices":null,"usage":{"prompt_tokens":1}})", "{}", "", "  \r\n",
       R"({"id":"x","object":"o","created":1,"model":"m","system_fingerprint":"f","service_tier":"s","usage":{}})",
       R"({"choices":[],"prompt_filter_results":[{"prompt_index":0}]})",
       R"({"choices":[{"index":0,"finish_reason":"stop","native_finish_reason":"s","logprobs":null}]})",
       R"({"choices":[{"index":0,"text":"","finish_reason":null}]})",
       R"({"choices":[{"index":0,"delta":{},"content_filter_results":{"hate":{"severity":"safe"}}}]})"}) {
    INFO(data);
    CHECK(KindOf(data) == Kind::kNoOutput);
  }
}

TEST_CASE("Frame: unknown forms count as output") {
  for (const std::string_view data :
       {R"({"type":"response.output_text.delta","delta":"x"})", R"({"foo":1})", "[]", "\"x\"", "1",
        "null", R"({"choices":{}})", R"({"choices":"x"})", R"({"choices":[1]})",
        R"({"choices":[{"delta":"x"}]})", R"({"choices":[{"delta":[]}]})",
        R"({"choices":[{"message":{"content":""}}]})", R"({"choices":[{"index":0,"foo":1}]})",
        R"({"type":"something_new"})", R"({"type":5})"}) {
    INFO(data);
    CHECK(KindOf(data) == Kind::kOutput);
  }
  const std::string deep = std::string(600, '[') + std::string(600, ']');
  CHECK(KindOf(deep) == Kind::kOutput);
  CHECK(KindOf(Delta(R"({"content":)" + deep + "}")) == Kind::kOutput);
}

TEST_CASE("Frame: what is not JSON is malformed") {
  for (const std::string_view data : {"hello", "{", R"({"choices":[})", "{}{}", "{} x", "\x01"}) {
    INFO(data);
    CHECK(KindOf(data) == Kind::kMalformed);
  }
}

TEST_CASE("F159 numbers of any size, lone surrogates and odd bytes are no fault of a frame") {
  CHECK(KindOf(Delta(R"({"content":"\ud800"})")) == Kind::kOutput);
  CHECK(KindOf(R"({"created":123456789012345678901234567890,"choices":[]})") == Kind::kNoOutput);
  CHECK(KindOf(Delta("{\"content\":\"\xff\"}")) == Kind::kOutput);
}

TEST_CASE("Frame: events of the messages dialect") {
  CHECK(KindOf(R"({"type":"content_block_start","content_block":{"type":"text","text":""}})") ==
        Kind::kNoOutput);
  CHECK(KindOf(R"({"type":"content_block_start","content_block":{"type":"text","text":"x"}})") ==
        Kind::kOutput);
  CHECK(
      KindOf(
          R"({"type":"content_block_start","content_block":{"type":"tool_use","id":"t","name":"f","input":{}}})") ==
      Kind::kOutput);
  CHECK(
      KindOf(
          R"({"type":"content_block_start","content_block":{"type":"redacted_thinking","data":"x"}})") ==
      Kind::kOutput);
  CHECK(KindOf(R"({"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}})") ==
        Kind::kOutput);
  CHECK(KindOf(
            R"({"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"x"}})") ==
        Kind::kOutput);
  CHECK(
      KindOf(
          R"({"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{"}})") ==
      Kind::kOutput);
  CHECK(KindOf(R"({"type":"content_block_delta","delta":{"type":"text_delta","text":""}})") ==
        Kind::kNoOutput);
  for (const std::string_view silent :
       {R"({"type":"message_start","message":{"id":"m","content":[]}})", R"({"type":"ping"})",
        R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})",
        R"({"type":"content_block_stop","index":0})"}) {
    INFO(silent);
    CHECK(KindOf(silent) == Kind::kNoOutput);
  }
  CHECK(KindOf("{}", "ping") == Kind::kNoOutput);
  CHECK(KindOf(R"({"time":1})", "ping") == Kind::kNoOutput);
}

TEST_CASE("Decisions 10: an error member that carries something makes an error") {
  for (const std::string_view error : {R"("overloaded")", R"({"message":"x"})", R"({"x":null})",
                                       "[1]", "[null]", "true", "1", "-0.5"}) {
    INFO(error);
    CHECK(ErrorOf(R"({"error":)" + std::string(error) + "}") == 502);
    CHECK(ErrorOf(R"({"choices":[{"delta":{"content":"x"}}],"error":)" + std::string(error) +
                  "}") == 502);
    CHECK(ErrorOf(R"({"id":"i","err\u006fr":)" + std::string(error) + "}") == 502);
  }
  for (const std::string_view nothing :
       {"null", "{}", R"("")", "[]", "false", "0", "0.0", "-0", " { } "}) {
    INFO(nothing);
    CHECK(ErrorOf(R"({"error":)" + std::string(nothing) + "}") == 0);
    CHECK(KindOf(R"({"choices":[{"delta":{"content":"x"}}],"error":)" + std::string(nothing) +
                 "}") == Kind::kOutput);
    CHECK(KindOf(R"({"choices":[],"error":)" + std::string(nothing) + "}") == Kind::kNoOutput);
  }
}

TEST_CASE("R25 a code of 400-599 is kept, as a number or a numeric string") {
  const auto with_code = [](std::string_view code) {
    return ErrorOf(R"({"error":{"code":)" + std::string(code) + "}}");
  };
  CHECK(with_code("503") == 503);
  CHECK(with_code(R"("429")") == 429);
  CHECK(with_code("400") == 400);
  CHECK(with_code("599") == 599);
  CHECK(with_code("503.0") == 503);
  for (const std::string_view other :
       {"399", "600", "0", "-503", "503.5", R"("")", R"("insufficient_quota")", R"("503 x")",
        "null", "[503]", R"({"a":503})", "1e999", "123456789012345678901234567890", "true"}) {
    INFO(other);
    CHECK(with_code(other) == 502);
  }
}

TEST_CASE("F047 an error type with one meaning stands for its status, behind the code") {
  CHECK(ErrorOf(R"({"type":"error","error":{"type":"overloaded_error","message":"x"}})", "error") ==
        529);
  CHECK(ErrorOf(R"({"error":{"type":"overloaded_error"}})") == 529);
  CHECK(ErrorOf(R"({"error":{"type":"rate_limit_error"}})") == 429);
  CHECK(ErrorOf(R"({"error":{"type":"authentication_error"}})") == 401);
  CHECK(ErrorOf(R"({"error":{"type":"overloaded_error","code":"503"}})") == 503);
  CHECK(ErrorOf(R"({"error":{"type":"overloaded_error","code":"busy"}})") == 529);
  CHECK(ErrorOf(R"({"error":{"type":"server_error"}})") == 502);
  CHECK(ErrorOf(R"({"error":{"type":"invalid_request_error"}})") == 502);
}

TEST_CASE("F039 `event: error` makes any frame an error") {
  CHECK(ErrorOf("", "error") == 502);
  CHECK(ErrorOf("boom", "error") == 502);
  CHECK(ErrorOf("[DONE]", "error") == 502);
  CHECK(ErrorOf(R"({"message":"x"})", "error") == 502);
  CHECK(ErrorOf(R"({"type":"error","code":"429"})", "error") == 429);
  CHECK(ErrorOf(R"({"type":"overloaded_error"})", "error") == 529);
  CHECK(ErrorOf(R"({"error":{"code":401},"code":500})", "error") == 401);
  CHECK(ErrorOf(Delta(R"({"content":"x"})"), "error") == 502);
  CHECK(KindOf(Delta(R"({"content":"x"})"), "errors") == Kind::kOutput);
}

TEST_CASE("Decisions 5: finish_reason is seen whatever else the frame is") {
  const auto finish = [](std::string_view data) { return Read(data).finished; };
  CHECK(finish(R"({"choices":[{"delta":{},"finish_reason":"stop"}]})"));
  CHECK(finish(R"({"choices":[{"delta":{"content":"x"},"finish_reason":"length"}]})"));
  CHECK(finish(R"({"choices":[{"delta":{},"finish_reason":null},{"finish_reason":"stop"}]})"));
  CHECK(finish(R"({"error":{"code":500},"choices":[{"finish_reason":"error"}]})"));
  CHECK_FALSE(finish(R"({"choices":[{"delta":{},"finish_reason":null}]})"));
  CHECK_FALSE(finish(R"({"choices":[{"delta":{},"finish_reason":""}]})"));
  CHECK_FALSE(finish(R"({"choices":[{"delta":{}}],"finish_reason":"stop"})"));
}

TEST_CASE("F069 tool calls of any numbering are output by their name") {
  CHECK(KindOf(
            Delta(R"({"tool_calls":[{"id":"a","function":{"name":"f"}},{"id":"b","index":0}]})")) ==
        Kind::kOutput);
  CHECK(KindOf(Delta(
            R"({"tool_calls":[{"index":0,"id":"a"},{"index":0,"function":{"name":"g"}}]})")) ==
        Kind::kOutput);
}

TEST_CASE("F067 usage is read from any shape of chunk") {
  const TokenUsage expected{300, 20, 256, 5, false};
  const std::string usage = R"({"prompt_tokens":300,"completion_tokens":20,"total_tokens":320,)"
                            R"("prompt_tokens_details":{"cached_tokens":256,"audio_tokens":0},)"
                            R"("completion_tokens_details":{"reasoning_tokens":5}})";
  for (const std::string& data :
       {R"({"choices":[{"index":0,"delta":{}}],"usage":)" + usage + "}",
        R"({"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}],"usage":)" +
            usage + "}",
        R"({"choices":[],"usage":)" + usage + "}", R"({"id":"c","usage":)" + usage + "}",
        R"({"choices":null,"us\u0061ge":)" + usage + "}",
        R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":)" + usage + "}]}",
        R"({"error":{"code":500},"choices":[],"usage":)" + usage + "}"}) {
    INFO(data);
    CHECK(Read(data).usage == expected);
  }
  CHECK(Read(R"({"choices":[{"delta":{}}],"usage":null})").usage == std::nullopt);
  CHECK(Read(R"({"choices":[],"usage":{}})").usage == std::nullopt);
  CHECK(Read(R"({"choices":[],"usage":{"prompt_tokens":1})").usage == std::nullopt);
  CHECK(Read("[DONE]").usage == std::nullopt);
}

TEST_CASE("F067 what an event of the messages dialect says on a chat stream is read too") {
  CHECK(Read(R"({"type":"message_start","message":{"usage":{"input_tokens":7}}})").usage ==
        TokenUsage{7, 0, 0, 0, false});
  CHECK(Read(R"({"type":"message_delta","delta":{},"usage":{"output_tokens":9}})").usage ==
        TokenUsage{0, 9, 0, 0, false});
}

TEST_CASE("F065 a frame that tells only usage is known as such") {
  for (const std::string_view data :
       {R"({"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}})",
        R"({"id":"c","object":"o","created":1,"model":"m","choices":[],"usage":{}})",
        R"({"choices":[],"usage":{"prompt_tokens":1},"obfuscation":"ab","x_groq":{"id":"r"}})",
        R"({"id":"c","usage":{"prompt_tokens":1}})",
        R"({"choices":null,"usage":{"prompt_tokens":1}})"}) {
    INFO(data);
    CHECK(Read(data).usage_only);
    CHECK(Read(data).kind == Kind::kNoOutput);
  }
  for (const std::string_view data :
       {R"({"choices":[],"usage":null})", R"({"choices":[]})",
        R"({"choices":[{"index":0,"delta":{}}],"usage":{"prompt_tokens":1}})",
        R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{}})",
        R"({"error":{"code":500},"choices":[],"usage":{"prompt_tokens":1}})",
        R"({"choices":{},"usage":{"prompt_tokens":1}})", R"({"usage":{},"something":1})",
        R"({"type":"message_delta","usage":{"output_tokens":1}})", "[DONE]"}) {
    INFO(data);
    CHECK_FALSE(Read(data).usage_only);
  }
}

TEST_CASE("Decisions 5: a chat stream that lacks only its end is given one, others are not") {
  CHECK(MissingTerminator(Dialect::kChat) == "data: [DONE]\n\n");
  CHECK(MissingTerminator(Dialect::kMessages).empty());
  CHECK(MissingTerminator(Dialect::kResponses).empty());
  CHECK(MissingTerminator(Dialect::kPlain).empty());
}

}  // namespace
}  // namespace hotel::wire
