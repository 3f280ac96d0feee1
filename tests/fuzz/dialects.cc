// Frames and whole answers in every dialect. The first byte picks the event name, the rest is the
// text.
#include <array>
#include <string>
#include <string_view>

#include "libhotel/wire/answer.h"
#include "libhotel/wire/endpoints.h"
#include "libhotel/wire/json.h"
#include "libhotel/wire/payload.h"
#include "libhotel/wire/stream_frame.h"
#include "tests/fuzz/require.h"

namespace {

using hotel::Endpoint;
using hotel::TokenUsage;
using hotel::fuzz::Require;
using hotel::wire::Answer;
using hotel::wire::Dialect;
using hotel::wire::StreamFrame;

constexpr std::array<std::string_view, 8> kEvents = {"",
                                                     "error",
                                                     "ping",
                                                     "message_stop",
                                                     "response.completed",
                                                     "response.created",
                                                     "content_block_delta",
                                                     "response.output_text.delta"};

bool Same(const StreamFrame& a, const StreamFrame& b) {
  return a.kind == b.kind && a.error_status == b.error_status && a.finished == b.finished &&
         a.output_inside == b.output_inside && a.usage_only == b.usage_only && a.usage == b.usage;
}
bool IsErrorStatus(int status) { return status >= 400 && status <= 599; }

void RequireSane(const std::optional<TokenUsage>& usage) {
  if (!usage) return;
  Require(usage->cached >= 0 && usage->cached <= usage->prompt, "cached tokens are of the prompt");
  Require(usage->reasoning >= 0 && usage->reasoning <= usage->completion,
          "reasoning tokens are of the completion");
  Require(!usage->estimated, "what was read is not guessed");
}

StreamFrame CheckFrame(Dialect dialect, std::string_view event, std::string_view text) {
  using Kind = StreamFrame::Kind;
  const StreamFrame frame = hotel::wire::ReadStreamFrame(dialect, event, text);
  Require(frame.kind == Kind::kError ? IsErrorStatus(frame.error_status) : frame.error_status == 0,
          "an error frame has an error status, others have none");
  if (event == "error") Require(frame.kind == Kind::kError, "event: error is an error");
  Require(
      Same(frame, hotel::wire::ReadStreamFrame(dialect, event, " \t" + std::string(text) + "\r\n")),
      "white space around a frame does not matter");
  if (frame.usage_only) Require(frame.kind == Kind::kNoOutput, "usage alone is no output");
  if (frame.output_inside) Require(frame.kind == Kind::kTerminator, "only an end repeats output");
  if (dialect != Dialect::kChat) {
    Require(!frame.finished && !frame.usage_only, "that is said of chat frames only");
  }
  if (dialect == Dialect::kPlain) Require(frame.kind != Kind::kMalformed, "any data is output");
  RequireSane(frame.usage);
  return frame;
}

Answer CheckAnswer(Endpoint endpoint, std::string_view text) {
  const Answer answer = hotel::wire::ReadAnswer(endpoint, text);
  Require(answer.kind == Answer::Kind::kHiddenError ? IsErrorStatus(answer.error_status)
                                                    : answer.error_status == 0,
          "a hidden error has an error status, others have none");
  if (answer.kind != Answer::Kind::kUndecodable) {
    hotel::wire::JsonCursor cursor(hotel::wire::TrimPayload(text));
    Require(cursor.Skip() && cursor.AtEnd(), "what is decoded is JSON");
  }
  RequireSane(answer.usage);
  return answer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view event = kEvents[data[0] % kEvents.size()];
  const std::string_view text = hotel::fuzz::AsText(data + 1, size - 1);

  for (const Dialect dialect : {Dialect::kMessages, Dialect::kResponses, Dialect::kPlain}) {
    CheckFrame(dialect, event, text);
  }
  for (const Endpoint endpoint :
       {Endpoint::kMessages, Endpoint::kResponses, Endpoint::kEmbeddings}) {
    CheckAnswer(endpoint, text);
  }
  const StreamFrame frame = CheckFrame(Dialect::kChat, event, text);
  const Answer answer = CheckAnswer(Endpoint::kChatCompletions, text);
  if (answer.kind != Answer::Kind::kUndecodable && event.empty()) {
    Require(frame.kind != StreamFrame::Kind::kMalformed, "what is decoded as an answer is JSON");
  }
  if (answer.kind == Answer::Kind::kGood && event.empty()) {
    Require(frame.kind == StreamFrame::Kind::kOutput || frame.kind == StreamFrame::Kind::kError,
            "what an answer says a frame says too");
  }
  return 0;
}
