// The wire words of the public enumerations, one table each.
#include "hotel/circuit_breaker.h"
#include "hotel/discovery.h"
#include "hotel/dispatcher.h"
#include "hotel/types.h"

namespace hotel {

const char* ErrorKindName(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::kNone:
      return "";
    case ErrorKind::kClientDisconnect:
      return "client_disconnect";
    case ErrorKind::kProviderError:
      return "provider_error";
    case ErrorKind::kProviderModelGone:
      return "provider_model_gone";
    case ErrorKind::kProviderNotEntitled:
      return "provider_not_entitled";
    case ErrorKind::kProviderBadRequest:
      return "provider_bad_request";
    case ErrorKind::kProviderSaturated:
      return "provider_saturated";
    case ErrorKind::kHedgeSuperseded:
      return "hedge_superseded";
    case ErrorKind::kProviderQuotaExhausted:
      return "provider_quota_exhausted";
    case ErrorKind::kProviderTimeout:
      return "provider_timeout";
    case ErrorKind::kFailoverTimeout:
      return "failover_timeout";
    case ErrorKind::kInternal:
      return "internal";
    case ErrorKind::kValidation:
      return "validation";
    case ErrorKind::kAuth:
      return "auth";
    case ErrorKind::kRateLimit:
      return "rate_limit";
    case ErrorKind::kBudget:
      return "budget";
  }
  return "";
}

const char* CircuitStateName(CircuitState state) noexcept {
  switch (state) {
    case CircuitState::kClosed:
      return "closed";
    case CircuitState::kOpen:
      return "open";
    case CircuitState::kHalfOpen:
      return "half-open";
  }
  return "";
}

const char* BreakerEffectName(BreakerEffect effect) noexcept {
  switch (effect) {
    case BreakerEffect::kCharge:
      return "charge";
    case BreakerEffect::kNoop:
      return "noop";
    case BreakerEffect::kSuccess:
      return "success";
    case BreakerEffect::kAlive:
      return "alive";
    case BreakerEffect::kSkipped:
      return "skipped";
    case BreakerEffect::kDisabled:
      return "disabled";
  }
  return "";
}

const char* TransportPhaseName(TransportPhase phase) noexcept {
  switch (phase) {
    case TransportPhase::kNotSent:
      return "not_sent";
    case TransportPhase::kSent:
      return "sent";
    case TransportPhase::kHead:
      return "head";
    case TransportPhase::kBody:
      return "body";
  }
  return "";
}

const char* TransportErrorName(TransportError error) noexcept {
  switch (error) {
    case TransportError::kNone:
      return "none";
    case TransportError::kResolve:
      return "resolve";
    case TransportError::kRefusedAddress:
      return "refused_address";
    case TransportError::kConnect:
      return "connect";
    case TransportError::kConnectTimeout:
      return "connect_timeout";
    case TransportError::kTls:
      return "tls";
    case TransportError::kInterrupted:
      return "interrupted";
    case TransportError::kProtocol:
      return "protocol";
    case TransportError::kLocal:
      return "local";
    case TransportError::kTooLarge:
      return "too_large";
    case TransportError::kOther:
      return "other";
  }
  return "";
}

const char* DiscoveryStateName(DiscoveryState state) noexcept {
  switch (state) {
    case DiscoveryState::kConfigured:
      return "configured";
    case DiscoveryState::kStarting:
      return "starting";
    case DiscoveryState::kFresh:
      return "fresh";
    case DiscoveryState::kStale:
      return "stale";
    case DiscoveryState::kNeverSucceeded:
      return "never_succeeded";
  }
  return "";
}

}  // namespace hotel
