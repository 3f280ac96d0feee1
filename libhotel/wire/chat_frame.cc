#include <array>
#include <string_view>

#include "libhotel/base/strings.h"
#include "libhotel/wire/chat.h"
#include "libhotel/wire/chat_parts.h"
#include "libhotel/wire/error_value.h"
#include "libhotel/wire/json.h"

namespace hotel::wire {
namespace {

using Kind = ChatFrame::Kind;

// A frame without `choices` that has only these says nothing.
constexpr std::array<std::string_view, 8> kSilentMembers = {
    "id", "object", "created", "model", "system_fingerprint", "service_tier", "usage", "choices"};

// Events of the messages dialect, which some providers write on chat streams too.
constexpr std::array<std::string_view, 4> kSilentTypes = {"message_start", "ping", "message_delta",
                                                          "content_block_stop"};
constexpr std::array<std::string_view, 2> kBlockTypes = {"content_block_start",
                                                         "content_block_delta"};
constexpr std::array<std::string_view, 6> kBlockText = {"text",  "thinking", "partial_json",
                                                        "input", "name",     "data"};

struct Frame {
  bool choices_array = false;
  bool strange_choices = false;  // neither array nor null
  bool unknown_member = false;
  bool choice_output = false;
  bool finish_reason = false;
  bool block_text = false;  // content_block or delta of the messages dialect carries something
  bool has_type = false;
  std::string_view type;  // raw
  int code_status = 0;    // a `code` beside no `error`
  ErrorValue error;
};

// A choice of unknown shape counts: an unknown dialect must never be cut.
bool IsOutput(const ChatChoice& choice) {
  if (!choice.is_object || choice.output || choice.unknown_delta || choice.message) return true;
  return !choice.delta && !choice.text && choice.unknown_member;
}

bool ReadChoices(JsonCursor& cursor, Frame* frame) {
  const JsonKind kind = cursor.Peek();
  if (kind != JsonKind::kArray) {
    frame->strange_choices = kind != JsonKind::kNull;
    return cursor.Skip();
  }
  frame->choices_array = true;
  return cursor.Array([&] {
    ChatChoice choice;
    if (!ReadChatChoice(cursor, &choice)) return false;
    if (IsOutput(choice)) frame->choice_output = true;
    if (choice.finish_reason) frame->finish_reason = true;
    return true;
  });
}

bool ReadBlock(JsonCursor& cursor, Frame* frame) {
  if (cursor.Peek() != JsonKind::kObject) return cursor.Skip();
  return cursor.Object([&](std::string_view key) {
    return IsOneOf(key, kBlockText) ? ReadText(cursor, &frame->block_text) : cursor.Skip();
  });
}

bool ReadMember(JsonCursor& cursor, std::string_view key, Frame* frame) {
  if (JsonTextIs(key, "choices")) return ReadChoices(cursor, frame);
  if (JsonTextIs(key, "error")) return ReadErrorValue(cursor, &frame->error);
  if (IsOneOf(key, kSilentMembers)) return cursor.Skip();
  frame->unknown_member = true;
  if (JsonTextIs(key, "type") && cursor.Peek() == JsonKind::kString) {
    frame->has_type = true;
    return cursor.String(&frame->type);
  }
  if (JsonTextIs(key, "code")) return ReadStatusCode(cursor, &frame->code_status);
  if (JsonTextIs(key, "content_block") || JsonTextIs(key, "delta")) return ReadBlock(cursor, frame);
  return cursor.Skip();
}

int ErrorStatus(const Frame& frame) {
  if (frame.error.code_status != 0) return frame.error.code_status;
  if (frame.error.type_status != 0) return frame.error.type_status;
  if (frame.error.carries) return 502;
  // `event: error` with the error's members at the top.
  if (frame.code_status != 0) return frame.code_status;
  const int by_type = StatusOfErrorType(frame.type);
  return by_type != 0 ? by_type : 502;
}

Kind KindOf(const Frame& frame, std::string_view event_name) {
  if (frame.choices_array) return frame.choice_output ? Kind::kOutput : Kind::kNoOutput;
  if (frame.strange_choices) return Kind::kOutput;
  if (!frame.has_type && !frame.unknown_member && event_name != "message_stop") {
    return Kind::kNoOutput;
  }
  const std::string_view type = frame.has_type ? frame.type : event_name;
  if (JsonTextIs(type, "message_stop")) return Kind::kTerminator;
  if (IsOneOf(type, kSilentTypes)) return Kind::kNoOutput;
  if (IsOneOf(type, kBlockTypes)) return frame.block_text ? Kind::kOutput : Kind::kNoOutput;
  return Kind::kOutput;
}

}  // namespace

ChatFrame ReadChatFrame(std::string_view event_name, std::string_view data) {
  const std::string_view text = TrimPayload(data);
  const bool error_event = event_name == "error";
  ChatFrame result;
  if (text == "[DONE]" && !error_event) {
    result.kind = Kind::kTerminator;
    return result;
  }
  JsonCursor cursor(text);
  Frame frame;
  const bool is_object = cursor.Peek() == JsonKind::kObject;
  const bool read =
      is_object
          ? cursor.Object([&](std::string_view key) { return ReadMember(cursor, key, &frame); })
          : cursor.Skip();
  const bool whole = read && cursor.AtEnd();
  if (error_event) {
    result.kind = Kind::kError;
    result.error_status = whole ? ErrorStatus(frame) : 502;
    result.finish_reason = whole && frame.finish_reason;
  } else if (text.empty()) {
    result.kind = event_name == "message_stop" ? Kind::kTerminator : Kind::kNoOutput;
  } else if (cursor.too_deep() || (whole && !is_object)) {
    result.kind = Kind::kOutput;
  } else if (!whole) {
    result.kind = Kind::kMalformed;
  } else {
    result.kind = frame.error.carries ? Kind::kError : KindOf(frame, event_name);
    if (result.kind == Kind::kError) result.error_status = ErrorStatus(frame);
    result.finish_reason = frame.finish_reason;
  }
  return result;
}

}  // namespace hotel::wire
