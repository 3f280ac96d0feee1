// In-flight slots: taken and given back, at a provider without and with a window, alone and from
// several threads.
#include <chrono>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "hotel/defaults.h"
#include "hotel/inflight_limiter.h"
#include "hotel/settings.h"

namespace hotel {
namespace {

constexpr TimePoint kNow{std::chrono::hours(1)};
const std::string kProvider = "0f8fad5b-d9cb-469f-a165-70867728950e";

struct Slots {
  std::unique_ptr<SettingsSource> settings = MakeFixedSettings(Settings::Defaults());
  std::unique_ptr<InflightLimiter> limiter = MakeInflightLimiter(settings.get());
};

void TakeAndEnd(benchmark::State& state, InflightLimiter& limiter, const InflightTarget& target) {
  for (auto _ : state) {
    InflightSlot slot = limiter.TryAcquire(target, kNow);
    if (!slot.valid()) {
      state.SkipWithError("refused");
      break;
    }
    slot.End(SlotEnd::kClean, kNow);
  }
}

void SlotUncapped(benchmark::State& state) {
  const Slots slots;
  TakeAndEnd(state, *slots.limiter, {kProvider, "vendor", 0});
}
BENCHMARK(SlotUncapped);

void SlotUnderWindow(benchmark::State& state) {
  const Slots slots;
  const InflightTarget target{kProvider, "vendor", 100};
  slots.limiter->TryAcquire(target, kNow).EndSaturated(Duration::zero(), kNow);
  TakeAndEnd(state, *slots.limiter, target);
}
BENCHMARK(SlotUnderWindow);

void SlotProviderPerThread(benchmark::State& state) {
  static const Slots slots;
  const std::string id = kProvider + std::to_string(state.thread_index());
  TakeAndEnd(state, *slots.limiter, {id, "vendor", 0});
}
BENCHMARK(SlotProviderPerThread)->ThreadRange(1, 8);

// What a busy route costs: stand in line, leave it.
void WaitAndLeave(benchmark::State& state) {
  const Slots slots;
  const InflightTarget target{kProvider, "vendor", 1};
  const InflightSlot held = slots.limiter->TryAcquire(target, kNow);
  for (auto _ : state) {
    const SlotWait wait = slots.limiter->Wait({target}, kNow, [] {});
    benchmark::DoNotOptimize(wait.ready());
  }
}
BENCHMARK(WaitAndLeave);

}  // namespace
}  // namespace hotel
