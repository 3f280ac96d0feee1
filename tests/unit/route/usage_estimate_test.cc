#include "libhotel/route/usage_estimate.h"

#include <string>

#include "tests/support/catch.h"

namespace hotel::route {

TEST_CASE("F191 the text of a document is its string values, by four") {
  CHECK(EstimateTokens(R"({"a":"12345678"})") == 2);
  CHECK(EstimateTokens(R"({"a" : ["1234","5678"], "b":{"c":"12345678"}})") == 4);
  CHECK(EstimateTokens(R"({"a":123456789,"b":true,"c":null})") == 0);
  CHECK(EstimateTokens(R"({"a":"\"\\\"x"})") == 2);  // seven bytes as they are written
  CHECK(EstimateTokens("[]") == 0);
}

TEST_CASE("what is no document has no text, and any bytes are fine") {
  CHECK(EstimateTokens("") == 0);
  CHECK(EstimateTokens("--boundary\r\n\"text\"") == 0);
  CHECK(EstimateTokens("{\"a") == 1);
  CHECK(EstimateTokens("{\"a\":\"b\\") == 1);
  CHECK(EstimateTokens(std::string("{\0\"\xff", 4)) == 1);
}

TEST_CASE("a picture in the text does not count by its bytes") {
  const std::string picture(std::size_t{900} << 10, 'A');
  CHECK(EstimateTokens("{\"url\":\"data:image/png;base64," + picture + "\"}") == 1024);
  std::string words;
  while (words.size() < (std::size_t{400} << 10)) words += "some words ";
  const auto tokens = EstimateTokens("{\"content\":\"" + words + "\"}");
  CHECK(tokens >= static_cast<std::int64_t>(words.size() / 4));
}

TEST_CASE("of a very large document the beginning stands for all") {
  std::string words;
  while (words.size() < (std::size_t{8} << 20)) words += "some words ";
  const auto tokens = EstimateTokens("{\"content\":\"" + words + "\"}");
  const auto expected = static_cast<std::int64_t>(words.size() / 4);
  CHECK(tokens > expected - expected / 100);
  CHECK(tokens < expected + expected / 100);
}

TEST_CASE("F191 output is the text in the frames of any dialect, at least a token each") {
  const auto tokens = [](int frames, const std::string& data) {
    OutputMeter meter;
    for (int i = 0; i < frames; ++i) meter.Add(data);
    return meter.Tokens();
  };
  CHECK(OutputMeter().Tokens() == 0);
  CHECK(tokens(100, R"({"id":"chatcmpl-123","choices":[{"delta":{"content":"12345678"}}]})") ==
        200);
  CHECK(tokens(100, R"({"choices": [{"delta" : {"content" : "12345678"}}]})") == 200);
  CHECK(tokens(10, R"({"choices":[{"delta":{"content":"a"}}]})") == 10);
  CHECK(tokens(1, R"({"choices":[{"delta":{"content":")" + std::string(400, 'x') + "\"}}]}") ==
        100);
  CHECK(
      tokens(10,
             R"({"type":"content_block_delta","delta":{"type":"text_delta","text":"12345678"}})") ==
      20);
  CHECK(tokens(10, R"({"type":"response.output_text.delta","delta":"1\"345678"})") == 22);
  CHECK(tokens(10, R"({"delta":{"tool_calls":[{"function":{"arguments":"12345678"}}]}})") == 20);
  CHECK(tokens(3, "not json") == 3);
  CHECK(tokens(3, "{\"content\":\"x") == 3);
}

TEST_CASE("frames that are not looked into are taken for as long as the others") {
  OutputMeter meter;
  for (int i = 0; i < 1000; ++i) {
    meter.Add(R"({"content":")" + std::string(static_cast<std::size_t>(10 + i % 21), 'x') + "\"}");
  }
  CHECK(meter.Tokens() > 4000);
  CHECK(meter.Tokens() < 6000);
}

}  // namespace hotel::route
