// The shell around the circuit core: one lock, the map of circuits, events behind the lock.
#include "hotel/circuit_breaker.h"

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "hotel/defaults.h"
#include "hotel/events.h"
#include "hotel/settings.h"

#include "libhotel/base/mutex.h"
#include "libhotel/decide/breaker_core.h"
#include "libhotel/guard/circuit_events.h"
#include "libhotel/guard/circuit_map.h"
#include "libhotel/guard/circuit_views.h"

namespace hotel {
namespace guard {
namespace {

using base::MutexLock;
using decide::Transition;

class Breaker final : public CircuitBreaker {
 public:
  Breaker(const SettingsSource* settings, EventSink* events)
      : settings_(settings), events_(events) {}

  std::optional<Block> Blocked(const CircuitKey& key, TimePoint now) const noexcept override {
    const std::shared_ptr<const Settings> snapshot = settings_->Current();
    MutexLock lock(&mutex_);
    const CircuitMap::Entry* entry = circuits_.Find(key);
    if (entry == nullptr) return std::nullopt;
    const auto until = decide::BlockedUntil(entry->circuit, Of(*snapshot, key), now);
    if (!until) return std::nullopt;
    return Block{*until, false, false, Refusal::kCircuitOpen};
  }

  bool RecentSuccess(const CircuitKey& key, Duration window,
                     TimePoint now) const noexcept override {
    MutexLock lock(&mutex_);
    const CircuitMap::Entry* entry = circuits_.Find(key);
    return entry != nullptr && entry->last_success && window > Duration::zero() &&
           now - *entry->last_success <= window;
  }

  Admission TryAcquire(CircuitKey key, TimePoint now) override {
    const std::shared_ptr<const Settings> snapshot = settings_->Current();
    const CircuitBreakerSettings& settings = Of(*snapshot, key);
    Admission admission;
    Admitted admitted;
    {
      MutexLock lock(&mutex_);
      if (const CircuitMap::Entry* entry = circuits_.Find(key)) {
        if (const auto until = decide::BlockedUntil(entry->circuit, settings, now)) {
          admission.retry_at = *until;
          admission.refusal = Refusal::kCircuitOpen;
          return admission;
        }
      }
      admitted = Admit(key, settings, now);
    }
    admission.permit = MakePermit(std::move(key), admitted, settings);
    return admission;
  }

  Permit AcquireDirect(CircuitKey key, TimePoint now) override {
    const std::shared_ptr<const Settings> snapshot = settings_->Current();
    const CircuitBreakerSettings& settings = Of(*snapshot, key);
    Admitted admitted;
    {
      MutexLock lock(&mutex_);
      admitted = Admit(key, settings, now);
    }
    return MakePermit(std::move(key), admitted, settings);
  }

  std::vector<CircuitView> Views(TimePoint now) const override {
    const std::shared_ptr<const Settings> snapshot = settings_->Current();
    std::vector<CircuitView> views;
    {
      MutexLock lock(&mutex_);
      for (const auto& [provider_id, models] : circuits_.providers()) {
        for (const auto& [model, entry] : models.entries) {
          views.push_back(
              View(*snapshot, {provider_id, model, entry.provider_name}, entry.circuit, now));
        }
      }
    }
    std::sort(views.begin(), views.end(), [](const CircuitView& a, const CircuitView& b) {
      return std::tie(a.key.provider_id, a.key.model) < std::tie(b.key.provider_id, b.key.model);
    });
    return views;
  }

  std::vector<ProviderView> Providers(TimePoint now) const override {
    return GroupByProvider(Views(now));
  }

  ResetResult Reset(std::string_view provider_id, std::optional<std::string_view> model,
                    TimePoint now) override {
    const std::string id(provider_id);
    const std::shared_ptr<const Settings> snapshot = settings_->Current();
    ResetResult result;
    MutexLock lock(&mutex_);
    const auto provider = circuits_.providers().find(id);
    if (provider == circuits_.providers().end()) return result;
    for (const auto& [name, entry] : provider->second.entries) {
      if (model && name != *model) continue;
      Count(View(*snapshot, {id, name, entry.provider_name}, entry.circuit, now).state, &result);
    }
    if (model) {
      circuits_.Erase(id, std::string(*model));
    } else {
      circuits_.EraseAll(id);
    }
    return result;
  }

  ResetResult ResetAll(TimePoint now) override {
    ResetResult result;
    for (const ProviderView& provider : Providers(now)) {
      const ResetResult one = Reset(provider.provider_id, std::nullopt, now);
      result.cleared += one.cleared;
      result.recovered += one.recovered;
      if (StateRank(one.previous) > StateRank(result.previous)) result.previous = one.previous;
    }
    return result;
  }

  QuotaAdviceResult ApplyQuotaAdvice(const std::vector<QuotaAdvice>&, TimePoint) override {
    return {};
  }
  int ReleasePins(TimePoint) override { return 0; }

 protected:
  BreakerEffect Settle(const Permit& permit, const CircuitReport& report, TimePoint now) override {
    if (!permit.enforced()) return BreakerEffect::kDisabled;
    if (report.verdict == Verdict::kAbandoned) return BreakerEffect::kNoop;
    const std::shared_ptr<const Settings> snapshot = settings_->Current();
    const CircuitBreakerSettings& settings = Of(*snapshot, permit.key());
    if (!decide::Enforced(settings)) return BreakerEffect::kDisabled;

    decide::Settled settled;
    decide::Circuit after;
    {
      MutexLock lock(&mutex_);
      CircuitMap::Entry* entry = circuits_.Find(permit.key());
      if (entry == nullptr) {
        // A circuit that was dropped since the permit was given stays forgotten.
        if (permit.generation() != circuits_.AbsentGeneration(permit.key())) {
          return BreakerEffect::kNoop;
        }
        entry = Insert(permit.key(), report.verdict);
        if (entry == nullptr)
          return decide::Settle(after, after.generation, report, settings, now).effect;
      }
      settled = decide::Settle(entry->circuit, permit.generation(), report, settings, now);
      entry->provider_name = permit.key().provider_name;
      if (settled.effect == BreakerEffect::kCharge) entry->last_charged = now;
      if (settled.effect == BreakerEffect::kSuccess) entry->last_success = now;
      if (settled.transition != Transition::kNone) after = entry->circuit;
    }
    Tell(permit.key(), after, settled.transition, settings);
    return settled.effect;
  }

 private:
  static void Count(CircuitState state, ResetResult* result) {
    ++result->cleared;
    if (state != CircuitState::kClosed) ++result->recovered;
    if (StateRank(state) > StateRank(result->previous)) result->previous = state;
  }

  struct Admitted {
    std::uint64_t generation = 0;
    bool half_open = false;
  };

  static const CircuitBreakerSettings& Of(const Settings& settings,
                                          const CircuitKey& key) noexcept {
    return settings.For(key.provider_name).circuit_breaker;
  }

  static CircuitView View(const Settings& snapshot, CircuitKey key, const decide::Circuit& circuit,
                          TimePoint now) {
    const CircuitBreakerSettings& settings = Of(snapshot, key);
    CircuitView view;
    view.key = std::move(key);
    view.state = decide::LogicalState(circuit, settings, now);
    view.consecutive_fails = circuit.consecutive_fails;
    if (view.state != CircuitState::kClosed) view.opened_at = circuit.opened_at;
    view.next_retry_at = decide::BlockedUntil(circuit, settings, now);
    view.last_cause = circuit.last_cause;
    view.last_status = circuit.last_status;
    view.last_at = circuit.last_at;
    return view;
  }

  Admitted Admit(const CircuitKey& key, const CircuitBreakerSettings& settings, TimePoint now)
      HOTEL_REQUIRES(mutex_) {
    CircuitMap::Entry* entry = circuits_.Find(key);
    if (entry == nullptr) return {circuits_.AbsentGeneration(key), false};
    decide::Admit(entry->circuit, settings, now);
    return {entry->circuit.generation, entry->circuit.state == CircuitState::kHalfOpen};
  }

  Permit MakePermit(CircuitKey key, const Admitted& admitted,
                    const CircuitBreakerSettings& settings) {
    const bool enforced = decide::Enforced(settings);
    return Permit(this, std::move(key), admitted.generation, enforced,
                  enforced && admitted.half_open);
  }

  // Only a charge is worth the place of another circuit; a neutral answer needs none.
  CircuitMap::Entry* Insert(const CircuitKey& key, Verdict verdict) HOTEL_REQUIRES(mutex_) {
    if (verdict == Verdict::kNeutral) return nullptr;
    const bool charge = verdict == Verdict::kFailure || verdict == Verdict::kOpenNow;
    return circuits_.Insert(key, /*evict=*/charge);
  }

  void Tell(const CircuitKey& key, const decide::Circuit& circuit, Transition transition,
            const CircuitBreakerSettings& settings) {
    if (events_ == nullptr) return;
    if (transition == Transition::kOpened || transition == Transition::kReopened) {
      events_->OnEvent(OpenedEvent(key, circuit, settings));
    } else if (transition == Transition::kClosed) {
      events_->OnEvent(ClosedEvent(key, circuit));
    }
  }

  const SettingsSource* settings_;
  EventSink* events_;
  mutable base::Mutex mutex_;
  CircuitMap circuits_ HOTEL_GUARDED_BY(mutex_);
};

}  // namespace
}  // namespace guard

std::unique_ptr<CircuitBreaker> MakeCircuitBreaker(const SettingsSource* settings,
                                                   EventSink* events,
                                                   const CircuitBreakerOptions&) {
  return std::make_unique<guard::Breaker>(settings, events);
}

}  // namespace hotel
