#include "libhotel/decide/quota_advice.h"

#include <algorithm>
#include <string>

#include "libhotel/decide/breaker_core.h"
#include "libhotel/decide/cooldown.h"

namespace hotel::decide {
namespace {

void Note(Circuit& circuit, std::string_view cause, TimePoint now) {
  circuit.last_cause = std::string(cause);
  circuit.last_status = 0;
  circuit.last_at = now;
}

}  // namespace

bool Retarget(Circuit& circuit, const QuotaReading& reading, const CircuitBreakerSettings& settings,
              TimePoint now, std::uint64_t* random) {
  if (!reading.Advises(now) || !BlockedUntil(circuit, settings, now)) return false;
  const Duration span = std::min(*reading.resets_at - circuit.opened_at, settings.quota_pin_max);
  if (span <= CooldownInForce(circuit, settings).span) return false;
  circuit.pin = AdvisedPin(reading, span, random);
  Note(circuit, kCauseRetargeted, now);
  return true;
}

bool ReleasePin(Circuit& circuit, bool every, std::string_view cause, TimePoint now) {
  if (circuit.pin.source == PinSource::kNone) return false;
  if (!every && !AccountWide(circuit.pin.source)) return false;
  circuit.pin = {};
  circuit.limited_opens = 0;
  Note(circuit, cause, now);
  return true;
}

bool Seed(Circuit& circuit, const QuotaReading& reading, const CircuitBreakerSettings& settings,
          TimePoint now, std::uint64_t* random) {
  if (!Enforced(settings) || !reading.Advises(now)) return false;
  const Pin pin = DrawPin({reading, std::nullopt}, circuit, settings, now, random);
  if (pin.source == PinSource::kNone) return false;
  circuit.state = CircuitState::kOpen;
  circuit.consecutive_fails = settings.failure_threshold;
  circuit.opened_at = now;
  circuit.pin = pin;
  circuit.opens = 1;
  circuit.opens_since = now;
  ++circuit.generation;
  Note(circuit, kCauseSeeded, now);
  return true;
}

}  // namespace hotel::decide
