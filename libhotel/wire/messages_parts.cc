#include "libhotel/wire/messages_parts.h"

#include <array>

#include "libhotel/wire/payload.h"
#include "libhotel/wire/usage.h"

namespace hotel::wire {
namespace {

constexpr std::array<std::string_view, 4> kSilentEvents = {"message_start", "ping", "message_delta",
                                                           "content_block_stop"};
constexpr std::array<std::string_view, 2> kBlockEvents = {"content_block_start",
                                                          "content_block_delta"};
// The type, an id, a signature or empty citations alone are no output.
constexpr std::array<std::string_view, 8> kBlockOutput = {
    "text", "thinking", "partial_json", "input", "name", "data", "content", "citation"};

}  // namespace

bool ReadBlock(JsonCursor& cursor, bool* output) {
  if (cursor.Peek() != JsonKind::kObject) return cursor.Skip();
  return cursor.Object([&](std::string_view key) {
    return IsOneOf(key, kBlockOutput) ? ReadText(cursor, output) : cursor.Skip();
  });
}

bool ReadMessageUsage(JsonCursor& cursor, std::optional<TokenUsage>* usage) {
  if (cursor.Peek() != JsonKind::kObject) return cursor.Skip();
  return cursor.Object([&](std::string_view key) {
    return JsonTextIs(key, "usage") ? ReadUsage(cursor, usage) : cursor.Skip();
  });
}

StreamFrame::Kind KindOfMessagesEvent(std::string_view raw_name, bool block_output) {
  using Kind = StreamFrame::Kind;
  if (JsonTextIs(raw_name, "message_stop")) return Kind::kTerminator;
  if (IsOneOf(raw_name, kSilentEvents)) return Kind::kNoOutput;
  if (IsOneOf(raw_name, kBlockEvents)) return block_output ? Kind::kOutput : Kind::kNoOutput;
  return Kind::kOutput;
}

}  // namespace hotel::wire
