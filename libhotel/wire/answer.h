// What a whole 2xx answer says, per endpoint (facts a; decisions 5 and 6).
#ifndef HOTEL_WIRE_ANSWER_H_
#define HOTEL_WIRE_ANSWER_H_

#include <optional>
#include <string_view>

#include "hotel/request_log.h"  // TokenUsage
#include "hotel/types.h"

namespace hotel::wire {

struct Answer {
  enum class Kind {
    kGood,
    kEmptyServed,   ///< no text but a reason or usage that explains it: served, not charged
    kEmptyCharged,  ///< no text, a reason that does not explain it: served, charged
    kEmpty,         ///< decoded, carries nothing and no reason: a failed attempt
    kHiddenError,   ///< a bare error body (R24); `error_status` is its numeric code or 502 (R25)
    kUndecodable,   ///< not JSON, or not an answer of this endpoint
  };
  Kind kind = Kind::kUndecodable;
  int error_status = 0;
  std::optional<TokenUsage> usage;
};

/// Judges the JSON body of a non-streaming 2xx. Chat, messages and responses are judged by their
/// content; of the other endpoints only what is no JSON or hides an error is refused. Not for the
/// passthrough. Pure and reentrant; accepts any bytes; text that is not UTF-8 is no reason to
/// refuse an answer.
Answer ReadAnswer(Endpoint endpoint, std::string_view body);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_ANSWER_H_
