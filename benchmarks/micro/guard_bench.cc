// Circuits: the question at resolve, and a permit with its report.
#include <chrono>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "hotel/circuit_breaker.h"
#include "hotel/defaults.h"
#include "hotel/settings.h"

namespace hotel {
namespace {

constexpr TimePoint kNow{std::chrono::hours(1)};

/// A hundred circuits that have been charged, as a busy gateway has them.
struct Circuits {
  Circuits() {
    for (int i = 0; i < 100; ++i) {
      breaker->TryAcquire(Key(i), kNow).permit.Report({Verdict::kFailure, "timeout", 0}, kNow);
    }
  }

  static CircuitKey Key(int i) {
    return {"0f8fad5b-d9cb-469f-a165-70867728950e", "vendor/model-" + std::to_string(i), "vendor"};
  }

  std::unique_ptr<SettingsSource> settings = MakeFixedSettings(Settings::Defaults());
  std::unique_ptr<CircuitBreaker> breaker = MakeCircuitBreaker(settings.get(), nullptr);
};

void Blocked(benchmark::State& state) {
  const Circuits circuits;
  const CircuitKey key = Circuits::Key(50);
  for (auto _ : state) benchmark::DoNotOptimize(circuits.breaker->Blocked(key, kNow));
}
BENCHMARK(Blocked);

void AcquireAndReport(benchmark::State& state) {
  const Circuits circuits;
  const CircuitKey key = Circuits::Key(50);
  for (auto _ : state) {
    Admission admission = circuits.breaker->TryAcquire(key, kNow);
    if (!admission.admitted()) {
      state.SkipWithError("refused");
      break;
    }
    admission.permit.Report({Verdict::kSuccess, "", 200}, kNow);
  }
}
BENCHMARK(AcquireAndReport);

}  // namespace
}  // namespace hotel
