// A bucket that lets so much through in a second, and so much at once.
//
// Pure. It keeps what was taken, not what is left: rate and burst come with every question, so that
// changing them gives nothing back (field report F193).
#ifndef HOTEL_DECIDE_TOKEN_BUCKET_H_
#define HOTEL_DECIDE_TOKEN_BUCKET_H_

#include "hotel/types.h"

namespace hotel::decide {

struct BucketRate {
  double per_second = 0;  ///< 0 = nothing is limited
  double burst = 1;       ///< what may be taken at once

  bool limits() const noexcept { return per_second > 0; }
};

class TokenBucket {
 public:
  /// What is left; below zero where more was taken than there was.
  double Available(const BucketRate& rate, TimePoint now) noexcept;
  /// How long until `amount` is left. REQUIRES: rate.limits(), amount <= rate.burst.
  Duration WaitFor(double amount, const BucketRate& rate, TimePoint now) noexcept;
  /// Takes `amount`, whether or not so much is left.
  void Take(double amount, TimePoint now) noexcept;
  /// Puts back what was taken and is not used.
  void GiveBack(double amount, TimePoint now) noexcept { Take(-amount, now); }

 private:
  /// Lets time pass. Between two questions the slower of their rates holds: nobody knows when it
  /// was changed.
  void Advance(double per_second, TimePoint now) noexcept;

  double taken_ = 0;
  double per_second_ = 0;  ///< of the last question
  TimePoint at_{};
};

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_TOKEN_BUCKET_H_
