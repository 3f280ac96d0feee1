#include "libhotel/guard/settings_cache.h"

#include <array>
#include <atomic>
#include <memory>

namespace hotel::guard {
namespace {

struct Kept {
  std::uint64_t id = 0;
  std::uint64_t generation = 0;
  std::shared_ptr<const Settings> settings;
};

std::uint64_t NextId() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

SettingsCache::SettingsCache(const SettingsSource* source) : source_(source), id_(NextId()) {}

const Settings& SettingsCache::Current() const noexcept {
  // The caches of one hotel have numbers in a row, and with them places of their own.
  thread_local std::array<Kept, 4> places;
  Kept& kept = places[id_ % places.size()];
  // Read before the snapshot: one that is newer than its number is merely fetched once more.
  const std::uint64_t generation = source_->Generation();
  if (generation == 0 || kept.id != id_ || kept.generation != generation) {
    kept.settings = source_->Current();
    kept.id = id_;
    kept.generation = generation;
  }
  return *kept.settings;
}

}  // namespace hotel::guard
