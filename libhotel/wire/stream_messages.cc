#include <string_view>

#include "libhotel/wire/messages_parts.h"
#include "libhotel/wire/stream_reader.h"
#include "libhotel/wire/usage.h"

namespace hotel::wire {
namespace {

using Kind = StreamFrame::Kind;

struct MessagesFrame : FrameMembers {
  // Foreign here and no end of a message: only message_stop is (R35).
  static constexpr Kind kDone = Kind::kNoOutput;
  static constexpr Kind kBroken = Kind::kMalformed;
  static Kind KindOfNothing(std::string_view event_name) noexcept {
    return event_name == "message_stop" ? Kind::kTerminator : Kind::kNoOutput;
  }

  bool ReadMember(JsonCursor& cursor, std::string_view key) {
    any_member_ = true;
    if (JsonTextIs(key, "type")) return ReadType(cursor);
    if (JsonTextIs(key, "delta") || JsonTextIs(key, "content_block")) {
      // A delta that is no object is a form of its own.
      strange_ = strange_ || cursor.Peek() != JsonKind::kObject;
      return ReadBlock(cursor, &block_output_);
    }
    if (JsonTextIs(key, "usage")) return ReadUsage(cursor, &usage);
    if (JsonTextIs(key, "message")) return ReadMessageUsage(cursor, &usage);
    if (JsonTextIs(key, "error")) return ReadErrorValue(cursor, &error);
    if (JsonTextIs(key, "code")) return ReadStatusCode(cursor, &code_status);
    return cursor.Skip();
  }

  Kind KindOf(std::string_view event_name) const {
    const std::string_view name = Name(event_name);
    if (name.empty() && !any_member_) return Kind::kNoOutput;
    if (JsonTextIs(name, "error")) return Kind::kError;
    return KindOfMessagesEvent(name, block_output_ || strange_);
  }

 private:
  bool any_member_ = false;
  bool block_output_ = false;
  bool strange_ = false;
};

}  // namespace

StreamFrame ReadMessagesFrame(std::string_view event_name, std::string_view data) {
  return ReadFrame<MessagesFrame>(event_name, data);
}

}  // namespace hotel::wire
