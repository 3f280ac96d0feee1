#include "libhotel/wire/chat_parts.h"

#include <array>
#include <string_view>

#include "libhotel/wire/payload.h"
#include "libhotel/wire/usage.h"

namespace hotel::wire {
namespace {

// The members of a delta or message that are model output.
constexpr std::array<std::string_view, 9> kOutputMembers = {
    "content",    "reasoning_content", "reasoning", "reasoning_details",
    "tool_calls", "function_call",     "images",    "audio",
    "refusal"};

constexpr std::array<std::string_view, 3> kSilentMembers = {"index", "native_finish_reason",
                                                            "logprobs"};
constexpr std::array<std::string_view, 2> kExplainingReasons = {"length", "content_filter"};

// A delta or message object.
bool ReadSpoken(JsonCursor& cursor, bool* output) {
  return cursor.Object([&](std::string_view key) {
    return IsOneOf(key, kOutputMembers) ? ReadText(cursor, output) : cursor.Skip();
  });
}

bool ReadFinishReason(JsonCursor& cursor, ChatChoice* choice) {
  if (cursor.Peek() != JsonKind::kString) return cursor.Skip();
  std::string_view raw;
  if (!cursor.String(&raw)) return false;
  if (!raw.empty()) choice->finish_reason = true;
  if (IsOneOf(raw, kExplainingReasons)) choice->finish_explains = true;
  return true;
}

bool ReadChoiceMember(JsonCursor& cursor, std::string_view key, ChatChoice* choice) {
  const JsonKind kind = cursor.Peek();
  if (JsonTextIs(key, "delta")) {
    choice->delta = choice->delta || kind == JsonKind::kObject || kind == JsonKind::kNull;
    if (kind == JsonKind::kObject) return ReadSpoken(cursor, &choice->output);
    choice->unknown_delta = choice->unknown_delta || kind != JsonKind::kNull;
    return cursor.Skip();
  }
  if (JsonTextIs(key, "message")) {
    choice->message = choice->message || kind != JsonKind::kNull;
    return kind == JsonKind::kObject ? ReadSpoken(cursor, &choice->output)
                                     : ReadText(cursor, &choice->output);
  }
  if (JsonTextIs(key, "text")) {
    choice->text = true;
    return ReadText(cursor, &choice->output);
  }
  if (JsonTextIs(key, "finish_reason")) return ReadFinishReason(cursor, choice);
  if (JsonTextIs(key, "usage")) return ReadUsage(cursor, &choice->usage);
  choice->unknown_member = choice->unknown_member || !IsOneOf(key, kSilentMembers);
  return cursor.Skip();
}

}  // namespace

bool ReadChatChoice(JsonCursor& cursor, ChatChoice* choice) {
  if (cursor.Peek() != JsonKind::kObject) return cursor.Skip();
  choice->is_object = true;
  return cursor.Object([&](std::string_view key) { return ReadChoiceMember(cursor, key, choice); });
}

}  // namespace hotel::wire
