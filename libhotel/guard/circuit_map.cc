#include "libhotel/guard/circuit_map.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace hotel::guard {
namespace {

using Entry = CircuitMap::Entry;
using Provider = CircuitMap::Provider;

constexpr Duration kIdleExpiry = std::chrono::minutes(10);

// Permits of a dropped circuit must not speak for a later one of the same name. Permits that other
// models of the provider took while they had no entry become stale with it: a report lost at a
// reset is harmless, a report on the wrong state is not.
void Retire(Provider& provider, const Entry& entry) noexcept {
  provider.absent_generation = std::max(provider.absent_generation, entry.circuit.generation) + 1;
}

/// Neither open nor half-open nor in use (R69).
bool Idle(const Entry& entry) noexcept {
  return entry.circuit.state == CircuitState::kClosed &&
         entry.in_flight.load(std::memory_order_relaxed) == 0;
}

/// Makes room by the loss that hurts least. A circuit that never left its first state leaves
/// nothing a late permit could spoil.
void Drop(Provider& provider, Entry& entry) {
  if (entry.circuit.generation == provider.absent_generation) return provider.EraseQuietly(entry);
  provider.Erase(entry);
}

/// The idle entry that comes first by `key`, ties by model.
template <typename Key>
Entry* FirstIdle(Provider& provider, Key key) {
  Entry* first = nullptr;
  for (auto& [model, entry] : provider.entries) {
    if (!Idle(entry)) continue;
    if (first == nullptr || key(entry) < key(*first) ||
        (key(entry) == key(*first) && entry.model < first->model)) {
      first = &entry;
    }
  }
  return first;
}

bool EvictLeastCharged(Provider& provider) {
  Entry* victim = FirstIdle(provider, [](const Entry& entry) { return entry.last_charged; });
  if (victim != nullptr) Drop(provider, *victim);
  return victim != nullptr;
}

bool EvictOldest(Provider& provider) {
  Entry* victim = FirstIdle(provider, [](const Entry& entry) { return entry.last_used.load(); });
  if (victim != nullptr) Drop(provider, *victim);
  return victim != nullptr;
}

void ExpireIdle(Provider& provider, TimePoint now) {
  std::vector<Entry*> expired;
  for (auto& [model, entry] : provider.entries) {
    const TimePoint::rep used = entry.last_used.load();
    if (Idle(entry) && used != CircuitMap::kNever &&
        now - TimePoint(Duration(used)) > kIdleExpiry) {
      expired.push_back(&entry);
    }
  }
  for (Entry* entry : expired) Drop(provider, *entry);
}

}  // namespace

Entry* Provider::Find(std::string_view model) noexcept {
  return const_cast<Entry*>(std::as_const(*this).Find(model));
}

const Entry* Provider::Find(std::string_view model) const noexcept {
  const auto it = entries.find(model);
  return it == entries.end() ? nullptr : &it->second;
}

void Provider::Sync(Entry& entry) {
  const auto at = std::find(open.begin(), open.end(), &entry);
  if ((entry.circuit.state == CircuitState::kOpen) == (at != open.end())) return;
  if (at == open.end()) {
    open.push_back(&entry);
  } else {
    open.erase(at);
  }
}

void Provider::Erase(Entry& entry) {
  Retire(*this, entry);
  EraseQuietly(entry);
}

void Provider::EraseQuietly(Entry& entry) {
  open.erase(std::remove(open.begin(), open.end(), &entry), open.end());
  entries.erase(entries.find(entry.model));
}

void Provider::EraseAll() {
  for (const auto& [model, entry] : entries) Retire(*this, entry);
  open.clear();
  entries.clear();
}

Provider* CircuitMap::Find(std::string_view provider_id) noexcept {
  return const_cast<Provider*>(std::as_const(*this).Find(provider_id));
}

const Provider* CircuitMap::Find(std::string_view provider_id) const noexcept {
  const auto it = providers_.find(provider_id);
  return it == providers_.end() ? nullptr : &it->second;
}

Provider& CircuitMap::Obtain(std::string_view provider_id, std::string_view name) {
  auto at = providers_.find(provider_id);
  if (at == providers_.end()) {
    at = providers_.try_emplace(std::string(provider_id)).first;
    at->second.id = at->first;
  }
  if (at->second.name != name) at->second.name = std::string(name);
  return at->second;
}

Entry* CircuitMap::Insert(Provider& provider, std::string_view model, Room room, std::size_t max,
                          TimePoint now) {
  if (room == Room::kReject) ExpireIdle(provider, now);
  if (provider.entries.size() >= max) {
    if (room == Room::kIfFree) return nullptr;
    if (room == Room::kCharge) EvictLeastCharged(provider);
    if (room == Room::kReject && !EvictOldest(provider)) return nullptr;
  }
  const auto it = provider.entries.try_emplace(std::string(model)).first;
  Entry& entry = it->second;
  entry.model = it->first;
  entry.slot = next_slot_++;
  entry.circuit.generation = provider.absent_generation;
  entry.Use(now);
  return &entry;
}

}  // namespace hotel::guard
