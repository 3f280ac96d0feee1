#include "libhotel/decide/provider_status.h"

#include <algorithm>

namespace hotel::decide {
namespace {

ProviderStatus ByDiscovery(DiscoveryState state) noexcept {
  switch (state) {
    case DiscoveryState::kConfigured:
      return ProviderStatus::kConfigured;
    case DiscoveryState::kStarting:
      return ProviderStatus::kStarting;
    case DiscoveryState::kFresh:
      return ProviderStatus::kHealthy;
    case DiscoveryState::kStale:
      return ProviderStatus::kOffline;
    case DiscoveryState::kNeverSucceeded:
      return ProviderStatus::kUnhealthy;
  }
  return ProviderStatus::kUnhealthy;
}

ProviderStatus ByRequests(const ProviderSigns& signs) noexcept {
  switch (signs.circuit) {
    case CircuitState::kOpen:
      return ProviderStatus::kCircuitOpen;
    case CircuitState::kHalfOpen:
      return ProviderStatus::kRecovering;
    case CircuitState::kClosed:
      break;
  }
  return signs.failing ? ProviderStatus::kDegraded : ProviderStatus::kHealthy;
}

}  // namespace

const char* ProviderStatusName(ProviderStatus status) noexcept {
  switch (status) {
    case ProviderStatus::kDisabled:
      return "disabled";
    case ProviderStatus::kHealthy:
      return "healthy";
    case ProviderStatus::kConfigured:
      return "configured";
    case ProviderStatus::kStarting:
      return "starting";
    case ProviderStatus::kDegraded:
      return "degraded";
    case ProviderStatus::kRecovering:
      return "recovering";
    case ProviderStatus::kCircuitOpen:
      return "circuit_open";
    case ProviderStatus::kOffline:
      return "offline";
    case ProviderStatus::kUnhealthy:
      return "unhealthy";
  }
  return "";
}

const char* ProviderStatusLabel(ProviderStatus status) noexcept {
  switch (status) {
    case ProviderStatus::kDisabled:
      return "Disabled";
    case ProviderStatus::kHealthy:
      return "Healthy";
    case ProviderStatus::kConfigured:
      return "Configured";
    case ProviderStatus::kStarting:
      return "Starting";
    case ProviderStatus::kDegraded:
      return "Degraded";
    case ProviderStatus::kRecovering:
      return "Recovering";
    case ProviderStatus::kCircuitOpen:
      return "Circuit Open";
    case ProviderStatus::kOffline:
      return "Offline";
    case ProviderStatus::kUnhealthy:
      return "Unhealthy";
  }
  return "";
}

ProviderStatus StatusOf(const ProviderSigns& signs) noexcept {
  if (!signs.enabled) return ProviderStatus::kDisabled;
  return std::max(ByDiscovery(signs.discovery), ByRequests(signs));
}

}  // namespace hotel::decide
