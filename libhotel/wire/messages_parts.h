// The pieces that frames and whole answers of the messages dialect have in common.
#ifndef HOTEL_WIRE_MESSAGES_PARTS_H_
#define HOTEL_WIRE_MESSAGES_PARTS_H_

#include <optional>
#include <string_view>

#include "hotel/request_log.h"  // TokenUsage

#include "libhotel/wire/json.h"
#include "libhotel/wire/stream_frame.h"

namespace hotel::wire {

/// Reads a content block or the delta of one; sets `output` when it carries text, thinking, tool
/// input, a tool's name, the content of a tool's result or redacted data. False on a fault.
bool ReadBlock(JsonCursor& cursor, bool* output);

/// Reads a `message` object for its usage (message_start). False on a fault.
bool ReadMessageUsage(JsonCursor& cursor, std::optional<TokenUsage>* usage);

/// Judges an event by its name (facts f); `block_output` is what ReadBlock found in it. Names that
/// are not known are output.
StreamFrame::Kind KindOfMessagesEvent(std::string_view raw_name, bool block_output);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_MESSAGES_PARTS_H_
