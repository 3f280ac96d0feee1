#include <string_view>

#include "libhotel/wire/stream_frame.h"
#include "tests/support/catch.h"

namespace hotel::wire {
namespace {

using Kind = StreamFrame::Kind;

StreamFrame Read(std::string_view data, std::string_view event = "") {
  return ReadStreamFrame(Dialect::kPlain, event, data);
}
Kind KindOf(std::string_view data, std::string_view event = "") { return Read(data, event).kind; }

TEST_CASE("Plain streams: any data is output") {
  for (const std::string_view data :
       {R"({"type":"image_generation.partial_image","b64_json":"AA=="})",
        R"({"type":"speech.audio.done"})", "{}", "hello", "{", "[]", R"({"error":null})",
        R"({"choices":[]})", R"({"type":"message_stop"})"}) {
    INFO(data);
    CHECK(KindOf(data) == Kind::kOutput);
  }
  CHECK(KindOf("") == Kind::kNoOutput);
  CHECK(KindOf(" ", "message_stop") == Kind::kNoOutput);
}

TEST_CASE("Plain streams: [DONE] ends them, an error is one") {
  CHECK(KindOf("[DONE]") == Kind::kTerminator);
  CHECK(KindOf("x", "error") == Kind::kError);
  CHECK(Read("x", "error").error_status == 502);
  CHECK(Read(R"({"error":{"code":429}})").error_status == 429);
  CHECK(Read(R"({"type":"error","code":500})").error_status == 500);
  CHECK(KindOf(R"({"type":"error","code":500})") == Kind::kError);
}

TEST_CASE("F067 plain streams tell usage in their last event") {
  const StreamFrame frame = Read(
      R"({"type":"transcript.text.done","text":"x","usage":{"type":"tokens","input_tokens":14,"output_tokens":3,"total_tokens":17}})");
  CHECK(frame.kind == Kind::kOutput);
  CHECK(frame.usage == TokenUsage{14, 3, 0, 0, false});
  CHECK_FALSE(frame.usage_only);
}

}  // namespace
}  // namespace hotel::wire
