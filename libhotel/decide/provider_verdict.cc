#include "libhotel/decide/provider_verdict.h"

#include <algorithm>

#include "libhotel/decide/breaker_core.h"
#include "libhotel/decide/cooldown.h"

namespace hotel::decide {

void ProviderVerdict::Add(const Circuit& circuit) noexcept {
  const auto until = BlockedUntil(circuit, *settings_, now_);
  if (!until) return;
  ++blocking_;
  if (CooldownInForce(circuit, *settings_).pinned) {
    ++pinned_;
    if (AccountWide(circuit.pin.source)) account_pinned_ = true;
  }
  until_ = std::min(until_, *until);
}

bool ProviderVerdict::open() const noexcept {
  return account_pinned_ || (settings_->scope == CircuitBreakerSettings::Scope::kModel &&
                             settings_->span_models > 0 && blocking_ >= settings_->span_models);
}

}  // namespace hotel::decide
