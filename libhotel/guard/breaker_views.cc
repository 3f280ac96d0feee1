// Circuits as they look, and resets.
#include <algorithm>
#include <iterator>
#include <utility>

#include "libhotel/guard/breaker.h"
#include "libhotel/guard/circuit_name.h"
#include "libhotel/guard/circuit_views.h"

namespace hotel::guard {
namespace {

CircuitView ViewOf(const CircuitMap::Provider& provider, const CircuitMap::Entry& entry,
                   const CircuitBreakerSettings& settings, TimePoint now) {
  const decide::Circuit& circuit = entry.circuit;
  CircuitView view;
  view.key = {std::string(provider.id), std::string(entry.model), provider.name};
  view.state = decide::LogicalState(circuit, settings, now);
  view.consecutive_fails = circuit.consecutive_fails;
  if (view.state != CircuitState::kClosed) view.opened_at = circuit.opened_at;
  view.next_retry_at = decide::BlockedUntil(circuit, settings, now);
  if (view.next_retry_at) {
    const decide::Cooldown cooldown = decide::CooldownInForce(circuit, settings);
    view.cooldown = cooldown.span;
    view.quota_pinned = cooldown.pinned;
    if (cooldown.pinned) view.pin_source = circuit.pin.source;
    view.backed_off = cooldown.backed_off;
  }
  view.failed_probes = circuit.failed_probes;
  view.opens = circuit.opens;
  view.in_flight = entry.in_flight.load(std::memory_order_relaxed);
  view.last_cause = circuit.last_cause;
  view.last_status = circuit.last_status;
  view.last_at = circuit.last_at;
  // Successes that changed nothing were stamped beside the circuit.
  if (const auto success = entry.success();
      success && (!view.last_at || *success > *view.last_at)) {
    view.last_at = success;
  }
  return view;
}

}  // namespace

ProviderView Breaker::RowOf(const Provider& provider, const CircuitBreakerSettings& settings,
                            TimePoint now) const {
  std::vector<CircuitView> circuits;
  for (const auto& [model, entry] : provider.entries) {
    if (InScope(entry, settings)) circuits.push_back(ViewOf(provider, entry, settings, now));
  }
  ProviderView row = MakeRow(std::move(circuits));
  const bool whole_refuses = WholeProvider(settings) && !row.open_models().empty();
  row.provider_open = whole_refuses || VerdictOn(provider, settings, now).open();
  return row;
}

std::vector<ProviderView> Breaker::Providers(TimePoint now) const {
  const Settings& settings = settings_.Current();
  std::vector<ProviderView> rows;
  {
    base::ReadLock lock(&mutex_);
    for (const auto& [id, provider] : circuits_.providers()) {
      const CircuitBreakerSettings& own = settings.For(provider.name).circuit_breaker;
      if (!decide::Enforced(own)) continue;
      ProviderView row = RowOf(provider, own, now);
      if (!row.circuits.empty()) rows.push_back(std::move(row));
    }
  }
  std::sort(rows.begin(), rows.end(), [](const ProviderView& a, const ProviderView& b) {
    return a.provider_id < b.provider_id;
  });
  return rows;
}

std::vector<CircuitView> Breaker::Views(TimePoint now) const {
  std::vector<CircuitView> views;
  for (ProviderView& row : Providers(now)) {
    std::move(row.circuits.begin(), row.circuits.end(), std::back_inserter(views));
  }
  return views;
}

void Breaker::Forget(Provider& provider, std::optional<std::string_view> model, TimePoint now,
                     ResetResult* result, Tales* tales) {
  const CircuitBreakerSettings& settings = SettingsOf(provider.name).circuit_breaker;
  for (auto& [name, entry] : provider.entries) {
    if (model && name != *model) continue;
    CircuitTale tale = TaleOf(CircuitTale::Kind::kReset, provider, entry, settings, now);
    ++result->cleared;
    if (tale.state != CircuitState::kClosed) ++result->recovered;
    if (StateRank(tale.state) > StateRank(result->previous)) result->previous = tale.state;
    tales->push_back(std::move(tale));
  }
  if (!model) return provider.EraseAll();
  if (Entry* entry = provider.Find(*model); entry != nullptr) provider.Erase(*entry);
}

ResetResult Breaker::Reset(std::string_view provider_id, std::optional<std::string_view> model,
                           TimePoint now) {
  ResetResult result;
  Tales tales;
  std::string storage;
  {
    base::WriteLock lock(&mutex_);
    Provider* provider = circuits_.Find(provider_id);
    if (provider == nullptr) return result;
    if (model && *model != kAccountQuotaModel) {
      const CircuitBreakerSettings& settings = SettingsOf(provider->name).circuit_breaker;
      model = WholeProvider(settings) ? std::string_view() : CircuitName(*model, &storage);
    }
    Forget(*provider, model, now, &result, &tales);
  }
  Tell(tales);
  return result;
}

ResetResult Breaker::ResetAll(TimePoint now) {
  ResetResult result;
  Tales tales;
  {
    base::WriteLock lock(&mutex_);
    for (auto& [id, provider] : circuits_.providers()) {
      Forget(provider, std::nullopt, now, &result, &tales);
    }
  }
  Tell(tales);
  return result;
}

}  // namespace hotel::guard
