#include "libhotel/wire/hidden_error.h"

#include <string>

#include "libhotel/wire/answer.h"
#include "tests/support/catch.h"

namespace hotel::wire {
namespace {

int StatusOf(std::string_view body) {
  const auto error = ReadHiddenError(body);
  return error ? error->status : 0;
}

std::string MessageOf(std::string_view body) {
  const auto error = ReadHiddenError(body);
  return error ? error->message : "(none)";
}

}  // namespace

TEST_CASE("R23 a bare error body is the error it is") {
  CHECK(StatusOf(R"({"error":{"message":"no","code":429}})") == 429);
  CHECK(StatusOf("\xEF\xBB\xBF \n {\"error\":\"no\"} \n") == 502);
}

TEST_CASE("R24 error must be there and not null; anything else counts") {
  for (const char* value : {"{}", "\"\"", "false", "0", "[]", "\"x\"", "true"}) {
    CAPTURE(value);
    CHECK(StatusOf(std::string("{\"error\":") + value + "}") == 502);
  }
  CHECK(StatusOf(R"({"error":null})") == 0);
  CHECK(StatusOf(R"({"errors":{"message":"x"}})") == 0);
  CHECK(StatusOf(R"([{"error":{"message":"x"}}])") == 0);
}

TEST_CASE("R24 a member of an answer beside it makes it an answer") {
  for (const char* name :
       {"id", "object", "choices", "data", "output", "content", "candidates", "usage"}) {
    CAPTURE(name);
    CHECK(StatusOf(std::string("{\"") + name + "\":null,\"error\":{\"code\":429}}") == 0);
    CHECK(StatusOf(std::string("{\"error\":{\"code\":429},\"") + name + "\":1}") == 0);
    CHECK(StatusOf(std::string("{\"error\":{\"code\":429,\"") + name + "\":1}}") == 429);
  }
}

TEST_CASE("R24 the body is one JSON value, whole") {
  CHECK(StatusOf(R"({"error":{"code":429}}{"x":1})") == 0);
  CHECK(StatusOf("{\"error\":{\"code\":429}}\n{\"error\":{\"code\":429}}") == 0);
  const std::string body = R"({"error":{"message":"a \" } b","code":429}})";
  for (std::size_t length = 0; length < body.size(); ++length) {
    CAPTURE(length);
    CHECK(StatusOf(std::string_view(body).substr(0, length)) == 0);
  }
  CHECK(StatusOf(body) == 429);
}

TEST_CASE("R25 a code of 400 to 599 is kept, all else is 502") {
  CHECK(StatusOf(R"({"error":{"code":400}})") == 400);
  CHECK(StatusOf(R"({"error":{"code":"599"}})") == 599);
  for (const char* code : {"399", "600", "\"rate_limit_exceeded\"", "null", "\"\"", "429.5", "-429",
                           "4e5", "{}", "[429]"}) {
    CAPTURE(code);
    CHECK(StatusOf(std::string("{\"error\":{\"code\":") + code + "}}") == 502);
  }
  CHECK(StatusOf(R"({"error":{"message":"x"}})") == 502);
}

TEST_CASE("R26 the chat reader gives the same status") {
  for (const char* body :
       {R"({"error":{"code":429}})", R"({"error":"x"})", R"({"error":"x","code":503})"}) {
    CAPTURE(body);
    const Answer answer = ReadAnswer(Endpoint::kChatCompletions, body);
    CHECK(answer.kind == Answer::Kind::kHiddenError);
    CHECK(answer.error_status == StatusOf(body));
  }
}

TEST_CASE("R27 the text of the error") {
  CHECK(MessageOf(R"({"error":{"message":"no \u00e9"}})") == "no \xC3\xA9");
  CHECK(MessageOf(R"({"error":"as a string"})") == "as a string");
  CHECK(MessageOf(R"({"error":{"message":"Provider returned error","metadata":{"raw":"why"}}})") ==
        "why");
  CHECK(MessageOf(R"({"error":{"message":"","metadata":{"raw":"why"}}})") == "why");
  CHECK(MessageOf(R"({"error":{"message":"Provider returned error","metadata":{"raw":{}}}})") ==
        "Provider returned error");
  CHECK(MessageOf(R"({"error":{"message":"own","metadata":{"raw":"why"}}})") == "own");
  CHECK(MessageOf(R"({"error":{},"message":"outer"})") == "outer");
  CHECK(MessageOf(R"({"error":{},"error_type":"kind"})") == "kind");
  CHECK(MessageOf(R"({"error":{}})").empty());
}

TEST_CASE("R27 a top-level code is the fallback of an error without members") {
  CHECK(StatusOf(R"({"error":"busy","code":429})") == 429);
  CHECK(StatusOf(R"({"error":{"message":"x"},"code":429})") == 502);
}

TEST_CASE("R28 the start of a stream is judged by its first object") {
  using Kind = HiddenStart::Kind;
  const std::string body = "  {\"error\":{\"message\":\"brace } \\\" {\",\"code\":\"429\"}}";
  for (std::size_t length = 0; length < body.size(); ++length) {
    CAPTURE(length);
    CHECK(ReadHiddenStart(std::string_view(body).substr(0, length), false).kind ==
          Kind::kUndecided);
    CHECK(ReadHiddenStart(std::string_view(body).substr(0, length), true).kind == Kind::kAnswer);
  }
  const HiddenStart whole = ReadHiddenStart(body, false);
  CHECK(whole.kind == Kind::kError);
  CHECK(whole.error.status == 429);
  CHECK(ReadHiddenStart(body + "\n\n", false).kind == Kind::kError);
}

TEST_CASE("R28 more behind the first object makes it a frame of a stream") {
  using Kind = HiddenStart::Kind;
  CHECK(ReadHiddenStart("{\"error\":{}}\n{\"x\":1}", false).kind == Kind::kAnswer);
  CHECK(ReadHiddenStart("data: {\"error\":{}}\n\n", false).kind == Kind::kAnswer);
  CHECK(ReadHiddenStart(R"({"choices":[]})", false).kind == Kind::kAnswer);
}

TEST_CASE("R28 the look is bounded") {
  using Kind = HiddenStart::Kind;
  const std::string endless = "{\"error\":\"" + std::string(kHiddenStartLimit, 'x');
  CHECK(ReadHiddenStart(endless, false).kind == Kind::kAnswer);
  CHECK(ReadHiddenStart(std::string(kHiddenStartLimit, ' '), false).kind == Kind::kAnswer);
}

TEST_CASE("decisions 10: MiniMax's business codes") {
  const auto status = [](std::string_view code) {
    const auto error = ReadMinimaxEnvelope("{\"base_resp\":{\"status_code\":" + std::string(code) +
                                           ",\"status_msg\":\"why\"},\"choices\":null}");
    return error ? error->status : 0;
  };
  for (const char* code : {"1002", "1008", "1039", "\"1008\""}) CHECK(status(code) == 429);
  CHECK(status("1004") == 401);
  for (const char* code : {"1000", "2013", "-1"}) CHECK(status(code) == 502);
  for (const char* code : {"0", "null", "\"\"", "1.5", "99999999999999999999999"}) {
    CAPTURE(code);
    CHECK(status(code) == 0);
  }
  CHECK(ReadMinimaxEnvelope(R"({"base_resp":{"status_code":1002,"status_msg":"why"}})")->message ==
        "why");
  CHECK_FALSE(ReadMinimaxEnvelope(R"({"status_code":1002})"));
  CHECK_FALSE(ReadMinimaxEnvelope(R"({"base_resp":{"status_code":1002)"));
}

TEST_CASE("facts k: long bodies carry no business error") {
  std::string body = R"({"base_resp":{"status_code":1002},"text":")";
  body.append(kMaxMinimaxEnvelope, 'x').append("\"}");
  CHECK_FALSE(ReadMinimaxEnvelope(body));
}

}  // namespace hotel::wire
