#include <array>
#include <string_view>

#include "libhotel/wire/chat_parts.h"
#include "libhotel/wire/messages_parts.h"
#include "libhotel/wire/stream_reader.h"
#include "libhotel/wire/usage.h"

namespace hotel::wire {
namespace {

using Kind = StreamFrame::Kind;

// A frame without `choices` that has only these says nothing.
constexpr std::array<std::string_view, 6> kSilentMembers = {
    "id", "object", "created", "model", "system_fingerprint", "service_tier"};

// A choice of unknown shape counts: an unknown dialect must never be cut.
bool IsOutput(const ChatChoice& choice) {
  if (!choice.is_object || choice.output || choice.unknown_delta || choice.message) return true;
  return !choice.delta && !choice.text && choice.unknown_member;
}

struct ChatFrame : FrameMembers {
  static constexpr Kind kDone = Kind::kTerminator;
  static constexpr Kind kBroken = Kind::kMalformed;
  static Kind KindOfNothing(std::string_view event_name) noexcept {
    return event_name == "message_stop" ? Kind::kTerminator : Kind::kNoOutput;
  }

  bool ReadMember(JsonCursor& cursor, std::string_view key) {
    if (JsonTextIs(key, "choices")) return ReadChoices(cursor);
    if (JsonTextIs(key, "error")) return ReadErrorValue(cursor, &error);
    if (JsonTextIs(key, "usage")) {
      usage_object_ = usage_object_ || cursor.Peek() == JsonKind::kObject;
      return ReadUsage(cursor, &usage);
    }
    if (IsOneOf(key, kSilentMembers)) return cursor.Skip();
    unknown_member_ = true;
    if (JsonTextIs(key, "type")) return ReadType(cursor);
    if (JsonTextIs(key, "code")) return ReadStatusCode(cursor, &code_status);
    // Some providers write events of the messages dialect on chat streams too.
    if (JsonTextIs(key, "content_block") || JsonTextIs(key, "delta")) {
      return ReadBlock(cursor, &block_output_);
    }
    if (JsonTextIs(key, "message")) return ReadMessageUsage(cursor, &usage);
    return cursor.Skip();
  }

  Kind KindOf(std::string_view event_name) {
    usage_only = usage_object_ && !any_choice_ && (choices_array_ || !unknown_member_);
    if (choices_array_) return choice_output_ ? Kind::kOutput : Kind::kNoOutput;
    if (strange_choices_) return Kind::kOutput;
    if (!has_type && !unknown_member_ && event_name != "message_stop") return Kind::kNoOutput;
    return KindOfMessagesEvent(Name(event_name), block_output_);
  }

 private:
  bool ReadChoices(JsonCursor& cursor) {
    const JsonKind kind = cursor.Peek();
    if (kind != JsonKind::kArray) {
      strange_choices_ = kind != JsonKind::kNull;
      return cursor.Skip();
    }
    choices_array_ = true;
    return cursor.Array([&] {
      any_choice_ = true;
      ChatChoice choice;
      if (!ReadChatChoice(cursor, &choice)) return false;
      if (IsOutput(choice)) choice_output_ = true;
      if (choice.finish_reason) finished = true;
      if (choice.usage) MergeUsage(*choice.usage, &usage);
      return true;
    });
  }

  bool choices_array_ = false;
  bool any_choice_ = false;
  bool strange_choices_ = false;  // neither array nor null
  bool unknown_member_ = false;
  bool choice_output_ = false;
  bool block_output_ = false;
  bool usage_object_ = false;
};

}  // namespace

StreamFrame ReadChatFrame(std::string_view event_name, std::string_view data) {
  return ReadFrame<ChatFrame>(event_name, data);
}

}  // namespace hotel::wire
