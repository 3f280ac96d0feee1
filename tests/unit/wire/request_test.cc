#include "libhotel/wire/request.h"

#include <ctime>
#include <memory>
#include <string>
#include <string_view>

#include "tests/support/catch.h"

namespace hotel::wire {
namespace {

std::string Refusal(std::string_view body) {
  const absl::StatusOr<RequestPeek> peek = PeekRequest(body);
  if (peek.ok()) return "";
  CHECK(peek.status().code() == absl::StatusCode::kInvalidArgument);
  return std::string(peek.status().message());
}

std::string Spliced(const std::string& body, std::string_view model) {
  const absl::StatusOr<RequestPeek> peek = PeekRequest(body);
  REQUIRE(peek.ok());
  return WithModel(std::make_shared<const std::string>(body), *peek, model).ToString();
}

TEST_CASE("Peek: model, its place and stream") {
  const std::string body = R"({ "stream" : true, "model" :  "hotel/x" , "messages":[]})";
  const absl::StatusOr<RequestPeek> peek = PeekRequest(body);
  REQUIRE(peek.ok());
  CHECK(peek->model == "hotel/x");
  CHECK(peek->stream);
  CHECK(body.substr(peek->model_offset, peek->model_length) == "\"hotel/x\"");
}

TEST_CASE("Peek: stream is off when absent, false or null") {
  CHECK_FALSE(PeekRequest(R"({"model":"a"})")->stream);
  CHECK_FALSE(PeekRequest(R"({"model":"a","stream":false})")->stream);
  CHECK_FALSE(PeekRequest(R"({"model":"a","stream":null})")->stream);
}

TEST_CASE("Peek: how long the answer may get, by any of its names") {
  CHECK(PeekRequest(R"({"model":"a"})")->max_output == 0);
  CHECK(PeekRequest(R"({"model":"a"})")->choices == 1);
  for (const char* name :
       {"max_tokens", "max_completion_tokens", "max_output_tokens", "max\u005ftokens"}) {
    INFO(name);
    CHECK(PeekRequest(std::string(R"({"model":"a",")") + name + R"(": 512 ,"n":3})")->max_output ==
          512);
  }
  CHECK(PeekRequest(R"({"n":3,"model":"a"})")->choices == 3);
  // The largest, in whatever order: nobody knows which one a provider goes by.
  CHECK(PeekRequest(R"({"max_tokens":9,"model":"a","max_completion_tokens":2e3,"max_tokens":1})")
            ->max_output == 2000);
  // What is no such number is for the provider to refuse.
  for (const char* value :
       {"null", "\"many\"", "0", "-5", "0.5", "[1]", "{\"n\":2}", "1e999", "false", "-1e999"}) {
    INFO(value);
    const auto peek = PeekRequest(std::string(R"({"max_tokens":)") + value + R"(,"model":"a"})");
    REQUIRE(peek.ok());
    CHECK(peek->max_output == 0);
  }
  CHECK(PeekRequest(R"({"max_tokens":1e300,"model":"a"})")->max_output == 1'000'000'000);
  // Only those of the body itself count.
  CHECK(PeekRequest(R"({"model":"a","x":{"max_tokens":9,"n":9}})")->max_output == 0);
}

TEST_CASE("Peek: the model is unescaped") {
  CHECK(PeekRequest(R"({"model":"a\/b\u00e9"})")->model == "a/b\xc3\xa9");
  CHECK(PeekRequest(R"({"m\u006fdel":"a"})")->model == "a");
}

TEST_CASE("Decisions 7: only the model's bytes change") {
  CHECK(Spliced(R"({"model":"hotel/x","seed":12345678901234567890,"a":1.0,"b":"\u00e9"})",
                "z-ai/glm-4.6") ==
        R"({"model":"z-ai/glm-4.6","seed":12345678901234567890,"a":1.0,"b":"\u00e9"})");
  CHECK(Spliced(" {\"b\" : 1e5,\t\"mo\\u0064el\"\r\n: \"x\\\"y\" }\n", "q\"\\") ==
        " {\"b\" : 1e5,\t\"mo\\u0064el\"\r\n: \"q\\\"\\\\\" }\n");
}

TEST_CASE("F155 a routing member given twice is refused, in whatever spelling") {
  for (const std::string_view body :
       {R"({"model":"allowed","model":"blocked"})", R"({"model":"allowed","m\u006fdel":"blocked"})",
        R"({"model":"a","model":"a"})",
        R"({"model":"a","x":{},"\u006d\u006f\u0064\u0065\u006c":1})",
        R"({"model":1,"model":"a"})"}) {
    INFO(body);
    CHECK_FALSE(Refusal(body).empty());
  }
  CHECK(Refusal(R"({"model":"a","model":"b"})") == "\"model\" is given more than once");
  CHECK(Refusal(R"({"model":"a","stream":true,"stream":true})") ==
        "\"stream\" is given more than once");
  CHECK(Refusal(R"({"model":"a","stream":null,"str\u0065am":true})") ==
        "\"stream\" is given more than once");
}

TEST_CASE("F155 nested and unknown duplicates pass") {
  CHECK(PeekRequest(R"({"model":"a","tools":[{"model":"x","model":"y","stream":1}]})")->model ==
        "a");
  CHECK(PeekRequest(R"({"model":"a","x":1,"x":2,"Model":"b"})")->model == "a");
}

TEST_CASE("F159 lone surrogates pass anywhere but in the model") {
  for (const char* escape : {"\\ud800", "\\ude00 x", "\\ud83d"}) {
    const std::string body =
        std::string(R"({"model":"a","messages":[{"content":")") + escape + "\"}]}";
    CHECK(PeekRequest(body).ok());
    CHECK(Spliced(body, "b").find(escape) != std::string::npos);
  }
  CHECK(Refusal(R"({"model":"a\ud800"})") == "\"model\" holds half of a surrogate pair");
}

TEST_CASE("F161 escaped NULs and other control characters pass") {
  CHECK(PeekRequest(R"({"model":"a","p":"\u0000\u0001\u001f"})").ok());
}

TEST_CASE("Peek: the refusals name what is wrong") {
  CHECK(Refusal("") == "request body is empty");
  CHECK(Refusal(" \n") == "request body is empty");
  CHECK(Refusal("[]") == "request body must be a JSON object");
  CHECK(Refusal("\"x\"") == "request body must be a JSON object");
  CHECK(Refusal("{}") == "\"model\" is missing");
  CHECK(Refusal(R"({"model":1})") == "\"model\" must be a string");
  CHECK(Refusal(R"({"model":null})") == "\"model\" must be a string");
  CHECK(Refusal(R"({"model":["a"]})") == "\"model\" must be a string");
  CHECK(Refusal(R"({"model":""})") == "\"model\" is empty");
  CHECK(Refusal(R"({"model":"a","stream":"true"})") == "\"stream\" must be a boolean");
  CHECK(Refusal(R"({"model":"a","stream":1})") == "\"stream\" must be a boolean");
  CHECK(Refusal("{\"model\":\"" + std::string(1025, 'm') + "\"}") ==
        "\"model\" is longer than 1024 bytes");
  CHECK(Refusal("{\"model\":\"" + std::string(1024, 'm') + "\"}").empty());
}

TEST_CASE("Peek: the whole body is validated, the model found or not") {
  for (const std::string_view body :
       {R"({"model":"a")", R"({"model":"a"} x)", R"({"model":"a","b":01})", R"({"model":"a",})",
        R"({"model":"a","b":tru})", R"({"model":"a","b":[1,2}})", R"({"model":"a","b":"\x"})",
        "{\"model\":\"a\",\"b\":\"\n\"}", "{\"model\":\"a\"}{}", "hello", "{model:1}",
        "\xEF\xBB\xBF{\"model\":\"a\"}"}) {
    INFO(body);
    CHECK(Refusal(body).find("request body is not valid JSON") == 0);
  }
  CHECK(Refusal("{\"model\":\"a\",\"b\":\"\xff\"}") == "request body is not valid UTF-8");
  CHECK(Refusal("{\"model\":\"a\",\"b\":\"\xed\xa0\x80\"}") == "request body is not valid UTF-8");
}

TEST_CASE("Peek: 512 levels pass, one more is refused") {
  const auto nested = [](std::size_t depth) {
    return "{\"model\":\"a\",\"x\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') +
           "}";
  };
  CHECK(Refusal(nested(512)).empty());
  CHECK(Refusal(nested(513)) == "request body is nested deeper than 512 levels");
  CHECK(Refusal("{\"x\":" + std::string(3'000'000, '[')) ==
        "request body is nested deeper than 512 levels");
}

TEST_CASE("F023 a 12 MiB body is read in milliseconds and spliced without a copy") {
  std::string text = R"({"messages":[{"role":"user","content":")";
  while (text.size() < (std::size_t{12} << 20)) text += "Lorem ipsum dolor sit amet,\\n \xc3\xa9 ";
  text += R"("}],"model":"hotel/x"})";
  const auto body = std::make_shared<const std::string>(std::move(text));
  const std::clock_t start = std::clock();  // of this process: others may be busy
  const absl::StatusOr<RequestPeek> peek = PeekRequest(*body);
  REQUIRE(peek.ok());
  // Milliseconds; the bound leaves room for sanitizers.
  CHECK(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC < 2.0);
  const long owners = body.use_count();
  const Body sent = WithModel(body, *peek, "z");
  CHECK(sent.size() == body->size() - std::string("hotel/x").size() + 1);
  CHECK(body.use_count() > owners);
}

std::string Asked(const std::string& body, std::string_view model) {
  const absl::StatusOr<RequestPeek> peek = PeekRequest(body);
  REQUIRE(peek.ok());
  return WithModel(std::make_shared<const std::string>(body), *peek, model, true).ToString();
}

TEST_CASE("Decisions 7: usage is asked for where the client wrote no options") {
  CHECK(Asked(R"({"model":"a","stream":true})", "b") ==
        R"({"stream_options":{"include_usage":true},"model":"b","stream":true})");
  CHECK(Asked(" {\n \"x\":1.0,\"model\" : \"a\"} ", "b") ==
        " {\"stream_options\":{\"include_usage\":true},\n \"x\":1.0,\"model\" : \"b\"} ");
}

TEST_CASE("Decisions 7: the client's own options keep their other bytes") {
  for (const bool model_first : {true, false}) {
    const auto body = [&](const std::string& model, const std::string& options) {
      const std::string first = R"("model":")" + model + "\"";
      const std::string second = R"("stream_options":)" + options;
      return "{" + (model_first ? first + "," + second : second + "," + first) + R"(,"n":1e2})";
    };
    const auto asked = [&](const std::string& options) {
      return Asked(body("hotel/x", options), "other");
    };
    CHECK(asked("{}") == body("other", R"({"include_usage":true})"));
    CHECK(asked("{ }") == body("other", R"({"include_usage":true })"));
    CHECK(asked("null") == body("other", R"({"include_usage":true})"));
    CHECK(asked(R"({"include_obfuscation":false})") ==
          body("other", R"({"include_usage":true,"include_obfuscation":false})"));
    CHECK(asked(R"({"a":[1], "include_usage" : false , "b":1.0})") ==
          body("other", R"({"a":[1], "include_usage" : true , "b":1.0})"));
    CHECK(asked(R"({"include_us\u0061ge":null})") ==
          body("other", R"({"include_us\u0061ge":true})"));
    for (const char* kept : {R"({"include_usage":true})", R"({"include_usage":"yes"})",
                             R"({"include_usage":1})", R"("on")", "[]", "true", "7"}) {
      INFO(kept);
      CHECK(asked(kept) == body("other", kept));
    }
  }
}

TEST_CASE("F065 the peek knows whether the client asked for usage") {
  CHECK(PeekRequest(R"({"model":"a","stream_options":{"include_usage":true}})")->wants_usage);
  for (const std::string_view options :
       {R"({"include_usage":false})", R"({"include_usage":null})", R"({"include_usage":"true"})",
        "{}", "null", "true", R"({"x":{"include_usage":true}})"}) {
    const std::string body = R"({"model":"a","stream_options":)" + std::string(options) + "}";
    INFO(body);
    CHECK_FALSE(PeekRequest(body)->wants_usage);
  }
  CHECK_FALSE(PeekRequest(R"({"model":"a","include_usage":true})")->wants_usage);
}

TEST_CASE("F155 options that are written to are refused when given twice") {
  CHECK(Refusal(R"({"model":"a","stream_options":null,"stream_options":{}})") ==
        "\"stream_options\" is given more than once");
  CHECK(Refusal(R"({"model":"a","stream_options":{},"stream\u005foptions":1})") ==
        "\"stream_options\" is given more than once");
  CHECK(
      Refusal(
          R"({"model":"a","stream_options":{"include_usage":true,"include_us\u0061ge":false}})") ==
      "\"include_usage\" is given more than once");
  CHECK(Refusal(R"({"model":"a","stream_options":{"x":1,"x":2}})").empty());
  CHECK(Refusal(R"({"model":"a","tools":{"stream_options":1,"stream_options":2}})").empty());
}

TEST_CASE("Decisions 7: without being asked for, usage changes nothing") {
  CHECK(Spliced(R"({"model":"a","stream_options":{"include_usage":false}})", "b") ==
        R"({"model":"b","stream_options":{"include_usage":false}})");
}

}  // namespace
}  // namespace hotel::wire
