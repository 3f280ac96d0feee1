// The one word for how a provider is doing (R80, R81, R85, R90).
#ifndef HOTEL_DECIDE_PROVIDER_STATUS_H_
#define HOTEL_DECIDE_PROVIDER_STATUS_H_

#include "hotel/circuit_breaker.h"
#include "hotel/discovery.h"

namespace hotel::decide {

/// From best to worst; what is switched off is neither.
enum class ProviderStatus {
  kDisabled,     ///< an operator switched it off
  kHealthy,      ///< its list of models was read
  kConfigured,   ///< nobody asks it for its models
  kStarting,     ///< it is being asked for the first time
  kDegraded,     ///< requests for one of its models keep failing
  kRecovering,   ///< a circuit is half-open
  kCircuitOpen,  ///< a circuit is open
  kOffline,      ///< its list was read once and cannot be read now
  kUnhealthy,    ///< its list was never read
};
inline constexpr ProviderStatus kProviderStatuses[] = {
    ProviderStatus::kHealthy,  ProviderStatus::kConfigured, ProviderStatus::kStarting,
    ProviderStatus::kDegraded, ProviderStatus::kRecovering, ProviderStatus::kCircuitOpen,
    ProviderStatus::kOffline,  ProviderStatus::kUnhealthy,  ProviderStatus::kDisabled};
/// "circuit_open", for programs. Static storage.
const char* ProviderStatusName(ProviderStatus status) noexcept;
/// "Circuit Open", for people. Static storage.
const char* ProviderStatusLabel(ProviderStatus status) noexcept;

/// What is known of a provider.
struct ProviderSigns {
  bool enabled = true;
  DiscoveryState discovery = DiscoveryState::kConfigured;
  bool failing = false;                          ///< ProviderHealth::degraded
  CircuitState circuit = CircuitState::kClosed;  ///< its most degraded one
};

/// The worst of what discovery, the requests and the circuits say: requests that go well make
/// nothing better (R80).
ProviderStatus StatusOf(const ProviderSigns& signs) noexcept;

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_PROVIDER_STATUS_H_
