// What a refusal says, added to the end of the attempt that drew it.
#ifndef HOTEL_ROUTE_REFUSAL_READER_H_
#define HOTEL_ROUTE_REFUSAL_READER_H_

#include <string_view>

#include "hotel/circuit_breaker.h"
#include "hotel/rate_limit.h"
#include "hotel/types.h"

#include "libhotel/decide/attempt_types.h"
#include "libhotel/route/resolver.h"

namespace hotel::route {

/// The refusal as it came.
struct RefusalSeen {
  const HeaderList* headers = nullptr;  ///< null: of a 200 that hides the refusal
  std::string_view body;
  WallTime received_at{};
};

bool IsRefusal(const decide::AttemptEnd& end) noexcept;

/// Fills `end->refusal` and `end->retry_after`. REQUIRES: IsRefusal(*end). Returns the classifier's
/// reading of a 429, unclassified when there was nothing to read or `rate_limit.classify` is off.
RateLimitReading ReadRefusal(const RateLimitClassifier& classifier, const CircuitBreaker& breaker,
                             const Candidate& candidate, const RefusalSeen& seen, TimePoint now,
                             decide::AttemptEnd* end);

}  // namespace hotel::route

#endif  // HOTEL_ROUTE_REFUSAL_READER_H_
