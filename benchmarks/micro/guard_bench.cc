// Circuits: the question at resolve, and a permit with its report, alone and from eight threads.
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <benchmark/benchmark.h>

#include "hotel/circuit_breaker.h"
#include "hotel/defaults.h"
#include "hotel/settings.h"

namespace hotel {
namespace {

constexpr TimePoint kNow{std::chrono::hours(1)};
constexpr int kThreads = 8;

/// A hundred circuits that have been used, as a busy gateway has them.
struct Circuits {
  Circuits() {
    for (int i = 0; i < 100; ++i) {
      breaker->TryAcquire(Key(i), kNow).permit.Report({Verdict::kSuccess, "success", 200}, kNow);
    }
  }

  static CircuitKey Key(int i) {
    return {"0f8fad5b-d9cb-469f-a165-70867728950e", "vendor/model-" + std::to_string(i), "vendor"};
  }

  std::unique_ptr<SettingsSource> settings = MakeFixedSettings(Settings::Defaults());
  std::unique_ptr<CircuitBreaker> breaker = MakeCircuitBreaker(settings.get(), nullptr);
};

/// One for all threads of a run.
Circuits& Shared() {
  static Circuits circuits;
  return circuits;
}

void CheckClosed(benchmark::State& state) {
  CircuitBreaker& breaker = *Shared().breaker;
  const CircuitKey key = Circuits::Key(50);
  for (auto _ : state) benchmark::DoNotOptimize(breaker.Blocked(key, kNow));
}
BENCHMARK(CheckClosed)->Threads(1)->Threads(kThreads)->UseRealTime();

/// Nine of a hundred circuits refuse and the provider's verdict is derived each time.
void CheckBesideOpenOnes(benchmark::State& state) {
  Settings options = Settings::Defaults();
  options.global.circuit_breaker.span_models = 10;
  const auto settings = MakeFixedSettings(options);
  const auto breaker = MakeCircuitBreaker(settings.get(), nullptr);
  for (int i = 0; i < 100; ++i) {
    const Verdict verdict = i < 9 ? Verdict::kOpenNow : Verdict::kSuccess;
    breaker->TryAcquire(Circuits::Key(i), kNow).permit.Report({verdict, "success", 200}, kNow);
  }
  const CircuitKey key = Circuits::Key(50);
  for (auto _ : state) benchmark::DoNotOptimize(breaker->Blocked(key, kNow));
}
BENCHMARK(CheckBesideOpenOnes);

/// What every good request pays. The key is made anew: it moves into the permit.
void AcquireAndReport(benchmark::State& state) {
  CircuitBreaker& breaker = *Shared().breaker;
  const CircuitKey key = Circuits::Key(50);
  for (auto _ : state) {
    Admission admission = breaker.TryAcquire(key, kNow);
    if (!admission.admitted()) {
      state.SkipWithError("refused");
      break;
    }
    admission.permit.Report({Verdict::kSuccess, "success", 200}, kNow);
  }
}
BENCHMARK(AcquireAndReport)->Threads(1)->Threads(kThreads)->UseRealTime();

/// A failure takes the lock for writing.
void AcquireAndCharge(benchmark::State& state) {
  const Circuits circuits;
  const CircuitKey key = Circuits::Key(50);
  for (auto _ : state) {
    Admission admission = circuits.breaker->TryAcquire(key, kNow);
    if (!admission.admitted()) {
      state.SkipWithError("refused");
      break;
    }
    admission.permit.Report({Verdict::kFailure, "timeout", 0}, kNow);
    circuits.breaker->TryAcquire(key, kNow).permit.Report({Verdict::kSuccess, "", 200}, kNow);
  }
}
BENCHMARK(AcquireAndCharge);

/// The shared pointer that a check would copy if the breaker did not keep it per thread.
void CopySettings(benchmark::State& state) {
  const SettingsSource& settings = *Shared().settings;
  for (auto _ : state) benchmark::DoNotOptimize(settings.Current());
}
BENCHMARK(CopySettings)->Threads(1)->Threads(kThreads)->UseRealTime();

}  // namespace
}  // namespace hotel
