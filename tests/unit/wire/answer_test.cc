#include "libhotel/wire/answer.h"

#include <string>
#include <string_view>

#include "tests/support/catch.h"

namespace hotel::wire {
namespace {

using Kind = Answer::Kind;

Answer Read(std::string_view body) { return ReadAnswer(Endpoint::kChatCompletions, body); }
Kind KindOf(std::string_view body) { return Read(body).kind; }

TEST_CASE("Answer: text, reasoning, tool calls and legacy text are good") {
  for (
      const std::string_view body :
      {R"({"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]})",
       R"({"choices":[{"message":{"content":"hi"}}]})",
       R"({"choices":[{"message":{"content":null,"tool_calls":[{"id":"x","function":{"name":"f"}}]}}]})",
       R"({"choices":[{"message":{"content":"","reasoning_content":"hm"}}]})",
       R"({"choices":[{"message":{"refusal":"no"}}]})", R"({"choices":[{"text":"x"}]})",
       R"({"choices":[{"message":{"content":[{"type":"text","text":"x"}]}}]})",
       R"({"choices":[{},{"message":{"content":"x"}}]})",
       "\xEF\xBB\xBF {\"choices\":[{\"message\":{\"content\":\"\xff\"}}]} \n",
       R"({"choices":[{"message":{"content":"\ud800"}}],"n":123456789012345678901234567890})"}) {
    INFO(body);
    CHECK(KindOf(body) == Kind::kGood);
  }
}

TEST_CASE("Facts a: decoded, carries nothing and no finish_reason: a failed attempt") {
  for (const std::string_view body :
       {R"({"choices":[]})", R"({"choices":[{}]})",
        R"({"choices":[{"message":{"role":"assistant","content":""},"finish_reason":null}]})",
        R"({"choices":[{"message":{"content":""},"finish_reason":""}]})",
        R"({"choices":[],"usage":{"completion_tokens":5}})"}) {
    INFO(body);
    CHECK(KindOf(body) == Kind::kEmpty);
  }
}

TEST_CASE("Facts a: empty text with a finish_reason is served; what explains it is not charged") {
  const auto with = [](std::string_view reason, std::string_view usage) {
    return KindOf(R"({"choices":[{"message":{"content":""},"finish_reason":")" +
                  std::string(reason) + R"("}],"usage":)" + std::string(usage) + "}");
  };
  CHECK(with("stop", "null") == Kind::kEmptyCharged);
  CHECK(with("stop", R"({"completion_tokens":0})") == Kind::kEmptyCharged);
  CHECK(with("stop", R"({"completion_tokens":-1})") == Kind::kEmptyCharged);
  CHECK(with("stop", R"({"prompt_tokens":7,"completion_tokens":null})") == Kind::kEmptyCharged);
  CHECK(with("tool_calls", "{}") == Kind::kEmptyCharged);
  CHECK(with("length", "{}") == Kind::kEmptyServed);
  CHECK(with("content_filter", "{}") == Kind::kEmptyServed);
  CHECK(with("stop", R"({"completion_tokens":3})") == Kind::kEmptyServed);
}

TEST_CASE("R24 a bare error body is the error it is") {
  const auto status = [](std::string_view body) {
    const Answer answer = Read(body);
    return answer.kind == Kind::kHiddenError ? answer.error_status : 0;
  };
  CHECK(status(R"({"error":{"message":"x","code":429}})") == 429);
  CHECK(status(R"( {"error":{"code":"503"}} )") == 503);
  CHECK(status(R"({"error":"Unexpected endpoint"})") == 502);
  CHECK(status(R"({"error":{"code":"insufficient_quota"}})") == 502);
  CHECK(status(R"({"error":{"type":"overloaded_error"}})") == 502);
  CHECK(status(R"({"error":{"code":200}})") == 502);
  CHECK(status(R"({"error":{},"message":"x","status":"failed"})") == 502);
  CHECK(status(R"({"err\u006fr":{"code":401}})") == 401);
}

TEST_CASE("R24 an answer's members beside the error make it no bare error") {
  for (const char* member :
       {"id", "object", "choices", "data", "output", "content", "candidates", "usage"}) {
    const std::string body = std::string(R"({"error":{"code":429},")") + member + "\":null}";
    INFO(body);
    CHECK(KindOf(body) == Kind::kUndecodable);
  }
  CHECK(KindOf(R"({"error":{"code":429},"choices":[{"message":{"content":"x"}}]})") == Kind::kGood);
  CHECK(KindOf(R"({"error":{"code":429},"choices":[]})") == Kind::kEmpty);
  CHECK(KindOf(R"({"error":null})") == Kind::kUndecodable);
}

TEST_CASE("R24 the whole body must be one JSON value") {
  CHECK(KindOf("{\"error\":{\"code\":429}}\n{\"error\":{\"code\":429}}") == Kind::kUndecodable);
}

TEST_CASE("F151 what is not JSON or no completion is undecodable") {
  for (const std::string_view body :
       {"", "<html></html>", "{", R"({"choices":[{"message":{"content":"hi"}})", "[]", "null",
        "\"x\"", "{}", R"({"choices":{}})", R"({"choices":[1]})", R"({"object":"list","data":[]})",
        R"({"choices":[{"message":{"content":"x"}},null]})"}) {
    INFO(body);
    CHECK(KindOf(body) == Kind::kUndecodable);
  }
}

TEST_CASE("F159 an answer nested too deep for a reader is undecodable, not a crash") {
  CHECK(KindOf(std::string(100'000, '[')) == Kind::kUndecodable);
  CHECK(KindOf(R"({"choices":)" + std::string(100'000, '[')) == Kind::kUndecodable);
}

TEST_CASE("F067 the usage of a chat answer is read, whatever else the answer is") {
  const std::string usage =
      R"("usage":{"prompt_tokens":7,"completion_tokens":4,"total_tokens":11}})";
  const TokenUsage expected{7, 4, 0, 0, false};
  CHECK(Read(R"({"choices":[{"message":{"content":"x"}}],)" + usage).usage == expected);
  CHECK(Read(R"({"choices":[{"message":{"content":""},"finish_reason":"stop"}],)" + usage).usage ==
        expected);
  CHECK(Read(R"({"choices":[],)" + usage).usage == expected);
  CHECK(Read(R"({"choices":[{"message":{"content":"x"}}]})").usage == std::nullopt);
}

}  // namespace
}  // namespace hotel::wire
