#include "libhotel/wire/errors.h"

#include <string>
#include <string_view>

#include "libhotel/wire/json.h"
#include "libhotel/wire/sse.h"
#include "libhotel/wire/stream_frame.h"
#include "tests/support/catch.h"

namespace hotel::wire {
namespace {

constexpr std::string_view kSecret = "acme/\"key\"-0123456789";

bool Valid(std::string_view text) {
  JsonCursor cursor(text);
  return cursor.Skip() && cursor.AtEnd();
}
bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST_CASE("Facts g: the error type follows the status") {
  CHECK(OpenAiErrorType(400) == "invalid_request_error");
  CHECK(OpenAiErrorType(401) == "authentication_error");
  CHECK(OpenAiErrorType(402) == "invalid_request_error");
  CHECK(OpenAiErrorType(403) == "permission_error");
  CHECK(OpenAiErrorType(404) == "not_found_error");
  CHECK(OpenAiErrorType(422) == "invalid_request_error");
  CHECK(OpenAiErrorType(429) == "rate_limit_error");
  CHECK(OpenAiErrorType(499) == "invalid_request_error");
  CHECK(OpenAiErrorType(500) == "server_error");
  CHECK(OpenAiErrorType(529) == "server_error");
}

TEST_CASE("Decisions 7: a gateway error carries message, type and the stable code") {
  CHECK(
      ErrorBody(Dialect::kChat, 404, "model_not_found", "model not found: hotel/\"x\"\n") ==
      R"({"error":{"message":"model not found: hotel/\"x\"\n","type":"not_found_error","code":"model_not_found"}})");
  CHECK(Valid(ErrorBody(Dialect::kChat, 400, "x", "bad \xff byte")));
}

TEST_CASE("Decisions 10: a cut stream ends with one error event") {
  CHECK(StreamError(Dialect::kChat, "stream_incomplete", "cut") ==
        "data: "
        "{\"error\":{\"message\":\"cut\",\"type\":\"server_error\",\"code\":\"stream_incomplete\"}}"
        "\n\n");
}

TEST_CASE("Facts g: a provider's error object goes to the client byte for byte") {
  const std::string body =
      "{ \"error\" : {\"message\":\"bad \\u00e9 value\", \"n\":1.0, \"code\":null}, "
      "\"x\":12345678901234567890 }\n";
  CHECK(RelayProviderError(Dialect::kChat, 400, body, kSecret) == body);
  CHECK(RelayProviderError(Dialect::kChat, 400, R"({"error":"plain"})", "") ==
        R"({"error":"plain"})");
}

TEST_CASE("Facts g: without an error object the text goes into an envelope") {
  const auto message = [](std::string_view text) {
    return ErrorBody(Dialect::kChat, 422, "provider_bad_request", text);
  };
  CHECK(RelayProviderError(Dialect::kChat, 422, "unprocessable\n entity", "") ==
        message("unprocessable  entity"));
  CHECK(RelayProviderError(Dialect::kChat, 422, R"({"detail":"no"})", "") ==
        message(R"({"detail":"no"})"));
  CHECK(RelayProviderError(Dialect::kChat, 422, R"({"error":null})", "") ==
        message(R"({"error":null})"));
  CHECK(RelayProviderError(Dialect::kChat, 422, R"({"error":{"message":"x"}} y)", "") ==
        message(R"({"error":{"message":"x"}} y)"));
  CHECK(RelayProviderError(Dialect::kChat, 422, " \r\n", "") ==
        message("the provider rejected the request payload"));
}

TEST_CASE("Facts g: an error object over 1 MiB becomes a bounded envelope") {
  const auto of_size = [](std::size_t size) {
    const std::string head = R"({"error":{"message":")";
    return head + std::string(size - head.size() - 3, 'x') + "\"}}";
  };
  const std::string fits = of_size(std::size_t{1} << 20);
  CHECK(RelayProviderError(Dialect::kChat, 400, fits, kSecret) == fits);
  const std::string over =
      RelayProviderError(Dialect::kChat, 400, of_size((std::size_t{1} << 20) + 1), kSecret);
  CHECK(over.size() < 20'000);
  CHECK(Valid(over));
}

TEST_CASE("Relay: the secret is masked in every spelling and the JSON stays valid") {
  std::string hex;
  for (const char c : kSecret) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += std::string("\\u00") + kDigits[(c >> 4) & 0xF] + kDigits[c & 0xF];
  }
  for (const std::string& spelling :
       {std::string(R"(acme/\"key\"-0123456789)"), std::string(R"(acme\/\"key\"-0123456789)"),
        std::string(R"(acm\u0065/\"key\"-0123456789)"), hex}) {
    const std::string body =
        R"({"error":{"message":"Wrong key )" + spelling + R"(. é","code":"k"}})";
    const std::string relayed = RelayProviderError(Dialect::kChat, 400, body, kSecret);
    INFO(relayed);
    CHECK(relayed == R"({"error":{"message":"Wrong key [REDACTED]. é","code":"k"}})");
  }
}

TEST_CASE("Relay: key-shaped words are masked, also behind an escape") {
  CHECK(RelayProviderError(Dialect::kChat, 400,
                           R"({"error":{"message":"got\nsk-abcdefgh12345678 !"}})",
                           "") == R"({"error":{"message":"got\n[REDACTED] !"}})");
  CHECK(RelayProviderError(Dialect::kChat, 400,
                           R"({"error":{"message":"\u0073k-abcdefgh12345678"}})",
                           "") == R"({"error":{"message":"[REDACTED]"}})");
  CHECK(RelayProviderError(Dialect::kChat, 400, R"({"error":{"sk-abcdefgh12345678":1}})", "") ==
        R"({"error":{"[REDACTED]":1}})");
  CHECK(RelayProviderError(Dialect::kChat, 400, "key sk-abcdefgh12345678", "") ==
        ErrorBody(Dialect::kChat, 400, "provider_bad_request", "key [REDACTED]"));
}

TEST_CASE("Relay: a secret that looks like a piece of the JSON does not break it") {
  for (const std::string_view secret : {"error", "123456", "\"code\":", "true", "message"}) {
    const std::string relayed = RelayProviderError(
        Dialect::kChat, 400, R"({"error":{"message":"x","code":123456,"param":true}})", secret);
    INFO(relayed);
    CHECK(Valid(relayed));
    CHECK(Has(relayed, "[REDACTED]"));
  }
}

TEST_CASE("Facts g: the Anthropic error type follows the status") {
  CHECK(AnthropicErrorType(400) == "invalid_request_error");
  CHECK(AnthropicErrorType(401) == "authentication_error");
  CHECK(AnthropicErrorType(402) == "invalid_request_error");
  CHECK(AnthropicErrorType(403) == "permission_error");
  CHECK(AnthropicErrorType(404) == "not_found_error");
  CHECK(AnthropicErrorType(413) == "request_too_large");
  CHECK(AnthropicErrorType(422) == "invalid_request_error");
  CHECK(AnthropicErrorType(429) == "rate_limit_error");
  CHECK(AnthropicErrorType(500) == "api_error");
  CHECK(AnthropicErrorType(502) == "api_error");
  CHECK(AnthropicErrorType(503) == "overloaded_error");
  CHECK(AnthropicErrorType(504) == "api_error");
  CHECK(AnthropicErrorType(529) == "overloaded_error");
}

TEST_CASE("Facts g: on the messages endpoint an error has Anthropic's form, elsewhere OpenAI's") {
  CHECK(
      ErrorBody(Dialect::kMessages, 503, "provider_saturated", "busy") ==
      R"({"type":"error","error":{"type":"overloaded_error","message":"busy","code":"provider_saturated"}})");
  for (const Dialect dialect : {Dialect::kResponses, Dialect::kPlain}) {
    CHECK(ErrorBody(dialect, 503, "x", "busy") == ErrorBody(Dialect::kChat, 503, "x", "busy"));
  }
}

TEST_CASE("R37 a cut Responses stream ends with its own error event") {
  CHECK(StreamError(Dialect::kResponses, "stream_incomplete", "cut \"off\"") ==
        "event: error\n"
        R"(data: {"type":"error","code":"stream_incomplete","message":"cut \"off\"","param":null})"
        "\n\n");
}

TEST_CASE("R38 a cut messages stream ends with Anthropic's error event") {
  CHECK(
      StreamError(Dialect::kMessages, "stream_incomplete", "cut") ==
      "event: error\n"
      R"(data: {"type":"error","error":{"type":"api_error","message":"cut","code":"stream_incomplete"}})"
      "\n\n");
}

TEST_CASE("R36 a stream of no known dialect gets no event: only its missing end can tell") {
  CHECK(StreamError(Dialect::kPlain, "stream_incomplete", "cut").empty());
}

TEST_CASE("R35 what the gateway writes at the end reads back as an error") {
  for (const Dialect dialect : {Dialect::kChat, Dialect::kMessages, Dialect::kResponses}) {
    const std::string text = StreamError(dialect, "stream_incomplete", "a\nb");
    SseSplitter splitter;
    int events = 0;
    splitter.Feed(text, [&](const SseEvent& event) {
      ++events;
      CHECK(ReadStreamFrame(dialect, event.name, event.data).kind == StreamFrame::Kind::kError);
      return true;
    });
    CHECK(events == 1);
    CHECK(splitter.block_start() == text.size());
  }
}

TEST_CASE("Facts g: the messages endpoint relays Anthropic errors and wraps others") {
  const std::string anthropic =
      R"({ "type":"error", "error":{"type":"invalid_request_error","message":"bad \u00e9"}, "request_id":"r"})";
  CHECK(RelayProviderError(Dialect::kMessages, 400, anthropic, "") == anthropic);
  CHECK(RelayProviderError(Dialect::kChat, 400, anthropic, "") == anthropic);
  CHECK(RelayProviderError(Dialect::kMessages, 400,
                           R"({"type":"error","error":{"message":"key acme-0123456789 bad"}})",
                           "acme-0123456789") ==
        R"({"type":"error","error":{"message":"key [REDACTED] bad"}})");
  const auto envelope = [](std::string_view message) {
    return ErrorBody(Dialect::kMessages, 422, "provider_bad_request", message);
  };
  const auto relayed = [](std::string_view body) {
    return RelayProviderError(Dialect::kMessages, 422, body, "acme-0123456789");
  };
  CHECK(relayed(R"({"error":{"message":"no \"acme-0123456789\"","type":"x"}})") ==
        envelope("no \"[REDACTED]\""));
  CHECK(relayed(R"({"error":"plain"})") == envelope("plain"));
  CHECK(relayed(R"({"type":"error","error":"plain"})") == envelope("plain"));
  CHECK(relayed(R"({"error":{"type":"x"}})") == envelope(R"({"error":{"type":"x"}})"));
  CHECK(relayed("no json") == envelope("no json"));
  CHECK(relayed("") == envelope("the provider rejected the request payload"));
}

TEST_CASE("SanitizeDetail: control characters go, text stays") {
  CHECK(SanitizeDetail("a\x01"
                       "b\x7f"
                       "c\nd\te\r\nf",
                       "", 100) == "abc d e  f");
  CHECK(SanitizeDetail("\xc2\x85\xc3\xa9\xff\xe2\x82\xac\xe2\x82", "", 100) ==
        "\xc3\xa9\xe2\x82\xac");
}

TEST_CASE("SanitizeDetail: UUIDs and credentials are replaced") {
  CHECK(SanitizeDetail("request 123e4567-E89B-12d3-a456-426614174000, retry", "", 100) ==
        "request [REDACTED], retry");
  CHECK(SanitizeDetail("key top-secret-value used", "top-secret-value", 100) ==
        "key [REDACTED] used");
  CHECK_FALSE(Has(SanitizeDetail("top-\x01secret-value", "top-secret-value", 100), "secret"));
}

TEST_CASE("SanitizeDetail: it is cut at a character, behind the masking") {
  CHECK(SanitizeDetail("abcdef", "", 3) == "abc");
  CHECK(SanitizeDetail("ab\xe2\x82\xac", "", 4) == "ab");
  CHECK(SanitizeDetail("", "", 10).empty());
  // A credential that reaches over the limit is not left half.
  const std::string text = std::string(95, 'x') + " top-secret-value";
  CHECK_FALSE(Has(SanitizeDetail(text, "top-secret-value", 105), "top-"));
  CHECK_FALSE(Has(SanitizeDetail(std::string(5000, 'y') + text, "top-secret-value", 5105), "top-"));
}

}  // namespace
}  // namespace hotel::wire
