#include <string>
#include <string_view>

#include "libhotel/wire/answer.h"
#include "tests/support/catch.h"

namespace hotel::wire {
namespace {

using Kind = Answer::Kind;

Kind Messages(std::string_view body) { return ReadAnswer(Endpoint::kMessages, body).kind; }
Kind Responses(std::string_view body) { return ReadAnswer(Endpoint::kResponses, body).kind; }
int ErrorOf(Endpoint endpoint, std::string_view body) {
  const Answer answer = ReadAnswer(endpoint, body);
  return answer.kind == Kind::kHiddenError ? answer.error_status : 0;
}

TEST_CASE("Facts a, messages: text, thinking, tools and redacted blocks are good") {
  for (const std::string_view block :
       {R"({"type":"text","text":"x"})", R"({"type":"thinking","thinking":"x","signature":"s"})",
        R"({"type":"tool_use","id":"t","name":"f","input":{}})",
        R"({"type":"redacted_thinking","data":"x"})",
        R"({"type":"text","text":""},{"type":"text","text":"x"})"}) {
    const std::string body = R"({"id":"m","type":"message","content":[)" + std::string(block) +
                             R"(],"stop_reason":"end_turn"})";
    INFO(body);
    CHECK(Messages(body) == Kind::kGood);
  }
}

TEST_CASE("Facts a, messages: an empty answer is judged by its stop_reason and usage") {
  const auto with = [](std::string_view stop_reason, std::string_view usage) {
    return Messages(R"({"content":[{"type":"text","text":""}],"stop_reason":)" +
                    std::string(stop_reason) + R"(,"usage":)" + std::string(usage) + "}");
  };
  CHECK(with("null", "null") == Kind::kEmpty);
  CHECK(with(R"("")", R"({"output_tokens":5})") == Kind::kEmpty);
  CHECK(with(R"("end_turn")", "null") == Kind::kEmptyCharged);
  CHECK(with(R"("end_turn")", R"({"input_tokens":9,"output_tokens":0})") == Kind::kEmptyCharged);
  CHECK(with(R"("end_turn")", R"({"output_tokens":2})") == Kind::kEmptyServed);
  CHECK(with(R"("max_tokens")", "null") == Kind::kEmptyServed);
  CHECK(with(R"("refusal")", "null") == Kind::kEmptyServed);
  CHECK(with(R"("model_context_window_exceeded")", "null") == Kind::kEmptyServed);
  CHECK(Messages(R"({"content":[]})") == Kind::kEmpty);
}

TEST_CASE("F151 messages: what is no message is undecodable") {
  for (const std::string_view body :
       {"", "hello", "[]", "{}", R"({"content":"x"})", R"({"content":[1]})",
        R"({"content":[{"type":"text","text":"x"},null]})", R"({"content":[)",
        R"({"choices":[{"message":{"content":"x"}}]})", R"({"type":"message","id":"m"})"}) {
    INFO(body);
    CHECK(Messages(body) == Kind::kUndecodable);
  }
}

TEST_CASE("Facts a, responses: text, refusals, reasoning and calls are good") {
  for (const std::string_view item :
       {R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]})",
        R"({"type":"message","content":[{"type":"refusal","refusal":"no"}]})",
        R"({"type":"reasoning","summary":[{"type":"summary_text","text":"x"}]})",
        R"({"type":"function_call","name":"f","arguments":"{}"})",
        R"({"type":"image_generation_call","result":"AA=="})",
        R"({"type":"message","content":[]},{"type":"message","content":[{"text":"x"}]})"}) {
    const std::string body =
        R"({"id":"r","object":"response","status":"completed","error":null,"output":[)" +
        std::string(item) + "]}";
    INFO(body);
    CHECK(Responses(body) == Kind::kGood);
  }
}

TEST_CASE("Facts a, responses: an empty answer is judged by status, reason and usage") {
  const auto with = [](std::string_view members) {
    return Responses(R"({"id":"r","output":[{"type":"reasoning","summary":[]}])" +
                     std::string(members) + "}");
  };
  CHECK(with("") == Kind::kEmpty);
  CHECK(with(R"(,"status":"completed")") == Kind::kEmptyCharged);
  CHECK(with(R"(,"status":"completed","usage":{"output_tokens":0})") == Kind::kEmptyCharged);
  CHECK(with(R"(,"status":"completed","usage":{"output_tokens":9})") == Kind::kEmptyServed);
  CHECK(with(R"(,"status":"incomplete","incomplete_details":null)") == Kind::kEmptyCharged);
  CHECK(with(R"(,"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"})") ==
        Kind::kEmptyServed);
  CHECK(with(R"(,"status":"incomplete","incomplete_details":{"reason":"content_filter"})") ==
        Kind::kEmptyServed);
  CHECK(with(R"(,"status":"cancelled")") == Kind::kEmptyCharged);
}

TEST_CASE("Responses: work that goes on in the background is a good answer") {
  CHECK(Responses(R"({"id":"r","status":"queued","output":[],"error":null})") == Kind::kGood);
  CHECK(Responses(R"({"id":"r","status":"in_progress","output":[]})") == Kind::kGood);
}

TEST_CASE("R25 responses: a failed answer is the error that it hides") {
  const auto failed = [](std::string_view error) {
    return ErrorOf(Endpoint::kResponses,
                   R"({"id":"r","object":"response","status":"failed","output":[],"error":)" +
                       std::string(error) + "}");
  };
  CHECK(failed(R"({"code":"server_error","message":"x"})") == 502);
  CHECK(failed(R"({"code":"rate_limit_exceeded","message":"x"})") == 502);
  CHECK(failed(R"({"code":429})") == 429);
  CHECK(failed(R"({"code":"503"})") == 503);
  CHECK(failed("null") == 502);
  // It is the status that says so: an error beside a good answer is none.
  CHECK(
      Responses(
          R"({"status":"completed","output":[{"type":"message","content":[{"text":"x"}]}],"error":{"code":500}})") ==
      Kind::kGood);
}

TEST_CASE("F151 responses: what is no response is undecodable") {
  for (const std::string_view body :
       {"", "[]", "{}", R"({"status":"completed"})", R"({"output":{}})", R"({"output":[)",
        R"({"output":null,"status":"completed"})"}) {
    INFO(body);
    CHECK(Responses(body) == Kind::kUndecodable);
  }
}

TEST_CASE("R23 a bare error is one on every translated endpoint") {
  for (const Endpoint endpoint :
       {Endpoint::kChatCompletions, Endpoint::kMessages, Endpoint::kResponses,
        Endpoint::kEmbeddings, Endpoint::kRerank, Endpoint::kImageGenerations,
        Endpoint::kImageEdits, Endpoint::kImageVariations, Endpoint::kSpeech,
        Endpoint::kTranscriptions, Endpoint::kTranslations}) {
    INFO(EndpointName(endpoint));
    CHECK(ErrorOf(endpoint, R"({"error":{"message":"x","code":429}})") == 429);
    CHECK(ErrorOf(endpoint, R"({"error":"down"})") == 502);
    CHECK(ErrorOf(endpoint, R"({"type":"error","error":{"type":"overloaded_error"}})") == 502);
    CHECK(ErrorOf(endpoint, R"({"error":{"code":429},"data":[]})") == 0);
  }
}

TEST_CASE("R24 plain endpoints: whatever is JSON and no bare error is good") {
  for (const std::string_view body :
       {R"({"object":"list","data":[{"embedding":[0.1,-2e-3]}]})", R"({"results":[]})",
        R"([{"index":0,"score":0.5}])", R"({"text":"hello"})", "{}", R"({"error":null})",
        R"({"error":{"code":429},"data":[]})", "\xEF\xBB\xBF{}\n"}) {
    INFO(body);
    CHECK(ReadAnswer(Endpoint::kEmbeddings, body).kind == Kind::kGood);
  }
  for (const std::string_view body : {"", "hello", "{", "{}{}", R"({"data":[)", "[1,]"}) {
    INFO(body);
    CHECK(ReadAnswer(Endpoint::kEmbeddings, body).kind == Kind::kUndecodable);
  }
}

TEST_CASE("F067 usage is read on every endpoint") {
  CHECK(
      ReadAnswer(
          Endpoint::kMessages,
          R"({"content":[{"text":"x"}],"usage":{"input_tokens":3,"cache_read_input_tokens":4,"output_tokens":5}})")
          .usage == TokenUsage{7, 5, 4, 0, false});
  CHECK(
      ReadAnswer(
          Endpoint::kResponses,
          R"({"output":[{"type":"message","content":[{"text":"x"}]}],"usage":{"input_tokens":30,"input_tokens_details":{"cached_tokens":4},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":2}}})")
          .usage == TokenUsage{30, 5, 4, 2, false});
  CHECK(ReadAnswer(Endpoint::kEmbeddings,
                   R"({"data":[],"usage":{"prompt_tokens":8,"total_tokens":8}})")
            .usage == TokenUsage{8, 0, 0, 0, false});
  CHECK(ReadAnswer(Endpoint::kRerank, R"({"results":[],"usage":{"total_tokens":12}})").usage ==
        TokenUsage{12, 0, 0, 0, false});
  CHECK(ReadAnswer(Endpoint::kTranscriptions,
                   R"({"text":"x","usage":{"type":"duration","seconds":9}})")
            .usage == std::nullopt);
}

}  // namespace
}  // namespace hotel::wire
