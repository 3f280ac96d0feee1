#include "libhotel/decide/breaker_core.h"

#include <algorithm>
#include <chrono>

#include "libhotel/decide/spans.h"

namespace hotel::decide {
namespace {

constexpr Duration kWindow = std::chrono::hours(24);
constexpr int kOpensThatAreUnstable = 3;

/// Counts into a window that begins with its first member and runs `kWindow`. True when this one
/// begins a new window.
bool CountInWindow(int* count, TimePoint* since, TimePoint now) noexcept {
  const bool begins = *count == 0 || now - *since >= kWindow;
  if (begins) {
    *count = 0;
    *since = now;
  }
  ++*count;
  return begins;
}

/// A refused probe of a pin says that the window is still spent, not that it grows longer.
bool GrowsBackoff(const Circuit& circuit, const CircuitReport& report,
                  const CircuitBreakerSettings& settings) noexcept {
  const bool of_refusal =
      circuit.pin.source == PinSource::kResponse || circuit.pin.source == PinSource::kAccount;
  return report.verdict != Verdict::kOpenNow || !of_refusal ||
         !CooldownInForce(circuit, settings).pinned;
}

Settled Open(Circuit& circuit, const Charge& charge, const CircuitBreakerSettings& settings,
             TimePoint now, std::uint64_t* random) noexcept {
  const bool again = circuit.state == CircuitState::kHalfOpen;
  if (again && GrowsBackoff(circuit, *charge.report, settings)) ++circuit.failed_probes;
  if (charge.limited) {
    CountInWindow(&circuit.limited_opens, &circuit.limited_since, now);
  } else {
    circuit.limited_opens = 0;
  }
  circuit.backoff = EarnedBackoff(circuit, settings);
  circuit.pin = DrawPin({charge.reading, charge.report->pin}, circuit, settings, now, random);
  circuit.state = CircuitState::kOpen;
  circuit.consecutive_fails = std::max(circuit.consecutive_fails, settings.failure_threshold);
  circuit.opened_at = now;
  ++circuit.generation;

  if (CountInWindow(&circuit.opens, &circuit.opens_since, now)) circuit.unstable_told = false;
  const bool unstable = circuit.opens >= kOpensThatAreUnstable && !circuit.unstable_told;
  if (unstable) circuit.unstable_told = true;
  return {BreakerEffect::kCharge, again ? Transition::kReopened : Transition::kOpened, unstable};
}

Settled Fail(Circuit& circuit, const Charge& charge, const CircuitBreakerSettings& settings,
             TimePoint now, std::uint64_t* random) noexcept {
  // Who is open already has nothing more to lose: a direct call that fails changes nothing.
  if (circuit.state == CircuitState::kOpen) return {};
  if (circuit.state == CircuitState::kClosed) {
    if (circuit.consecutive_fails < settings.failure_threshold) ++circuit.consecutive_fails;
    if (charge.report->verdict != Verdict::kOpenNow &&
        circuit.consecutive_fails < settings.failure_threshold) {
      return {BreakerEffect::kCharge, Transition::kNone, false};
    }
  }
  return Open(circuit, charge, settings, now, random);
}

Settled Credit(Circuit& circuit, BreakerEffect effect,
               const CircuitBreakerSettings& settings) noexcept {
  switch (circuit.state) {
    case CircuitState::kOpen:
      return {};
    case CircuitState::kClosed:
      circuit.consecutive_fails = 0;
      return {effect, Transition::kNone, false};
    case CircuitState::kHalfOpen:
      break;
  }
  if (++circuit.probe_successes < settings.success_threshold) {
    return {effect, Transition::kNone, false};
  }
  circuit.state = CircuitState::kClosed;
  circuit.consecutive_fails = 0;
  circuit.probes_out = 0;
  circuit.failed_probes = 0;
  circuit.backoff = Duration::zero();
  circuit.pin = {};
  circuit.limited_opens = 0;
  ++circuit.generation;
  return {effect, Transition::kClosed, false};
}

}  // namespace

bool Enforced(const CircuitBreakerSettings& settings) noexcept {
  return settings.enabled && settings.failure_threshold > 0;
}

std::optional<TimePoint> BlockedUntil(const Circuit& circuit,
                                      const CircuitBreakerSettings& settings,
                                      TimePoint now) noexcept {
  if (circuit.state != CircuitState::kOpen || !Enforced(settings)) return std::nullopt;
  const TimePoint until = After(circuit.opened_at, CooldownInForce(circuit, settings).span);
  if (now >= until) return std::nullopt;
  return until;
}

bool ProbesBusy(const Circuit& circuit, const CircuitBreakerSettings& settings) noexcept {
  return circuit.state == CircuitState::kHalfOpen && Enforced(settings) &&
         settings.half_open_max_in_flight > 0 &&
         circuit.probes_out >= settings.half_open_max_in_flight;
}

Admit AdmitRequest(Circuit& circuit, const CircuitBreakerSettings& settings,
                   TimePoint now) noexcept {
  Admit admit;
  if (!Enforced(settings)) return admit;
  if (circuit.state == CircuitState::kOpen && !BlockedUntil(circuit, settings, now)) {
    circuit.state = CircuitState::kHalfOpen;
    circuit.probes_out = 0;
    circuit.probe_successes = 0;
    ++circuit.generation;
    admit.transition = Transition::kHalfOpened;
  }
  if (circuit.state == CircuitState::kHalfOpen) {
    admit.probe = true;
    ++circuit.probes_out;
  }
  return admit;
}

Settled Settle(Circuit& circuit, const Charge& charge, const CircuitBreakerSettings& settings,
               TimePoint now, std::uint64_t* random) {
  const bool current = charge.generation == circuit.generation;
  if (current && charge.probe && circuit.state == CircuitState::kHalfOpen) --circuit.probes_out;
  if (!Enforced(settings)) return {BreakerEffect::kDisabled, Transition::kNone, false};
  if (charge.report->verdict == Verdict::kAbandoned) return {};
  circuit.last_cause = charge.report->cause;
  circuit.last_status = charge.report->status;
  circuit.last_at = now;
  if (!current) return {};
  switch (charge.report->verdict) {
    case Verdict::kSuccess:
      return Credit(circuit, BreakerEffect::kSuccess, settings);
    case Verdict::kAlive:
      return Credit(circuit, BreakerEffect::kAlive, settings);
    case Verdict::kFailure:
    case Verdict::kOpenNow:
      return Fail(circuit, charge, settings, now, random);
    case Verdict::kNeutral:
    case Verdict::kAbandoned:
      break;
  }
  return {};
}

CircuitState LogicalState(const Circuit& circuit, const CircuitBreakerSettings& settings,
                          TimePoint now) noexcept {
  if (circuit.state == CircuitState::kOpen &&
      now >= After(circuit.opened_at, CooldownInForce(circuit, settings).span)) {
    return CircuitState::kHalfOpen;
  }
  return circuit.state;
}

}  // namespace hotel::decide
