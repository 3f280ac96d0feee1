// The shell around the circuit core: the lock, the map of circuits, events behind the lock.
#ifndef HOTEL_GUARD_BREAKER_H_
#define HOTEL_GUARD_BREAKER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/circuit_breaker.h"
#include "hotel/defaults.h"
#include "hotel/events.h"
#include "hotel/settings.h"

#include "libhotel/base/striped_mutex.h"
#include "libhotel/decide/breaker_core.h"
#include "libhotel/decide/provider_verdict.h"
#include "libhotel/guard/circuit_events.h"
#include "libhotel/guard/circuit_map.h"
#include "libhotel/guard/settings_cache.h"

namespace hotel::guard {

/// A closed circuit is checked, passed and credited under a lock for reading; every change of
/// state takes the lock for writing.
class Breaker final : public CircuitBreaker {
 public:
  Breaker(const SettingsSource* settings, EventSink* events, const CircuitBreakerOptions& options);

  std::optional<Block> Blocked(const CircuitKey& key, TimePoint now) const noexcept override;
  bool RecentSuccess(const CircuitKey& key, Duration window, TimePoint now) const noexcept override;
  Admission TryAcquire(CircuitKey key, TimePoint now) override;
  Permit AcquireDirect(CircuitKey key, TimePoint now) override;
  std::vector<CircuitView> Views(TimePoint now) const override;
  std::vector<ProviderView> Providers(TimePoint now) const override;
  ResetResult Reset(std::string_view provider_id, std::optional<std::string_view> model,
                    TimePoint now) override;
  ResetResult ResetAll(TimePoint now) override;
  QuotaAdviceResult ApplyQuotaAdvice(const std::vector<QuotaAdvice>& advice,
                                     TimePoint now) override;
  int ReleasePins(TimePoint now) override;

 protected:
  BreakerEffect Settle(const Permit& permit, const CircuitReport& report, TimePoint now) override;

 private:
  using Entry = CircuitMap::Entry;
  using Provider = CircuitMap::Provider;

  /// What a permit says besides its key.
  struct Ticket {
    std::uint64_t generation = 0;
    std::uint64_t slot = 0;
    bool probe = false;
  };
  /// What is told once the lock is released.
  using Tales = std::vector<CircuitTale>;

  const EngineSettings& SettingsOf(std::string_view provider_name) const noexcept;

  // breaker_admission.cc
  std::optional<Block> BlockOf(const Provider* provider, const Entry* entry,
                               const CircuitBreakerSettings& settings, TimePoint now) const noexcept
      HOTEL_REQUIRES_SHARED(mutex_);
  std::optional<Ticket> PassClosed(const Provider* provider, const Entry* entry,
                                   const CircuitBreakerSettings& settings,
                                   TimePoint now) const noexcept HOTEL_REQUIRES_SHARED(mutex_);
  Ticket Admit(Provider& provider, Entry& entry, const CircuitBreakerSettings& settings,
               TimePoint now, Tales* tales) HOTEL_REQUIRES(mutex_);
  Entry* Reserve(const CircuitKey& key, std::string_view model,
                 const CircuitBreakerSettings& settings, TimePoint now) HOTEL_REQUIRES(mutex_);
  Permit Issue(CircuitKey key, const Ticket& ticket, const CircuitBreakerSettings& settings);

  // breaker_report.cc
  std::optional<BreakerEffect> SettleQuickly(const Permit& permit, std::string_view model,
                                             const CircuitReport& report,
                                             const CircuitBreakerSettings& settings,
                                             TimePoint now) const HOTEL_EXCLUDES(mutex_);
  Entry* InsertForReport(const Permit& permit, std::string_view model, Verdict verdict,
                         const CircuitBreakerSettings& settings, TimePoint now)
      HOTEL_REQUIRES(mutex_);

  // breaker_views.cc
  ProviderView RowOf(const Provider& provider, const CircuitBreakerSettings& settings,
                     TimePoint now) const HOTEL_REQUIRES_SHARED(mutex_);
  void Forget(Provider& provider, std::optional<std::string_view> model, TimePoint now,
              ResetResult* result, Tales* tales) HOTEL_REQUIRES(mutex_);

  // breaker_advice.cc
  void RetireLapsed(Provider& provider, TimePoint now, QuotaAdviceResult* result)
      HOTEL_REQUIRES(mutex_);
  void ApplySpent(const QuotaAdvice& advice, TimePoint now, QuotaAdviceResult* result, Tales* tales)
      HOTEL_REQUIRES(mutex_);
  void Release(Provider& provider, bool every, std::string_view cause, TimePoint now,
               QuotaAdviceResult* result, Tales* tales) HOTEL_REQUIRES(mutex_);

  /// The verdict on a provider from the circuits that the scope in force knows.
  static decide::ProviderVerdict VerdictOn(const Provider& provider,
                                           const CircuitBreakerSettings& settings,
                                           TimePoint now) noexcept;
  CircuitTale TaleOf(CircuitTale::Kind kind, const Provider& provider, const Entry& entry,
                     const CircuitBreakerSettings& settings, TimePoint now) const
      HOTEL_REQUIRES_SHARED(mutex_);
  void Tell(const Tales& tales);

  const SettingsCache settings_;
  EventSink* const events_;
  const QuotaAdvisor* const advisor_;
  const Clock* const clock_;
  mutable base::StripedMutex mutex_;
  CircuitMap circuits_ HOTEL_GUARDED_BY(mutex_);
  std::uint64_t random_ HOTEL_GUARDED_BY(mutex_);
};

/// One circuit for the whole provider.
inline bool WholeProvider(const CircuitBreakerSettings& settings) noexcept {
  return settings.scope == CircuitBreakerSettings::Scope::kProvider;
}

/// True for circuits that the scope in force uses: after a change of scope the others stand by.
inline bool InScope(const CircuitMap::Entry& entry,
                    const CircuitBreakerSettings& settings) noexcept {
  return !WholeProvider(settings) || entry.model.empty() || entry.model == kAccountQuotaModel;
}

}  // namespace hotel::guard

#endif  // HOTEL_GUARD_BREAKER_H_
