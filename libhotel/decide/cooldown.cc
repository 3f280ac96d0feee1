#include "libhotel/decide/cooldown.h"

#include <algorithm>

#include "libhotel/base/random.h"
#include "libhotel/decide/spans.h"

namespace hotel::decide {
namespace {

/// Openings in a row by a 429 from which on the backoff may reach as far as a pin.
constexpr int kLimitedOpensThatEscalate = 3;

bool BackoffOn(const CircuitBreakerSettings& settings) noexcept {
  return settings.backoff_max > settings.timeout;
}

bool Probes(PinSource source) noexcept {
  return source == PinSource::kResponse || source == PinSource::kAccount;
}

Duration Twentieth(Duration span, std::uint32_t share) noexcept {
  constexpr double kWhole = 4294967296.0;  // 2^32
  return Duration(static_cast<Duration::rep>(static_cast<double>((span / 20).count()) *
                                             (static_cast<double>(share) / kWhole)));
}

std::uint32_t Draw(std::uint64_t* random) noexcept {
  return static_cast<std::uint32_t>(base::NextRandom(random) >> 32);
}

Pin Make(PinSource source, Duration span, std::uint64_t* random) noexcept {
  Pin pin;
  pin.source = source;
  pin.span = Plus(span, Twentieth(span, Draw(random)));
  pin.probe_seed = Draw(random);
  return pin;
}

Duration WithoutPin(const Circuit& circuit, const CircuitBreakerSettings& settings) noexcept {
  return BackoffOn(settings) ? std::max(settings.timeout, circuit.backoff) : settings.timeout;
}

/// How long a pin is served that is longer than `unpinned`. One that came from a refusal lets a
/// probe through now and then: nobody measures when its window ends.
Duration Served(const Pin& pin, Duration unpinned,
                const CircuitBreakerSettings& settings) noexcept {
  if (!Probes(pin.source) || settings.pin_probe_interval <= Duration::zero()) return pin.span;
  const Duration wait = Plus(std::max(settings.pin_probe_interval, unpinned),
                             Twentieth(settings.pin_probe_interval, pin.probe_seed));
  return std::min(pin.span, wait);
}

}  // namespace

bool AccountWide(PinSource source) noexcept {
  return source != PinSource::kNone && source != PinSource::kResponse;
}

Cooldown CooldownInForce(const Circuit& circuit, const CircuitBreakerSettings& settings) noexcept {
  Cooldown cooldown;
  cooldown.span = WithoutPin(circuit, settings);
  cooldown.backed_off = cooldown.span > settings.timeout;
  cooldown.pinned = settings.quota_pin_max > Duration::zero() &&
                    circuit.pin.source != PinSource::kNone && circuit.pin.span > cooldown.span;
  cooldown.backoff_governs = cooldown.backed_off && !cooldown.pinned;
  if (cooldown.pinned) cooldown.span = Served(circuit.pin, cooldown.span, settings);
  return cooldown;
}

Duration EarnedBackoff(const Circuit& circuit, const CircuitBreakerSettings& settings) noexcept {
  if (circuit.failed_probes <= 0 || !BackoffOn(settings)) return Duration::zero();
  Duration ceiling = settings.backoff_max;
  if (circuit.limited_opens >= kLimitedOpensThatEscalate) {
    ceiling = std::max(ceiling, settings.quota_pin_max);
  }
  Duration span = settings.timeout;
  for (int i = 0; i < circuit.failed_probes && span < ceiling; ++i) {
    span = span > ceiling / 2 ? ceiling : span * 2;
  }
  return span;
}

Pin AdvisedPin(const QuotaReading& reading, Duration span, std::uint64_t* random) noexcept {
  const bool reserve = reading.kind == QuotaReading::Kind::kReserveReached;
  return Make(reserve ? PinSource::kReserve : PinSource::kAdvisor, span, random);
}

Pin DrawPin(const QuotaEvidence& evidence, const Circuit& circuit,
            const CircuitBreakerSettings& settings, TimePoint now, std::uint64_t* random) noexcept {
  const bool advised = evidence.reading.Advises(now);
  if (!advised && !evidence.hint) return {};
  const Duration stated = advised ? *evidence.reading.resets_at - now : evidence.hint->duration;
  const Duration span = std::min(stated, settings.quota_pin_max);
  if (span <= WithoutPin(circuit, settings)) return {};
  if (advised) return AdvisedPin(evidence.reading, span, random);
  return Make(evidence.hint->account ? PinSource::kAccount : PinSource::kResponse, span, random);
}

}  // namespace hotel::decide
