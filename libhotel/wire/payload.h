// What the readers of provider payloads have in common, whatever the dialect.
#ifndef HOTEL_WIRE_PAYLOAD_H_
#define HOTEL_WIRE_PAYLOAD_H_

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

/// Reads the value at the cursor; a string goes into `out` as it stands between its quotes,
/// anything else leaves `out` alone. False on a fault of the JSON.
bool TakeString(JsonCursor& cursor, std::string_view* out);

/// Reads the value at the cursor; sets `carries` when there is text in it (facts f): a string that
/// is not empty, at any depth, but not under the keys type, index and id. Numbers, booleans and
/// null are no text. False on a fault of the JSON.
bool ReadText(JsonCursor& cursor, bool* carries);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_PAYLOAD_H_
