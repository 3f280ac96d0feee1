// Frames and answers of the chat dialect. The first byte picks the event name, the rest is the
// text.
#include "libhotel/wire/chat.h"

#include <array>
#include <string>
#include <string_view>

#include "tests/fuzz/require.h"

namespace {

using hotel::fuzz::Require;
using hotel::wire::ChatAnswer;
using hotel::wire::ChatFrame;

constexpr std::array<std::string_view, 4> kEvents = {"", "error", "ping", "message_stop"};

bool Same(const ChatFrame& a, const ChatFrame& b) {
  return a.kind == b.kind && a.error_status == b.error_status && a.finish_reason == b.finish_reason;
}
bool IsErrorStatus(int status) { return status >= 400 && status <= 599; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view event = kEvents[data[0] % kEvents.size()];
  const std::string_view text = hotel::fuzz::AsText(data + 1, size - 1);

  const ChatFrame frame = hotel::wire::ReadChatFrame(event, text);
  Require((frame.kind == ChatFrame::Kind::kError) == IsErrorStatus(frame.error_status),
          "an error frame has an error status, others have none");
  if (frame.kind != ChatFrame::Kind::kError) Require(frame.error_status == 0, "no stray status");
  if (event == "error") Require(frame.kind == ChatFrame::Kind::kError, "event: error is an error");
  Require(Same(frame, hotel::wire::ReadChatFrame(event, " \t" + std::string(text) + "\r\n")),
          "white space around a frame does not matter");

  const ChatAnswer answer = hotel::wire::ReadChatAnswer(text);
  Require((answer.kind == ChatAnswer::Kind::kHiddenError) == IsErrorStatus(answer.error_status),
          "a hidden error has an error status, others have none");
  if (answer.kind != ChatAnswer::Kind::kUndecodable && event.empty()) {
    Require(frame.kind != ChatFrame::Kind::kMalformed, "what is decoded as an answer is JSON");
  }
  if (answer.kind == ChatAnswer::Kind::kGood && event.empty()) {
    Require(frame.kind == ChatFrame::Kind::kOutput || frame.kind == ChatFrame::Kind::kError,
            "what an answer says a frame says too");
  }
  return 0;
}
