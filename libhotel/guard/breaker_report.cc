// What became of an attempt.
#include <utility>

#include "libhotel/guard/breaker.h"
#include "libhotel/guard/circuit_name.h"

namespace hotel::guard {
namespace {

bool Charges(Verdict verdict) noexcept {
  return verdict == Verdict::kFailure || verdict == Verdict::kOpenNow;
}

/// The name a permit's circuit had when the permit was given.
std::string_view NameOf(const Permit& permit, std::string* storage) {
  return permit.whole_provider() ? std::string_view() : CircuitName(permit.key().model, storage);
}

void ReturnSlot(const Permit& permit, const CircuitMap::Entry& entry) noexcept {
  if (permit.slot() != entry.slot) return;  // counted nowhere, or where nothing is any more
  entry.in_flight.fetch_sub(1, std::memory_order_relaxed);
}

CircuitTale::Kind KindOf(decide::Transition transition) noexcept {
  switch (transition) {
    case decide::Transition::kOpened:
      return CircuitTale::Kind::kOpened;
    case decide::Transition::kReopened:
      return CircuitTale::Kind::kReopened;
    case decide::Transition::kClosed:
      return CircuitTale::Kind::kClosed;
    case decide::Transition::kHalfOpened:
    case decide::Transition::kNone:
      break;
  }
  return CircuitTale::Kind::kHalfOpened;
}

}  // namespace

// A success like the last one at a circuit in order, and a permit nobody used: counters alone.
std::optional<BreakerEffect> Breaker::SettleQuickly(const Permit& permit, std::string_view model,
                                                    const CircuitReport& report,
                                                    const CircuitBreakerSettings& settings,
                                                    TimePoint now) const {
  if (permit.probe()) return std::nullopt;
  base::ReadLock lock(&mutex_);
  const Provider* provider = circuits_.Find(permit.key().provider_id);
  const Entry* entry = provider == nullptr ? nullptr : provider->Find(model);
  if (report.verdict == Verdict::kAbandoned) {
    if (entry != nullptr) ReturnSlot(permit, *entry);
    return BreakerEffect::kNoop;
  }
  if (entry == nullptr || report.verdict != Verdict::kSuccess || !decide::Enforced(settings)) {
    return std::nullopt;
  }
  const decide::Circuit& circuit = entry->circuit;
  if (circuit.state != CircuitState::kClosed || circuit.generation != permit.generation() ||
      circuit.consecutive_fails != 0 || circuit.last_status != report.status ||
      circuit.last_cause != report.cause) {
    return std::nullopt;
  }
  ReturnSlot(permit, *entry);
  entry->Use(now);
  entry->Succeed(now);
  return BreakerEffect::kSuccess;
}

// Only a charge is worth the place of another circuit; a neutral answer needs none.
Breaker::Entry* Breaker::InsertForReport(const Permit& permit, std::string_view model,
                                         Verdict verdict, const CircuitBreakerSettings& settings,
                                         TimePoint now) {
  const bool grow = settings.on_capacity == CircuitBreakerSettings::OnCapacity::kGrow;
  CircuitMap::Room room = CircuitMap::Room::kIfFree;
  if (Charges(verdict)) room = grow ? CircuitMap::Room::kCharge : CircuitMap::Room::kReject;
  Provider& provider = circuits_.Obtain(permit.key().provider_id, permit.key().provider_name);
  return circuits_.Insert(provider, model, room, static_cast<std::size_t>(settings.max_models),
                          now);
}

BreakerEffect Breaker::Settle(const Permit& permit, const CircuitReport& report, TimePoint now) {
  if (!permit.enforced()) return BreakerEffect::kDisabled;
  decide::Charge charge{permit.generation(), permit.probe(), &report, false, {}};
  if (Charges(report.verdict) && advisor_ != nullptr) {
    charge.reading = advisor_->Reading(permit.key().provider_id);
  }
  const EngineSettings& engine = SettingsOf(permit.key().provider_name);
  const CircuitBreakerSettings& settings = engine.circuit_breaker;
  charge.limited = report.rate_limited && engine.rate_limit.classify;
  std::string storage;
  const std::string_view model = NameOf(permit, &storage);
  if (const auto effect = SettleQuickly(permit, model, report, settings, now)) return *effect;

  decide::Settled settled;
  Tales tales;
  {
    base::WriteLock lock(&mutex_);
    Provider* provider = circuits_.Find(permit.key().provider_id);
    Entry* entry = provider == nullptr ? nullptr : provider->Find(model);
    if (entry == nullptr) {
      if (!decide::Enforced(settings)) return BreakerEffect::kDisabled;
      // A circuit that was dropped since the permit was given stays forgotten.
      const std::uint64_t absent =
          provider == nullptr ? Provider{}.absent_generation : provider->absent_generation;
      if (permit.generation() != absent || report.verdict == Verdict::kNeutral ||
          report.verdict == Verdict::kAbandoned) {
        return BreakerEffect::kNoop;
      }
      entry = InsertForReport(permit, model, report.verdict, settings, now);
      if (entry == nullptr) {
        if (report.verdict == Verdict::kSuccess) return BreakerEffect::kSuccess;
        return report.verdict == Verdict::kAlive ? BreakerEffect::kAlive : BreakerEffect::kNoop;
      }
    }
    Provider& of = circuits_.Obtain(permit.key().provider_id, permit.key().provider_name);
    ReturnSlot(permit, *entry);
    settled = decide::Settle(entry->circuit, charge, settings, now, &random_);
    of.Sync(*entry);
    if (report.verdict != Verdict::kAbandoned) entry->Use(now);
    if (settled.effect == BreakerEffect::kCharge) entry->last_charged = now;
    if (settled.effect == BreakerEffect::kSuccess) entry->Succeed(now);
    if (settled.transition != decide::Transition::kNone) {
      CircuitTale tale = TaleOf(KindOf(settled.transition), of, *entry, settings, now);
      tale.exhausted = report.verdict == Verdict::kOpenNow;
      tale.unstable = settled.unstable;
      tales.push_back(std::move(tale));
    }
  }
  Tell(tales);
  return settled.effect;
}

}  // namespace hotel::guard
