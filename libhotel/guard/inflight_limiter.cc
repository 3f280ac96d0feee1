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
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotel/defaults.h"
#include "hotel/settings.h"

#include "libhotel/base/mutex.h"
#include "libhotel/base/string_hash.h"
#include "libhotel/decide/inflight_core.h"
#include "libhotel/guard/inflight_windows.h"
#include "libhotel/guard/settings_cache.h"
#include "libhotel/guard/slot_line.h"

namespace hotel {
namespace guard {
namespace {

using base::MutexLock;
using Calls = std::vector<std::function<void()>>;

constexpr std::size_t kShards = 16;

void Run(const Calls& calls) {
  for (const std::function<void()>& call : calls) call();
}

class Limiter final : public InflightLimiter {
 public:
  explicit Limiter(const SettingsSource* settings) : settings_(settings) {}

  bool Busy(const InflightTarget& target, TimePoint now) const noexcept override {
    const Settings& snapshot = settings_.Current();
    const WindowShard& shard = ShardOf(target.provider_id);
    MutexLock lock(&shard.mutex);
    const auto found = shard.windows.find(target.provider_id);
    if (found == shard.windows.end()) return false;
    const ProviderWindow& provider = found->second;
    return !decide::Admits(provider.window, target.max_in_flight,
                           InflightOptions(snapshot, target.provider_name),
                           std::max(provider.latest, now));
  }

  InflightSlot TryAcquire(const InflightTarget& target, TimePoint now) override {
    const Settings& snapshot = settings_.Current();
    Calls calls;
    InflightSlot slot;
    {
      WindowShard& shard = ShardOf(target.provider_id);
      MutexLock lock(&shard.mutex);
      ProviderWindow& provider = shard.FindOrMake(target, snapshot, now);
      HandOut(provider, snapshot, now, &calls);
      slot = Acquire(provider, snapshot, now);
    }
    Run(calls);
    return slot;
  }

  SlotWait Wait(const std::vector<InflightTarget>& targets, TimePoint now,
                std::function<void()> on_slot, std::uint64_t seniority) override {
    const Settings& snapshot = settings_.Current();
    const std::uint64_t number = ++places_;
    const PlaceKey key{seniority == 0 ? number : seniority, number};
    auto waiter = std::make_shared<Waiter>(std::move(on_slot));
    auto place = std::make_unique<PlaceOf>(key, waiter);
    Calls calls;
    for (std::size_t i = 0; i < targets.size() && waiter->Waiting(); ++i) {
      WindowShard& shard = ShardOf(targets[i].provider_id);
      MutexLock lock(&shard.mutex);
      ProviderWindow& provider = shard.FindOrMake(targets[i], snapshot, now);
      if (!provider.line.try_emplace(key, PlaceInLine{waiter, i}).second) continue;
      place->providers.push_back(&provider);
      HandOut(provider, snapshot, now, &calls);
    }
    waiter->Arm();
    Run(calls);
    return SlotWait(std::move(place));
  }

  void Refresh(const std::vector<InflightTarget>& changed, TimePoint now) override {
    const Settings& snapshot = settings_.Current();
    for (const InflightTarget& target : changed) {
      WindowShard& shard = ShardOf(target.provider_id);
      MutexLock lock(&shard.mutex);
      const auto found = shard.windows.find(target.provider_id);
      if (found != shard.windows.end()) found->second.Describe(target);
    }
    Calls calls;
    for (WindowShard& shard : shards_) {
      MutexLock lock(&shard.mutex);
      for (auto& [id, provider] : shard.windows) HandOut(provider, snapshot, now, &calls);
      shard.Sweep(snapshot, now);
    }
    Run(calls);
  }

  std::vector<InflightView> Views(TimePoint now) const override {
    const Settings& snapshot = settings_.Current();
    std::vector<InflightView> views;
    for (const WindowShard& shard : shards_) {
      MutexLock lock(&shard.mutex);
      for (const auto& [id, provider] : shard.windows) {
        const InflightLimiterSettings& settings = InflightOptions(snapshot, provider.name);
        const TimePoint at = std::max(provider.latest, now);
        if (provider.Idle(settings, now)) continue;
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

    std::vector<ProviderWindow*> providers;

   private:
    void LeaveLines() {
      for (ProviderWindow* provider : providers) {
        MutexLock lock(&provider->shard->mutex);
        provider->line.erase(key_);
      }
      providers.clear();
    }

    const PlaceKey key_;
    const std::shared_ptr<Waiter> waiter_;
  };

  WindowShard& ShardOf(std::string_view id) noexcept {
    return shards_[base::StringHash{}(id) % kShards];
  }
  const WindowShard& ShardOf(std::string_view id) const noexcept {
    return shards_[base::StringHash{}(id) % kShards];
  }

  // An invalid slot when the provider is at its window.
  InflightSlot Acquire(ProviderWindow& provider, const Settings& snapshot, TimePoint now) {
    const InflightLimiterSettings& settings = InflightOptions(snapshot, provider.name);
    const TimePoint at = provider.Advance(now);
    if (!provider.Admits(settings)) return {};
    decide::Admit(provider.window, settings, at);
    return InflightSlot(this, &provider);
  }

  // Gives the line what the provider admits. The caller holds the shard's lock, and runs `calls`
  // when it no longer does.
  void HandOut(ProviderWindow& provider, const Settings& snapshot, TimePoint now, Calls* calls) {
    if (provider.line.empty()) return;
    const InflightLimiterSettings& settings = InflightOptions(snapshot, provider.name);
    const TimePoint at = provider.Advance(now);
    const auto make_slot = [&] {
      decide::Admit(provider.window, settings, at);
      return InflightSlot(this, &provider);
    };
    for (auto it = provider.line.begin(); it != provider.line.end();) {
      if (!provider.Admits(settings)) return;
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
    const Settings& snapshot = settings_.Current();
    ProviderWindow& provider = *static_cast<ProviderWindow*>(window);
    Calls calls;
    {
      MutexLock lock(&provider.shard->mutex);
      event(provider.window, InflightOptions(snapshot, provider.name), provider.Advance(now));
      HandOut(provider, snapshot, now, &calls);
    }
    Run(calls);
  }

  const SettingsCache settings_;
  std::atomic<std::uint64_t> places_{0};
  std::array<WindowShard, kShards> shards_;
};

}  // namespace
}  // namespace guard

std::unique_ptr<InflightLimiter> MakeInflightLimiter(const SettingsSource* settings) {
  return std::make_unique<guard::Limiter>(settings);
}

}  // namespace hotel
