#include "libhotel/guard/circuit_map.h"

#include <algorithm>
#include <utility>

namespace hotel::guard {
namespace {

// Permits of a dropped circuit must not speak for a later one of the same name. Permits that other
// models of the provider took while they had no entry become stale with it: a report lost at a
// reset is harmless, a report on the wrong state is not.
void Retire(CircuitMap::Models& models, const decide::Circuit& circuit) noexcept {
  models.absent_generation = std::max(models.absent_generation, circuit.generation) + 1;
}

}  // namespace

CircuitMap::Entry* CircuitMap::Find(const CircuitKey& key) noexcept {
  return const_cast<Entry*>(std::as_const(*this).Find(key));
}

const CircuitMap::Entry* CircuitMap::Find(const CircuitKey& key) const noexcept {
  const auto provider = providers_.find(key.provider_id);
  if (provider == providers_.end()) return nullptr;
  const auto entry = provider->second.entries.find(key.model);
  return entry == provider->second.entries.end() ? nullptr : &entry->second;
}

std::uint64_t CircuitMap::AbsentGeneration(const CircuitKey& key) const noexcept {
  const auto provider = providers_.find(key.provider_id);
  return provider == providers_.end() ? Models{}.absent_generation
                                      : provider->second.absent_generation;
}

CircuitMap::Entry* CircuitMap::Insert(const CircuitKey& key, bool evict) {
  Models& models = providers_[key.provider_id];
  if (models.entries.size() >= kMaxPerProvider) {
    if (!evict) return nullptr;
    EvictOne(models);
  }
  Entry& entry = models.entries[key.model];
  entry.circuit.generation = models.absent_generation;
  return &entry;
}

void CircuitMap::EvictOne(Models& models) {
  const auto older = [](const auto& a, const auto& b) {
    if (a.second.last_charged != b.second.last_charged) {
      return a.second.last_charged < b.second.last_charged;
    }
    return a.first < b.first;
  };
  auto victim = models.entries.end();
  for (auto it = models.entries.begin(); it != models.entries.end(); ++it) {
    if (it->second.circuit.state != CircuitState::kClosed) continue;
    if (victim == models.entries.end() || older(*it, *victim)) victim = it;
  }
  if (victim == models.entries.end()) return;
  // A circuit that never left its first state leaves nothing a late permit could spoil.
  if (victim->second.circuit.generation != models.absent_generation) {
    Retire(models, victim->second.circuit);
  }
  models.entries.erase(victim);
}

void CircuitMap::Erase(const std::string& provider_id, const std::string& model) {
  const auto provider = providers_.find(provider_id);
  if (provider == providers_.end()) return;
  const auto entry = provider->second.entries.find(model);
  if (entry == provider->second.entries.end()) return;
  Retire(provider->second, entry->second.circuit);
  provider->second.entries.erase(entry);
}

void CircuitMap::EraseAll(const std::string& provider_id) {
  const auto provider = providers_.find(provider_id);
  if (provider == providers_.end()) return;
  for (const auto& [model, entry] : provider->second.entries) {
    Retire(provider->second, entry.circuit);
  }
  provider->second.entries.clear();
}

}  // namespace hotel::guard
