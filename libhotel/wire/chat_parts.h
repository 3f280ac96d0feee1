// The pieces that frames and whole answers of the chat dialect have in common.
#ifndef HOTEL_WIRE_CHAT_PARTS_H_
#define HOTEL_WIRE_CHAT_PARTS_H_

#include <optional>

#include "hotel/request_log.h"  // TokenUsage

#include "libhotel/wire/json.h"

namespace hotel::wire {

/// One element of `choices`.
struct ChatChoice {
  bool is_object = false;
  bool output = false;              ///< its delta, message or legacy text carries model output
  bool delta = false;               ///< has a `delta` that is an object or null
  bool message = false;             ///< has a `message` that is not null
  bool text = false;                ///< has a `text` member
  bool unknown_delta = false;       ///< `delta` is something else
  bool unknown_member = false;      ///< has members outside of the known ones
  bool finish_reason = false;       ///< a non-empty finish_reason
  bool finish_explains = false;     ///< ... that explains an empty answer: length, content_filter
  std::optional<TokenUsage> usage;  ///< some providers tell it here
};
bool ReadChatChoice(JsonCursor& cursor, ChatChoice* choice);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_CHAT_PARTS_H_
