// The standard RateLimitClassifier: wording table, codes and stated waits put together.
#ifndef HOTEL_DECIDE_RATE_LIMIT_CLASSIFIER_H_
#define HOTEL_DECIDE_RATE_LIMIT_CLASSIFIER_H_

#include "hotel/rate_limit.h"

namespace hotel::decide {

/// What `refusal` says, whatever its status. Pure; allocates a buffer of the body's size. May throw
/// std::bad_alloc and nothing else.
RateLimitReading ReadRefusal(const UpstreamRefusal& refusal, Duration max_wait);

class StandardClassifier : public RateLimitClassifier {
 public:
  RateLimitReading Read(const UpstreamRefusal& refusal, Duration max_wait) const noexcept override;
  RateLimitReading ReadWords(const UpstreamRefusal& refusal,
                             Duration max_wait) const noexcept override;
};

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_RATE_LIMIT_CLASSIFIER_H_
