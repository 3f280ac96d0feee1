// Quota readings and circuits.
#include <utility>

#include "libhotel/decide/quota_advice.h"
#include "libhotel/guard/breaker.h"

namespace hotel::guard {

// The circuit of a spent quota is no longer one when its pin is over: no request would ever close
// it.
void Breaker::RetireLapsed(Provider& provider, TimePoint now, QuotaAdviceResult* result) {
  Entry* seeded = provider.Find(kAccountQuotaModel);
  if (seeded == nullptr) return;
  const CircuitBreakerSettings& settings = SettingsOf(provider.name).circuit_breaker;
  if (decide::BlockedUntil(seeded->circuit, settings, now) &&
      decide::CooldownInForce(seeded->circuit, settings).pinned) {
    return;
  }
  provider.EraseQuietly(*seeded);
  ++result->retired;
}

void Breaker::ApplySpent(const QuotaAdvice& advice, TimePoint now, QuotaAdviceResult* result,
                         Tales* tales) {
  const CircuitBreakerSettings& settings = SettingsOf(advice.provider_name).circuit_breaker;
  if (!decide::Enforced(settings)) return;
  Provider& provider = circuits_.Obtain(advice.provider_id, advice.provider_name);
  for (Entry* entry : provider.open) {
    if (!decide::Retarget(entry->circuit, advice.reading, settings, now, &random_)) continue;
    ++result->retargeted;
    tales->push_back(TaleOf(CircuitTale::Kind::kRetargeted, provider, *entry, settings, now));
  }
  if (VerdictOn(provider, settings, now).account_pinned()) return;

  decide::Circuit circuit;
  circuit.generation = provider.absent_generation;
  if (!decide::Seed(circuit, advice.reading, settings, now, &random_)) return;
  Entry* entry = circuits_.Insert(provider, kAccountQuotaModel, CircuitMap::Room::kCharge,
                                  static_cast<std::size_t>(settings.max_models), now);
  entry->circuit = std::move(circuit);
  entry->last_charged = now;
  provider.Sync(*entry);
  ++result->seeded;
  CircuitTale tale = TaleOf(CircuitTale::Kind::kSeeded, provider, *entry, settings, now);
  tale.exhausted = advice.reading.kind == QuotaReading::Kind::kExhausted;
  tales->push_back(std::move(tale));
}

void Breaker::Release(Provider& provider, bool every, std::string_view cause, TimePoint now,
                      QuotaAdviceResult* result, Tales* tales) {
  const CircuitBreakerSettings& settings = SettingsOf(provider.name).circuit_breaker;
  for (auto& [model, entry] : provider.entries) {
    if (!decide::ReleasePin(entry.circuit, every, cause, now)) continue;
    ++result->released;
    tales->push_back(TaleOf(CircuitTale::Kind::kReleased, provider, entry, settings, now));
  }
  // Nothing was ever routed to the circuit of the quota, so no probe would close it.
  if (Entry* seeded = provider.Find(kAccountQuotaModel); seeded != nullptr) {
    provider.EraseQuietly(*seeded);
    ++result->retired;
  }
}

QuotaAdviceResult Breaker::ApplyQuotaAdvice(const std::vector<QuotaAdvice>& advice, TimePoint now) {
  QuotaAdviceResult result;
  Tales tales;
  {
    base::WriteLock lock(&mutex_);
    for (auto& [id, provider] : circuits_.providers()) RetireLapsed(provider, now, &result);
    for (const QuotaAdvice& one : advice) {
      if (one.reading.Advises(now)) {
        ApplySpent(one, now, &result, &tales);
      } else if (one.reading.kind == QuotaReading::Kind::kHealthy) {
        Provider* provider = circuits_.Find(one.provider_id);
        if (provider == nullptr) continue;
        Release(*provider, /*every=*/false, decide::kCauseRecovered, now, &result, &tales);
      }
    }
  }
  Tell(tales);
  return result;
}

int Breaker::ReleasePins(TimePoint now) {
  QuotaAdviceResult result;
  Tales tales;
  {
    base::WriteLock lock(&mutex_);
    for (auto& [id, provider] : circuits_.providers()) {
      Release(provider, /*every=*/true, decide::kCausePollingOff, now, &result, &tales);
    }
  }
  Tell(tales);
  return result.released;
}

}  // namespace hotel::guard
