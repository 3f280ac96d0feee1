// Waits a provider states in headers.
#ifndef HOTEL_DECIDE_REFUSAL_HEADER_WAITS_H_
#define HOTEL_DECIDE_REFUSAL_HEADER_WAITS_H_

#include <optional>
#include <string_view>

#include "hotel/types.h"

namespace hotel::decide {

/// What the headers of a refusal say.
struct HeaderWait {
  std::optional<Duration> wait;
  bool unified_rejected = false;    ///< a subscription's window is spent
  bool short_window_spent = false;  ///< nothing remaining of a minute or less
  bool long_window_spent = false;   ///< nothing remaining of more
};
/// Retry-After in its forms, then the resets of spent dimensions. `spent_dimension` is the one the
/// body names ("tokens", "requests"), or "".
HeaderWait ReadHeaderWait(const HeaderList& headers, WallTime now,
                          std::string_view spent_dimension);

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_REFUSAL_HEADER_WAITS_H_
