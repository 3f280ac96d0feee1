// What is known about the quota of providers, as the circuit breaker asks for it.
#ifndef HOTEL_QUOTA_ADVISOR_H_
#define HOTEL_QUOTA_ADVISOR_H_

#include <optional>
#include <string>
#include <string_view>

#include "hotel/types.h"

namespace hotel {

/// One reading of a provider's account.
struct QuotaReading {
  enum class Kind {
    kUnknown,         ///< unreadable, stale, or the last refresh failed: no advice either way
    kHealthy,         ///< affirmatively not spent
    kExhausted,       ///< the window is spent
    kReserveReached,  ///< the share kept back for others is reached
  };
  Kind kind = Kind::kUnknown;
  /// When the spent window begins anew; without it a spent reading is no advice.
  std::optional<TimePoint> resets_at{};

  /// Spent, with a date behind `now`.
  bool Advises(TimePoint now) const noexcept {
    return (kind == Kind::kExhausted || kind == Kind::kReserveReached) && resets_at &&
           *resets_at > now;
  }
};

/// A reading with whom it is about.
struct QuotaAdvice {
  std::string provider_id;    ///< UUID; identity
  std::string provider_name;  ///< routing form
  QuotaReading reading;
};

/// Answers from memory. Thread-safe; never blocks on I/O; called once per charged report and with
/// no lock held.
class QuotaAdvisor {
 public:
  virtual ~QuotaAdvisor() = default;
  /// The latest reading; kUnknown when there is none.
  virtual QuotaReading Reading(std::string_view provider_id) const noexcept = 0;
};

}  // namespace hotel

#endif  // HOTEL_QUOTA_ADVISOR_H_
