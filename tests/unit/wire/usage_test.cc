#include "libhotel/wire/usage.h"

#include <optional>
#include <string_view>

#include "libhotel/wire/stream_frame.h"
#include "tests/support/catch.h"

namespace hotel::wire {
namespace {

std::optional<TokenUsage> Read(std::string_view json) {
  JsonCursor cursor(json);
  std::optional<TokenUsage> usage;
  CHECK((ReadUsage(cursor, &usage) && cursor.AtEnd()));
  return usage;
}

TEST_CASE("F067 every provider's spelling of usage") {
  // OpenAI chat.
  CHECK(
      Read(
          R"({"prompt_tokens":10,"completion_tokens":7,"total_tokens":17,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}})") ==
      TokenUsage{10, 7, 4, 3, false});
  // DeepSeek.
  CHECK(
      Read(
          R"({"prompt_tokens":10,"prompt_cache_hit_tokens":6,"prompt_cache_miss_tokens":4,"completion_tokens":7})") ==
      TokenUsage{10, 7, 6, 0, false});
  // Moonshot.
  CHECK(Read(R"({"prompt_tokens":10,"completion_tokens":7,"cached_tokens":2})") ==
        TokenUsage{10, 7, 2, 0, false});
  // Responses: the cached ones are part of the input.
  CHECK(
      Read(
          R"({"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":3}})") ==
      TokenUsage{10, 7, 4, 3, false});
  // Messages: they are beside it.
  CHECK(
      Read(
          R"({"input_tokens":10,"cache_read_input_tokens":4,"cache_creation_input_tokens":100,"output_tokens":7})") ==
      TokenUsage{114, 7, 4, 0, false});
  // An OpenAI prompt beside Anthropic's words holds them already.
  CHECK(Read(R"({"prompt_tokens":10,"cache_read_input_tokens":4,"completion_tokens":7})") ==
        TokenUsage{10, 7, 4, 0, false});
}

TEST_CASE("F067 reasoning that a provider counts beside the completion is output all the same") {
  CHECK(
      Read(
          R"({"prompt_tokens":10,"completion_tokens":7,"total_tokens":20,"completion_tokens_details":{"reasoning_tokens":3}})") ==
      TokenUsage{10, 10, 0, 3, false});
}

TEST_CASE("F067 what is no count is none") {
  for (const std::string_view json :
       {"null", "7", "[]", "{}", R"({"prompt_tokens":null})", R"({"prompt_tokens":-1})",
        R"({"prompt_tokens":"7"})", R"({"prompt_tokens":1e999})",
        R"({"prompt_tokens":123456789012345678901234567890})",
        R"({"prompt_tokens_details":{"cached_tokens":7}})", R"({"seconds":7})"}) {
    INFO(json);
    CHECK(Read(json) == std::nullopt);
  }
  CHECK(Read(R"({"prompt_tokens":7.0,"completion_tokens":[1]})") == TokenUsage{7, 0, 0, 0, false});
  CHECK(Read(R"({"prompt_tokens":7,"prompt_tokens_details":null})") ==
        TokenUsage{7, 0, 0, 0, false});
}

TEST_CASE("F067 parts are never larger than their whole") {
  CHECK(
      Read(
          R"({"prompt_tokens":5,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":50},"completion_tokens_details":{"reasoning_tokens":9}})") ==
      TokenUsage{5, 2, 5, 2, false});
}

TEST_CASE("F067 merged usage is the larger of each count") {
  std::optional<TokenUsage> usage;
  MergeUsage({5, 1, 2, 0, true}, &usage);
  CHECK(usage == TokenUsage{5, 1, 2, 0, true});
  MergeUsage({3, 9, 0, 4, false}, &usage);
  CHECK(usage == TokenUsage{5, 9, 2, 4, false});
}

}  // namespace
}  // namespace hotel::wire
