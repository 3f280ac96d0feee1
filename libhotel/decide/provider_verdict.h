// Whether a provider is skipped for all its models: derived from its circuits, never stored
// (facts d, "Provider verdict").
#ifndef HOTEL_DECIDE_PROVIDER_VERDICT_H_
#define HOTEL_DECIDE_PROVIDER_VERDICT_H_

#include "hotel/settings.h"
#include "hotel/types.h"

#include "libhotel/decide/circuit.h"

namespace hotel::decide {

/// Sums up the circuits of one provider. Those that refuse nobody count for nothing.
class ProviderVerdict {
 public:
  ProviderVerdict(const CircuitBreakerSettings* settings, TimePoint now) noexcept
      : settings_(settings), now_(now) {}

  void Add(const Circuit& circuit) noexcept;

  /// An account-wide pin is in force, or under scope model span_models circuits refuse.
  bool open() const noexcept;
  /// An account-wide pin is in force.
  bool account_pinned() const noexcept { return account_pinned_; }
  /// The circuits that refuse are all pinned. False when there are none.
  bool all_pinned() const noexcept { return blocking_ > 0 && pinned_ == blocking_; }
  /// The earliest end among the circuits that refuse. REQUIRES: open().
  TimePoint until() const noexcept { return until_; }

 private:
  const CircuitBreakerSettings* settings_;
  TimePoint now_;
  int blocking_ = 0;
  int pinned_ = 0;
  bool account_pinned_ = false;
  TimePoint until_ = TimePoint::max();
};

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_PROVIDER_VERDICT_H_
