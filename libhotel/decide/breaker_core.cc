#include "libhotel/decide/breaker_core.h"

#include <algorithm>

#include "libhotel/decide/spans.h"

namespace hotel::decide {
namespace {

Transition Open(Circuit& circuit, const CircuitBreakerSettings& settings, TimePoint now) noexcept {
  const Transition transition =
      circuit.state == CircuitState::kHalfOpen ? Transition::kReopened : Transition::kOpened;
  circuit.state = CircuitState::kOpen;
  circuit.consecutive_fails = std::max(circuit.consecutive_fails, settings.failure_threshold);
  circuit.opened_at = now;
  ++circuit.generation;
  return transition;
}

Settled Charge(Circuit& circuit, bool at_once, const CircuitBreakerSettings& settings,
               TimePoint now) noexcept {
  // Who is open already has nothing more to lose: a direct call that fails changes nothing.
  if (circuit.state == CircuitState::kOpen) return {BreakerEffect::kNoop, Transition::kNone};
  if (circuit.state == CircuitState::kClosed) {
    ++circuit.consecutive_fails;
    if (!at_once && circuit.consecutive_fails < settings.failure_threshold) {
      return {BreakerEffect::kCharge, Transition::kNone};
    }
  }
  return {BreakerEffect::kCharge, Open(circuit, settings, now)};
}

Settled Credit(Circuit& circuit, BreakerEffect effect) noexcept {
  switch (circuit.state) {
    case CircuitState::kOpen:
      return {BreakerEffect::kNoop, Transition::kNone};
    case CircuitState::kClosed:
      circuit.consecutive_fails = 0;
      return {effect, Transition::kNone};
    case CircuitState::kHalfOpen:
      break;
  }
  circuit.state = CircuitState::kClosed;
  circuit.consecutive_fails = 0;
  ++circuit.generation;
  return {effect, Transition::kClosed};
}

}  // namespace

bool Enforced(const CircuitBreakerSettings& settings) noexcept {
  return settings.enabled && settings.failure_threshold > 0;
}

std::optional<TimePoint> BlockedUntil(const Circuit& circuit,
                                      const CircuitBreakerSettings& settings,
                                      TimePoint now) noexcept {
  if (circuit.state != CircuitState::kOpen || !Enforced(settings)) return std::nullopt;
  const TimePoint until = After(circuit.opened_at, settings.timeout);
  if (now >= until) return std::nullopt;
  return until;
}

Transition Admit(Circuit& circuit, const CircuitBreakerSettings& settings, TimePoint now) noexcept {
  if (circuit.state != CircuitState::kOpen || !Enforced(settings) ||
      BlockedUntil(circuit, settings, now).has_value()) {
    return Transition::kNone;
  }
  circuit.state = CircuitState::kHalfOpen;
  ++circuit.generation;
  return Transition::kHalfOpened;
}

Settled Settle(Circuit& circuit, std::uint64_t generation, const CircuitReport& report,
               const CircuitBreakerSettings& settings, TimePoint now) {
  if (!Enforced(settings)) return {BreakerEffect::kDisabled, Transition::kNone};
  if (report.verdict == Verdict::kAbandoned) return {};
  circuit.last_cause = report.cause;
  circuit.last_status = report.status;
  circuit.last_at = now;
  if (generation != circuit.generation) return {};
  switch (report.verdict) {
    case Verdict::kSuccess:
      return Credit(circuit, BreakerEffect::kSuccess);
    case Verdict::kAlive:
      return Credit(circuit, BreakerEffect::kAlive);
    case Verdict::kFailure:
      return Charge(circuit, /*at_once=*/false, settings, now);
    case Verdict::kOpenNow:
      return Charge(circuit, /*at_once=*/true, settings, now);
    case Verdict::kNeutral:
    case Verdict::kAbandoned:
      break;
  }
  return {};
}

CircuitState LogicalState(const Circuit& circuit, const CircuitBreakerSettings& settings,
                          TimePoint now) noexcept {
  if (circuit.state == CircuitState::kOpen && now >= After(circuit.opened_at, settings.timeout)) {
    return CircuitState::kHalfOpen;
  }
  return circuit.state;
}

}  // namespace hotel::decide
