// The pieces that frames and whole answers of the chat dialect have in common.
#ifndef HOTEL_WIRE_CHAT_PARTS_H_
#define HOTEL_WIRE_CHAT_PARTS_H_

#include <string_view>

#include "libhotel/wire/json.h"

namespace hotel::wire {

/// Without a BOM in front and white space around.
std::string_view TrimPayload(std::string_view text) noexcept;

/// True when the raw JSON string means one of `words`.
template <typename Words>
bool IsOneOf(std::string_view raw, const Words& words) {
  for (const std::string_view word : words) {
    if (JsonTextIs(raw, word)) return true;
  }
  return false;
}

/// Members that make a body with `error` something else than a bare error (R24).
bool IsAnswerMember(std::string_view raw_key);

/// Reads the value at the cursor; sets `carries` when there is text in it (facts f): a string that
/// is not empty, at any depth, but not under the keys type, index and id. Numbers, booleans and
/// null are no text. False on a fault of the JSON.
bool ReadText(JsonCursor& cursor, bool* carries);

/// One element of `choices`.
struct ChatChoice {
  bool is_object = false;
  bool output = false;           ///< its delta, message or legacy text carries model output
  bool delta = false;            ///< has a `delta` that is an object or null
  bool message = false;          ///< has a `message` that is not null
  bool text = false;             ///< has a `text` member
  bool unknown_delta = false;    ///< `delta` is something else
  bool unknown_member = false;   ///< has members outside of the known ones
  bool finish_reason = false;    ///< a non-empty finish_reason
  bool finish_explains = false;  ///< ... that explains an empty answer: length, content_filter
};
bool ReadChatChoice(JsonCursor& cursor, ChatChoice* choice);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_CHAT_PARTS_H_
