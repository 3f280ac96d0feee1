#include <memory>

#include "hotel/defaults.h"

#include "libhotel/decide/rate_limit_classifier.h"

namespace hotel {

std::unique_ptr<RateLimitClassifier> MakeRateLimitClassifier() {
  return std::make_unique<decide::StandardClassifier>();
}

}  // namespace hotel
