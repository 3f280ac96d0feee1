// The shell around the window core: providers in shards with a lock each, lines of waiters, and
// callbacks behind the locks.
//
// The invariant of the lines: whenever a shard's lock is free, a provider with somebody in its line
// did not admit when it was last touched. Everything that could change that ends in HandOut.
#include "hotel/inflight_limiter.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hotel/defaults.h"
#include "hotel/settings.h"

#include "libhotel/base/mutex.h"
#include "libhotel/base/string_hash.h"
#include "libhotel/decide/inflight_core.h"
#include "libhotel/guard/slot_line.h"

namespace hotel {
namespace guard {
namespace {

using base::MutexLock;
using Calls = std::vector<std::function<void()>>;

constexpr std::size_t kShards = 16;
// A shard with fewer providers than this is not searched for idle ones.
constexpr std::size_t kMinSweep = 16;

struct Shard;

/// One provider. Its address is stable while it has slots out or somebody in line.
struct Provider {
  Shard* shard = nullptr;
  std::string name;
  int max_in_flight = 0;
  decide::Window window;
  TimePoint latest{};  ///< time as this provider has seen it; never goes back
  SlotLine line;
};

struct alignas(64) Shard {
  mutable base::Mutex mutex;
  std::unordered_map<std::string, Provider, base::StringHash, base::StringEqual> providers
      HOTEL_GUARDED_BY(mutex);
  std::size_t sweep_at HOTEL_GUARDED_BY(mutex) = kMinSweep;
};

TimePoint Advance(Provider& provider, TimePoint now) noexcept {
  return provider.latest = std::max(provider.latest, now);
}

void Run(const Calls& calls) {
  for (const std::function<void()>& call : calls) call();
}

class Limiter final : public InflightLimiter {
 public:
  explicit Limiter(const SettingsSource* settings) : settings_(settings) {}

  bool Busy(const InflightTarget& target, TimePoint now) const noexcept override {
    const std::shared_ptr<const Settings> snapshot = settings_->Current();
    const Shard& shard = ShardOf(target.provider_id);
    MutexLock lock(&shard.mutex);
    const auto found = shard.providers.find(target.provider_id);
    if (found == shard.providers.end()) return false;
    const Provider& provider = found->second;
    return !decide::Admits(provider.window, target.max_in_flight,
                           Of(*snapshot, target.provider_name), std::max(provider.latest, now));
  }

  InflightSlot TryAcquire(const InflightTarget& target, TimePoint now) override {
    const std::shared_ptr<const Settings> snapshot = settings_->Current();
    Calls calls;
    InflightSlot slot;
    {
      Shard& shard = ShardOf(target.provider_id);
      MutexLock lock(&shard.mutex);
      Provider& provider = FindOrMake(shard, target, *snapshot, now);
      HandOut(provider, *snapshot, now, &calls);
      slot = Acquire(provider, *snapshot, now);
    }
    Run(calls);
    return slot;
  }

  SlotWait Wait(const std::vector<InflightTarget>& targets, TimePoint now,
                std::function<void()> on_slot, std::uint64_t seniority) override {
    const std::shared_ptr<const Settings> snapshot = settings_->Current();
    const std::uint64_t number = ++places_;
    const PlaceKey key{seniority == 0 ? number : seniority, number};
    auto waiter = std::make_shared<Waiter>(std::move(on_slot));
    auto place = std::make_unique<PlaceOf>(key, waiter);
    Calls calls;
    for (std::size_t i = 0; i < targets.size() && waiter->Waiting(); ++i) {
      Shard& shard = ShardOf(targets[i].provider_id);
      MutexLock lock(&shard.mutex);
      Provider& provider = FindOrMake(shard, targets[i], *snapshot, now);
      if (!provider.line.try_emplace(key, PlaceInLine{waiter, i}).second) continue;
      place->providers.push_back(&provider);
      HandOut(provider, *snapshot, now, &calls);
    }
    waiter->Arm();
    Run(calls);
    return SlotWait(std::move(place));
  }

  void Refresh(const std::vector<InflightTarget>& changed, TimePoint now) override {
    const std::shared_ptr<const Settings> snapshot = settings_->Current();
    for (const InflightTarget& target : changed) {
      Shard& shard = ShardOf(target.provider_id);
      MutexLock lock(&shard.mutex);
      const auto found = shard.providers.find(target.provider_id);
      if (found != shard.providers.end()) Describe(found->second, target);
    }
    Calls calls;
    for (Shard& shard : shards_) {
      MutexLock lock(&shard.mutex);
      for (auto& [id, provider] : shard.providers) HandOut(provider, *snapshot, now, &calls);
      Sweep(shard, *snapshot, now);
    }
    Run(calls);
  }

  std::vector<InflightView> Views(TimePoint now) const override {
    const std::shared_ptr<const Settings> snapshot = settings_->Current();
    std::vector<InflightView> views;
    for (const Shard& shard : shards_) {
      MutexLock lock(&shard.mutex);
      for (const auto& [id, provider] : shard.providers) {
        const InflightLimiterSettings& settings = Of(*snapshot, provider.name);
        const TimePoint at = std::max(provider.latest, now);
        if (IsIdle(provider, settings, at)) continue;
        InflightView view;
        view.provider_id = id;
        view.provider_name = provider.name;
        view.limit = decide::LearnedLimit(provider.window, settings, at);
        view.max_in_flight = provider.max_in_flight;
        view.effective =
            decide::EffectiveLimit(provider.window, provider.max_in_flight, settings, at);
        view.inflight = provider.window.inflight;
        view.waiting = static_cast<int>(
            std::count_if(provider.line.begin(), provider.line.end(),
                          [](const auto& place) { return place.second.waiter->Waiting(); }));
        views.push_back(std::move(view));
      }
    }
    std::sort(views.begin(), views.end(), [](const InflightView& a, const InflightView& b) {
      return a.provider_id < b.provider_id;
    });
    return views;
  }

 protected:
  void Release(void* window, SlotEnd end, TimePoint now) override {
    Change(window, now,
           [&](decide::Window& w, const InflightLimiterSettings& settings, TimePoint at) {
             decide::Release(w, end, settings, at);
           });
  }

  void ReleaseSaturated(void* window, Duration retry_after, TimePoint now) override {
    Change(window, now,
           [&](decide::Window& w, const InflightLimiterSettings& settings, TimePoint at) {
             decide::Release(w, SlotEnd::kUnclean, settings, at);
             decide::Cut(w, retry_after, settings, at);
           });
  }

  void Shrink(void* window, TimePoint now) override {
    Change(window, now,
           [](decide::Window& w, const InflightLimiterSettings& settings, TimePoint at) {
             decide::Hint(w, settings, at);
           });
  }

 private:
  class PlaceOf final : public SlotWait::Place {
   public:
    PlaceOf(PlaceKey place_key, std::shared_ptr<Waiter> one)
        : key_(place_key), waiter_(std::move(one)) {}
    ~PlaceOf() override {
      InflightSlot slot = waiter_->Leave();
      LeaveLines();
      if (slot.valid()) slot.End(SlotEnd::kUnused, TimePoint{});
    }

    // Every provider named here still exists: only its owner takes a place out of a line, unless a
    // slot was handed over, and that is out until the lines are left.
    InflightSlot Take(std::size_t* target) override {
      InflightSlot slot = waiter_->Take(target);
      if (slot.valid()) LeaveLines();
      return slot;
    }
    bool ready() const override { return waiter_->Ready(); }
    std::uint64_t seniority() const noexcept override { return key_.first; }

    std::vector<Provider*> providers;

   private:
    void LeaveLines() {
      for (Provider* provider : providers) {
        MutexLock lock(&provider->shard->mutex);
        provider->line.erase(key_);
      }
      providers.clear();
    }

    const PlaceKey key_;
    const std::shared_ptr<Waiter> waiter_;
  };

  static const InflightLimiterSettings& Of(const Settings& settings,
                                           std::string_view name) noexcept {
    return settings.For(name).inflight_limiter;
  }

  static bool IsIdle(const Provider& provider, const InflightLimiterSettings& settings,
                     TimePoint now) noexcept {
    return provider.line.empty() && decide::Idle(provider.window, settings, now);
  }

  Shard& ShardOf(std::string_view id) noexcept { return shards_[base::StringHash{}(id) % kShards]; }
  const Shard& ShardOf(std::string_view id) const noexcept {
    return shards_[base::StringHash{}(id) % kShards];
  }

  static void Describe(Provider& provider, const InflightTarget& target) {
    if (provider.name != target.provider_name) provider.name = target.provider_name;
    provider.max_in_flight = target.max_in_flight;
  }

  static Provider& FindOrMake(Shard& shard, const InflightTarget& target, const Settings& snapshot,
                              TimePoint now) HOTEL_REQUIRES(shard.mutex) {
    auto found = shard.providers.find(target.provider_id);
    if (found == shard.providers.end()) {
      if (shard.providers.size() >= shard.sweep_at) Sweep(shard, snapshot, now);
      found = shard.providers.try_emplace(std::string(target.provider_id)).first;
      found->second.shard = &shard;
    }
    Describe(found->second, target);
    return found->second;
  }

  // Doubling the mark keeps the search for idle providers cheap per provider made.
  static void Sweep(Shard& shard, const Settings& snapshot, TimePoint now)
      HOTEL_REQUIRES(shard.mutex) {
    for (auto it = shard.providers.begin(); it != shard.providers.end();) {
      const Provider& provider = it->second;
      const TimePoint at = std::max(provider.latest, now);
      const bool idle = IsIdle(provider, Of(snapshot, provider.name), at);
      it = idle ? shard.providers.erase(it) : std::next(it);
    }
    shard.sweep_at = std::max(kMinSweep, 2 * shard.providers.size());
  }

  // An invalid slot when the provider is at its window.
  InflightSlot Acquire(Provider& provider, const Settings& snapshot, TimePoint now) {
    const InflightLimiterSettings& settings = Of(snapshot, provider.name);
    const TimePoint at = Advance(provider, now);
    if (!decide::Admits(provider.window, provider.max_in_flight, settings, at)) return {};
    decide::Admit(provider.window, settings, at);
    return InflightSlot(this, &provider);
  }

  // Gives the line what the provider admits. The caller holds the shard's lock, and runs `calls`
  // when it no longer does.
  void HandOut(Provider& provider, const Settings& snapshot, TimePoint now, Calls* calls) {
    if (provider.line.empty()) return;
    const InflightLimiterSettings& settings = Of(snapshot, provider.name);
    const TimePoint at = Advance(provider, now);
    const auto make_slot = [&] {
      decide::Admit(provider.window, settings, at);
      return InflightSlot(this, &provider);
    };
    for (auto it = provider.line.begin(); it != provider.line.end();) {
      if (!decide::Admits(provider.window, provider.max_in_flight, settings, at)) return;
      std::function<void()> call;
      if (!it->second.waiter->Offer(it->second.target, make_slot, &call)) {
        ++it;  // served elsewhere; its owner is about to leave, and relies on finding itself here
        continue;
      }
      it = provider.line.erase(it);
      if (call) calls->push_back(std::move(call));
    }
  }

  template <typename Event>
  void Change(void* window, TimePoint now, const Event& event) {
    const std::shared_ptr<const Settings> snapshot = settings_->Current();
    Provider& provider = *static_cast<Provider*>(window);
    Calls calls;
    {
      MutexLock lock(&provider.shard->mutex);
      event(provider.window, Of(*snapshot, provider.name), Advance(provider, now));
      HandOut(provider, *snapshot, now, &calls);
    }
    Run(calls);
  }

  const SettingsSource* settings_;
  std::atomic<std::uint64_t> places_{0};
  std::array<Shard, kShards> shards_;
};

}  // namespace
}  // namespace guard

std::unique_ptr<InflightLimiter> MakeInflightLimiter(const SettingsSource* settings) {
  return std::make_unique<guard::Limiter>(settings);
}

}  // namespace hotel
