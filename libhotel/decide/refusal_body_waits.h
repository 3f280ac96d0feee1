// Waits a provider states in the body: in fields made for it, in retry details, in sentences.
#ifndef HOTEL_DECIDE_REFUSAL_BODY_WAITS_H_
#define HOTEL_DECIDE_REFUSAL_BODY_WAITS_H_

#include <optional>

#include "hotel/types.h"

#include "libhotel/decide/refusal_text.h"

namespace hotel::decide {

/// What the text says.
struct BodyWait {
  std::optional<Duration> wait;
  bool structured = false;  ///< it is a retry detail (Google's RetryInfo)
};
BodyWait ReadBodyWait(const RefusalText& text, WallTime now);

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_REFUSAL_BODY_WAITS_H_
