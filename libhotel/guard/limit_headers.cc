#include "libhotel/guard/limit_headers.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>

namespace hotel::guard {
namespace {

std::string Whole(double number) {
  return std::to_string(static_cast<std::int64_t>(std::floor(std::max(0.0, number))));
}

}  // namespace

Header RetryAfter(Duration wait) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
  return {"retry-after", std::to_string(std::max<std::int64_t>(seconds, 1))};
}

HeaderList LimitHeaders(double limit, double burst, double available, std::string_view scope,
                        Duration wait) {
  return {RetryAfter(wait),
          {"x-ratelimit-limit", Whole(limit)},
          {"x-ratelimit-remaining", Whole(available)},
          {"x-ratelimit-burst", Whole(burst)},
          {"x-ratelimit-scope", std::string(scope)}};
}

}  // namespace hotel::guard
