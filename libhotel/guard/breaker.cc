#include "libhotel/guard/breaker.h"

#include <memory>
#include <utility>

#include "libhotel/base/ids.h"

namespace hotel {
namespace guard {

Breaker::Breaker(const SettingsSource* settings, EventSink* events,
                 const CircuitBreakerOptions& options)
    : settings_(settings),
      events_(events),
      advisor_(options.advisor),
      clock_(options.clock),
      random_(options.seed ? *options.seed : base::RandomSeed()) {}

const EngineSettings& Breaker::SettingsOf(std::string_view provider_name) const noexcept {
  return settings_.Current().For(provider_name);
}

decide::ProviderVerdict Breaker::VerdictOn(const Provider& provider,
                                           const CircuitBreakerSettings& settings,
                                           TimePoint now) noexcept {
  decide::ProviderVerdict verdict(&settings, now);
  for (const Entry* entry : provider.open) {
    if (InScope(*entry, settings)) verdict.Add(entry->circuit);
  }
  return verdict;
}

CircuitTale Breaker::TaleOf(CircuitTale::Kind kind, const Provider& provider, const Entry& entry,
                            const CircuitBreakerSettings& settings, TimePoint now) const {
  CircuitTale tale;
  tale.kind = kind;
  tale.key = {std::string(provider.id), std::string(entry.model), provider.name};
  tale.circuit = entry.circuit;
  tale.cooldown = decide::CooldownInForce(entry.circuit, settings);
  tale.state = decide::LogicalState(entry.circuit, settings, now);
  tale.whole_provider = WholeProvider(settings) && entry.model.empty();
  tale.provider_open =
      VerdictOn(provider, settings, now).open() ||
      (tale.whole_provider && decide::BlockedUntil(entry.circuit, settings, now).has_value());
  tale.now = now;
  return tale;
}

// Foreign code runs here: no lock is held, and no settings of before are used behind it.
void Breaker::Tell(const Tales& tales) {
  if (events_ == nullptr) return;
  for (const CircuitTale& tale : tales) TellTale(tale, clock_, events_);
}

}  // namespace guard

std::unique_ptr<CircuitBreaker> MakeCircuitBreaker(const SettingsSource* settings,
                                                   EventSink* events,
                                                   const CircuitBreakerOptions& options) {
  return std::make_unique<guard::Breaker>(settings, events, options);
}

}  // namespace hotel
