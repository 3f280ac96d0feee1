// The pieces that frames and whole answers of the responses dialect have in common.
#ifndef HOTEL_WIRE_RESPONSES_PARTS_H_
#define HOTEL_WIRE_RESPONSES_PARTS_H_

#include <optional>
#include <string_view>

#include "hotel/request_log.h"  // TokenUsage

#include "libhotel/wire/error_value.h"
#include "libhotel/wire/json.h"

namespace hotel::wire {

/// Reads one element of `output`; sets `output` when it carries text, a refusal, a reasoning
/// summary, a function's name or arguments, or is an item of another kind (the call of a built-in
/// tool), which is output by being there. False on a fault of the JSON.
bool ReadItem(JsonCursor& cursor, bool* output);

/// A response object, as a whole answer or inside an event.
struct Response {
  bool output_array = false;
  bool output = false;          ///< an item carries something
  std::string_view status;      ///< raw JSON string, "" when there is none
  std::string_view incomplete;  ///< incomplete_details.reason, raw
  ErrorValue error;
  std::optional<TokenUsage> usage;
};
/// Reads a member of a response object.
bool ReadResponseMember(JsonCursor& cursor, std::string_view key, Response* response);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_RESPONSES_PARTS_H_
