// Who may make an attempt.
#include <chrono>
#include <utility>

#include "libhotel/guard/breaker.h"
#include "libhotel/guard/circuit_name.h"

namespace hotel::guard {
namespace {

/// When to ask again after a refusal that ends with somebody's report.
constexpr Duration kBusyRetry = std::chrono::seconds(1);

/// The name of a key's circuit in `storage` or in the key.
std::string_view NameOf(const CircuitKey& key, const CircuitBreakerSettings& settings,
                        std::string* storage) {
  return WholeProvider(settings) ? std::string_view() : CircuitName(key.model, storage);
}

Admission Refused(const Block& block) {
  Admission admission;
  admission.retry_at = block.until;
  admission.refusal = block.reason;
  admission.pinned = block.pinned;
  return admission;
}

}  // namespace

std::optional<Block> Breaker::Blocked(const CircuitKey& key, TimePoint now) const noexcept {
  const CircuitBreakerSettings& settings = SettingsOf(key.provider_name).circuit_breaker;
  std::string storage;
  const std::string_view model = NameOf(key, settings, &storage);
  base::ReadLock lock(&mutex_);
  const Provider* provider = circuits_.Find(key.provider_id);
  if (provider == nullptr) return std::nullopt;
  return BlockOf(provider, provider->Find(model), settings, now);
}

bool Breaker::RecentSuccess(const CircuitKey& key, Duration window, TimePoint now) const noexcept {
  if (window <= Duration::zero()) return false;
  const CircuitBreakerSettings& settings = SettingsOf(key.provider_name).circuit_breaker;
  std::string storage;
  const std::string_view model = NameOf(key, settings, &storage);
  base::ReadLock lock(&mutex_);
  const Provider* provider = circuits_.Find(key.provider_id);
  const Entry* entry = provider == nullptr ? nullptr : provider->Find(model);
  const std::optional<TimePoint> at = entry == nullptr ? std::nullopt : entry->success();
  return at && now - *at <= window;
}

std::optional<Block> Breaker::BlockOf(const Provider* provider, const Entry* entry,
                                      const CircuitBreakerSettings& settings,
                                      TimePoint now) const noexcept {
  if (provider == nullptr || !decide::Enforced(settings)) return std::nullopt;
  const bool whole = WholeProvider(settings);
  if (entry != nullptr) {
    if (const auto until = decide::BlockedUntil(entry->circuit, settings, now)) {
      const bool pinned = decide::CooldownInForce(entry->circuit, settings).pinned;
      return Block{*until, pinned, whole, Refusal::kCircuitOpen};
    }
  }
  if (!provider->open.empty()) {
    const decide::ProviderVerdict verdict = VerdictOn(*provider, settings, now);
    if (verdict.open()) {
      return Block{verdict.until(), verdict.all_pinned(), true, Refusal::kProviderOpen};
    }
  }
  if (entry != nullptr && decide::ProbesBusy(entry->circuit, settings)) {
    return Block{now + kBusyRetry, false, whole, Refusal::kHalfOpenBusy};
  }
  return std::nullopt;
}

// The common case, for which nothing but counters change. Nothing when it is not the common case.
std::optional<Breaker::Ticket> Breaker::PassClosed(const Provider* provider, const Entry* entry,
                                                   const CircuitBreakerSettings& settings,
                                                   TimePoint now) const noexcept {
  if (entry == nullptr) {
    // Where circuits grow with charges a request needs none; else it must reserve its place.
    if (settings.on_capacity == CircuitBreakerSettings::OnCapacity::kReject) return std::nullopt;
    return Ticket{provider == nullptr ? Provider{}.absent_generation : provider->absent_generation,
                  0, false};
  }
  if (entry->circuit.state != CircuitState::kClosed) return std::nullopt;
  entry->in_flight.fetch_add(1, std::memory_order_relaxed);
  entry->Use(now);
  return Ticket{entry->circuit.generation, entry->slot, false};
}

Breaker::Ticket Breaker::Admit(Provider& provider, Entry& entry,
                               const CircuitBreakerSettings& settings, TimePoint now,
                               Tales* tales) {
  const decide::Admit admit = decide::AdmitRequest(entry.circuit, settings, now);
  if (admit.transition == decide::Transition::kHalfOpened) {
    provider.Sync(entry);
    tales->push_back(TaleOf(CircuitTale::Kind::kHalfOpened, provider, entry, settings, now));
  }
  entry.in_flight.fetch_add(1, std::memory_order_relaxed);
  entry.Use(now);
  return {entry.circuit.generation, entry.slot, admit.probe};
}

// A place for a model that is asked for the first time, where the request itself must have one.
Breaker::Entry* Breaker::Reserve(const CircuitKey& key, std::string_view model,
                                 const CircuitBreakerSettings& settings, TimePoint now) {
  Provider& provider = circuits_.Obtain(key.provider_id, key.provider_name);
  return circuits_.Insert(provider, model, CircuitMap::Room::kReject,
                          static_cast<std::size_t>(settings.max_models), now);
}

Permit Breaker::Issue(CircuitKey key, const Ticket& ticket,
                      const CircuitBreakerSettings& settings) {
  return Permit(this, std::move(key), ticket.generation, decide::Enforced(settings), ticket.probe,
                ticket.slot, WholeProvider(settings));
}

Admission Breaker::TryAcquire(CircuitKey key, TimePoint now) {
  const CircuitBreakerSettings& settings = SettingsOf(key.provider_name).circuit_breaker;
  Admission admission;
  if (!decide::Enforced(settings)) {
    admission.permit = Issue(std::move(key), Ticket{}, settings);
    return admission;
  }
  std::string storage;
  const std::string_view model = NameOf(key, settings, &storage);
  std::optional<Ticket> ticket;
  {
    base::ReadLock lock(&mutex_);
    const Provider* provider = circuits_.Find(key.provider_id);
    const Entry* entry = provider == nullptr ? nullptr : provider->Find(model);
    if (const auto block = BlockOf(provider, entry, settings, now)) return Refused(*block);
    ticket = PassClosed(provider, entry, settings, now);
  }
  if (ticket) {
    admission.permit = Issue(std::move(key), *ticket, settings);
    return admission;
  }

  Tales tales;
  {
    base::WriteLock lock(&mutex_);
    Provider* provider = circuits_.Find(key.provider_id);
    Entry* entry = provider == nullptr ? nullptr : provider->Find(model);
    // Somebody may have been quicker since.
    if (const auto block = BlockOf(provider, entry, settings, now)) return Refused(*block);
    if (entry == nullptr) {
      ticket = PassClosed(provider, entry, settings, now);
      if (!ticket) {
        entry = Reserve(key, model, settings, now);
        if (entry == nullptr) {
          return Refused({now + kBusyRetry, false, false, Refusal::kCapacity});
        }
        provider = circuits_.Find(key.provider_id);
      }
    }
    if (entry != nullptr) ticket = Admit(*provider, *entry, settings, now, &tales);
  }
  admission.permit = Issue(std::move(key), *ticket, settings);
  Tell(tales);
  return admission;
}

Permit Breaker::AcquireDirect(CircuitKey key, TimePoint now) {
  const CircuitBreakerSettings& settings = SettingsOf(key.provider_name).circuit_breaker;
  if (!decide::Enforced(settings)) return Issue(std::move(key), Ticket{}, settings);
  std::string storage;
  const std::string_view model = NameOf(key, settings, &storage);
  std::optional<Ticket> ticket;
  {
    base::ReadLock lock(&mutex_);
    const Provider* provider = circuits_.Find(key.provider_id);
    ticket =
        PassClosed(provider, provider == nullptr ? nullptr : provider->Find(model), settings, now);
  }
  Tales tales;
  if (!ticket) {
    base::WriteLock lock(&mutex_);
    Provider* provider = circuits_.Find(key.provider_id);
    Entry* entry = provider == nullptr ? nullptr : provider->Find(model);
    if (entry == nullptr) {
      ticket = PassClosed(provider, entry, settings, now);
      if (!ticket) entry = Reserve(key, model, settings, now);
      provider = circuits_.Find(key.provider_id);
    }
    // Where the circuit refuses others, and where it has no place, the permit is of no generation:
    // its report changes nothing.
    const bool silent = entry == nullptr ||
                        decide::BlockedUntil(entry->circuit, settings, now).has_value() ||
                        decide::ProbesBusy(entry->circuit, settings);
    if (!ticket) ticket = silent ? Ticket{} : Admit(*provider, *entry, settings, now, &tales);
  }
  Permit permit = Issue(std::move(key), *ticket, settings);
  Tell(tales);
  return permit;
}

}  // namespace hotel::guard
