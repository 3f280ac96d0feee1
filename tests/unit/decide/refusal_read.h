// Short ways to ask the classifier.
#ifndef HOTEL_TESTS_UNIT_DECIDE_REFUSAL_READ_H_
#define HOTEL_TESTS_UNIT_DECIDE_REFUSAL_READ_H_

#include <chrono>
#include <string>
#include <string_view>

#include "hotel/rate_limit.h"

#include "libhotel/base/time_text.h"
#include "libhotel/decide/rate_limit_classifier.h"

namespace hotel::decide {

inline constexpr auto kSaturated = RefusalClass::kSaturated;
inline constexpr auto kExhausted = RefusalClass::kExhausted;
inline constexpr auto kUnknown = RefusalClass::kUnknown;
inline constexpr Duration kMaxWait = std::chrono::seconds(60);

inline RateLimitReading Read(std::string_view body, const HeaderList& headers = {},
                             std::string_view now = "2026-09-01T10:00:00Z", int status = 429) {
  return StandardClassifier().Read({status, &headers, body, *base::ParseTime(now), ""}, kMaxWait);
}

inline RateLimitReading ReadAs(int status, std::string_view body, const HeaderList& headers = {}) {
  return StandardClassifier().ReadWords({status, &headers, body, {}, ""}, kMaxWait);
}

/// An error object of the usual shape.
inline std::string Error(std::string_view message, std::string_view type = "",
                         std::string_view code = "") {
  std::string body = "{\"error\":{\"message\":\"";
  body.append(message).append("\",\"type\":\"").append(type);
  return body.append("\",\"param\":null,\"code\":\"").append(code).append("\"}}");
}

}  // namespace hotel::decide

#endif  // HOTEL_TESTS_UNIT_DECIDE_REFUSAL_READ_H_
