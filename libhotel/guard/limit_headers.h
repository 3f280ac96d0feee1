// What a refused client is told of the limit it met (facts o).
#ifndef HOTEL_GUARD_LIMIT_HEADERS_H_
#define HOTEL_GUARD_LIMIT_HEADERS_H_

#include <string_view>

#include "hotel/types.h"

namespace hotel::guard {

/// Whole seconds, at least 1.
Header RetryAfter(Duration wait);

/// Retry-After and X-RateLimit-Limit, -Remaining, -Burst, -Scope ("ip", "key").
HeaderList LimitHeaders(double limit, double burst, double available, std::string_view scope,
                        Duration wait);

}  // namespace hotel::guard

#endif  // HOTEL_GUARD_LIMIT_HEADERS_H_
