#include <array>
#include <string_view>

#include "libhotel/base/strings.h"
#include "libhotel/wire/responses_parts.h"
#include "libhotel/wire/stream_reader.h"
#include "libhotel/wire/usage.h"

namespace hotel::wire {
namespace {

using Kind = StreamFrame::Kind;

constexpr std::array<std::string_view, 3> kTerminators = {"response.completed",
                                                          "response.incomplete", "response.done"};
constexpr std::array<std::string_view, 2> kFailures = {"response.failed", "error"};
constexpr std::array<std::string_view, 6> kSilentEvents = {
    "response.created", "response.in_progress", "response.queued",
    "keepalive",        "response.keepalive",   "ping"};
// Where an event keeps what the model wrote.
constexpr std::array<std::string_view, 7> kPayloads = {"delta",     "text",  "part",      "refusal",
                                                       "arguments", "input", "transcript"};

struct ResponsesFrame : FrameMembers {
  static constexpr Kind kDone = Kind::kTerminator;  // R35
  static constexpr Kind kBroken = Kind::kMalformed;
  static Kind KindOfNothing(std::string_view event_name) {
    return IsOneOf(event_name, kTerminators) ? Kind::kTerminator
           : IsOneOf(event_name, kFailures)  ? Kind::kError
                                             : Kind::kNoOutput;
  }

  bool ReadMember(JsonCursor& cursor, std::string_view key) {
    any_member_ = true;
    if (JsonTextIs(key, "type")) return ReadType(cursor);
    if (IsOneOf(key, kPayloads)) {
      payload_ = true;
      return ReadText(cursor, &carries_);
    }
    if (JsonTextIs(key, "item")) {
      payload_ = true;
      return ReadItem(cursor, &carries_);
    }
    if (JsonTextIs(key, "response")) return ReadResponse(cursor);
    if (JsonTextIs(key, "error")) return ReadErrorValue(cursor, &error);
    if (JsonTextIs(key, "usage")) return ReadUsage(cursor, &usage);
    if (JsonTextIs(key, "code")) return ReadStatusCode(cursor, &code_status);
    return cursor.Skip();
  }

  Kind KindOf(std::string_view event_name) {
    const std::string_view name = Name(event_name);
    const bool failed = IsOneOf(name, kFailures);
    if (failed || IsOneOf(name, kTerminators)) {
      // The reason stands in the response, under whatever name the last event comes.
      if (response_.error.carries) error = response_.error;
      output_inside = response_.output;
      return failed || error.carries ? Kind::kError : Kind::kTerminator;
    }
    if (IsOneOf(name, kSilentEvents)) return Kind::kNoOutput;
    if (payload_) return carries_ ? Kind::kOutput : Kind::kNoOutput;
    return name.empty() && !any_member_ ? Kind::kNoOutput : Kind::kOutput;
  }

 private:
  bool ReadResponse(JsonCursor& cursor) {
    if (cursor.Peek() != JsonKind::kObject) return cursor.Skip();
    const bool read = cursor.Object(
        [&](std::string_view key) { return ReadResponseMember(cursor, key, &response_); });
    if (response_.usage) MergeUsage(*response_.usage, &usage);
    return read;
  }

  bool any_member_ = false;
  bool payload_ = false;
  bool carries_ = false;
  Response response_;
};

}  // namespace

StreamFrame ReadResponsesFrame(std::string_view event_name, std::string_view data) {
  return ReadFrame<ResponsesFrame>(event_name, data);
}

}  // namespace hotel::wire
