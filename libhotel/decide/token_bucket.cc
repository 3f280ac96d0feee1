#include "libhotel/decide/token_bucket.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace hotel::decide {

void TokenBucket::Advance(double per_second, TimePoint now) noexcept {
  if (now > at_) {
    const double seconds = std::chrono::duration<double>(now - at_).count();
    taken_ = std::max(0.0, taken_ - seconds * std::min(per_second, per_second_));
    at_ = now;
  }
  per_second_ = per_second;
}

double TokenBucket::Available(const BucketRate& rate, TimePoint now) noexcept {
  Advance(rate.per_second, now);
  return rate.burst - taken_;
}

Duration TokenBucket::WaitFor(double amount, const BucketRate& rate, TimePoint now) noexcept {
  const double missing = amount - Available(rate, now);
  if (missing <= 0) return Duration::zero();
  // A century is forever; beyond it the nanoseconds would not fit.
  constexpr double kForever = 100.0 * 365 * 24 * 3600;
  const double seconds = std::min(kForever, missing / rate.per_second);
  return Duration(static_cast<Duration::rep>(std::ceil(seconds * 1e9)));
}

void TokenBucket::Take(double amount, TimePoint now) noexcept {
  Advance(per_second_, now);
  taken_ = std::max(0.0, taken_ + amount);
}

}  // namespace hotel::decide
