// Errors that come under the status 200 (R23-R28; decisions 6).
#ifndef HOTEL_WIRE_HIDDEN_ERROR_H_
#define HOTEL_WIRE_HIDDEN_ERROR_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hotel::wire {

/// What a body hid. `status` drives retry, breaker and failover like a real one (R26).
struct HiddenError {
  int status = 0;       ///< 400-599
  std::string message;  ///< the provider's words (R27), as they came; may be empty
};

/// Reads a whole body. An error is what R24 says and nothing else: one JSON object with an `error`
/// that is not null and no member of an answer beside it. Its status is `error.code` in 400-599 as
/// a number or numeric string, the top-level `code` where `error` is no object, otherwise 502
/// (R25). A body that was cut off is no JSON value and therefore no error. Pure; accepts any bytes.
std::optional<HiddenError> ReadHiddenError(std::string_view body);

/// Bytes of a stream's start that are looked at (R28).
inline constexpr std::size_t kHiddenStartLimit = std::size_t{16} * 1024;

/// What the first bytes of an application/json answer to a streaming request are (R28).
struct HiddenStart {
  enum class Kind {
    kUndecided,  ///< the first object is not whole yet: call again with more
    kAnswer,     ///< no error; also when the limit is reached. Replay the bytes as they came
    kError,
  };
  Kind kind = Kind::kAnswer;
  HiddenError error;
};
/// Reads only the first top-level object of `received` (all bytes so far), never further, and never
/// asks for the end of the stream. An object with more than white space behind it is one frame of a
/// stream of objects and no error. `ended` = no more bytes will come.
HiddenStart ReadHiddenStart(std::string_view received, bool ended);

/// Bodies longer than this carry no business error of MiniMax (facts k).
inline constexpr std::size_t kMaxMinimaxEnvelope = std::size_t{64} * 1024;

/// The error in a `base_resp` envelope: status codes 1002, 1039 and 1008 become 429, 1004 becomes
/// 401, any other that is not 0 becomes 502. For providers of the type minimax only (decisions 10),
/// and never for event streams, audio or images. Accepts any bytes.
std::optional<HiddenError> ReadMinimaxEnvelope(std::string_view body);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_HIDDEN_ERROR_H_
