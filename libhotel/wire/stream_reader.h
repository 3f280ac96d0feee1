// How a frame of any dialect is read; the dialects differ in the members they look at and in what
// these mean.
#ifndef HOTEL_WIRE_STREAM_READER_H_
#define HOTEL_WIRE_STREAM_READER_H_

#include <optional>
#include <string_view>

#include "hotel/request_log.h"  // TokenUsage

#include "libhotel/wire/error_value.h"
#include "libhotel/wire/json.h"
#include "libhotel/wire/payload.h"
#include "libhotel/wire/stream_frame.h"

namespace hotel::wire {

/// What every dialect's frame has. A dialect derives from it and adds
///   static constexpr Kind kDone, kBroken:  what `[DONE]` and text that is not JSON are;
///   static Kind KindOfNothing(event_name): what an event without data is;
///   bool ReadMember(cursor, key):          reads one member of the object;
///   Kind KindOf(event_name):               judges it when all are read; not called for an object
///                                          with an error.
struct FrameMembers {
  bool has_type = false;
  std::string_view type;  ///< raw JSON string
  int code_status = 0;    ///< of a `code` beside no `error`
  bool finished = false;
  bool output_inside = false;
  bool usage_only = false;
  ErrorValue error;
  std::optional<TokenUsage> usage;

  /// The word that says what the frame is: its own `type`, else the event's name.
  std::string_view Name(std::string_view event_name) const { return has_type ? type : event_name; }

  int ErrorStatus() const {
    if (error.code_status != 0) return error.code_status;
    if (error.type_status != 0) return error.type_status;
    if (error.carries) return 502;
    // `event: error` with the error's members at the top.
    if (code_status != 0) return code_status;
    const int by_type = StatusOfErrorType(type);
    return by_type != 0 ? by_type : 502;
  }

  bool ReadType(JsonCursor& cursor) {
    if (cursor.Peek() != JsonKind::kString) return cursor.Skip();
    has_type = true;
    return cursor.String(&type);
  }
};

template <typename Frame>
StreamFrame ReadFrame(std::string_view event_name, std::string_view data) {
  using Kind = StreamFrame::Kind;
  const std::string_view text = TrimPayload(data);
  const bool error_event = event_name == "error";
  StreamFrame result;
  if (text == "[DONE]" && !error_event) {
    result.kind = Frame::kDone;
    return result;
  }
  JsonCursor cursor(text);
  Frame frame;
  const bool is_object = cursor.Peek() == JsonKind::kObject;
  const bool read =
      is_object ? cursor.Object([&](std::string_view key) { return frame.ReadMember(cursor, key); })
                : cursor.Skip();
  const bool whole = read && cursor.AtEnd();
  if (error_event) {
    result.kind = Kind::kError;
  } else if (text.empty()) {
    result.kind = Frame::KindOfNothing(event_name);
  } else if (cursor.too_deep() || (whole && !is_object)) {
    result.kind = Kind::kOutput;
  } else if (!whole) {
    result.kind = Frame::kBroken;
  } else {
    result.kind = frame.error.carries ? Kind::kError : frame.KindOf(event_name);
  }
  if (result.kind == Kind::kError) result.error_status = whole ? frame.ErrorStatus() : 502;
  if (!whole) return result;
  result.output_inside = frame.output_inside && result.kind == Kind::kTerminator;
  result.finished = frame.finished;
  result.usage_only = frame.usage_only && result.kind == Kind::kNoOutput;
  result.usage = frame.usage;
  return result;
}

StreamFrame ReadChatFrame(std::string_view event_name, std::string_view data);
StreamFrame ReadMessagesFrame(std::string_view event_name, std::string_view data);
StreamFrame ReadResponsesFrame(std::string_view event_name, std::string_view data);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_STREAM_READER_H_
