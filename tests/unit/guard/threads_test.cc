// Several threads on one breaker. Assertions stay on the test thread; counts are compared at the
// end.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/guard/breaker_fixture.h"

namespace hotel::guard::test {
namespace {

constexpr int kThreads = 4;

template <typename Work>
void OnThreads(Work work) {
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ++ready;
      while (ready.load() < kThreads) std::this_thread::yield();
      work(t);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("no charge is lost between threads") {
  Fixture f;
  Settings settings = *f.settings.Current();
  settings.global.circuit_breaker.failure_threshold = 1'000'000;
  f.settings.Set(settings);
  OnThreads([&](int) {
    for (int i = 0; i < 1000; ++i) f.Once(Fixture::Key(), Verdict::kFailure);
  });
  CHECK(f.View(f.Key()).consecutive_fails == kThreads * 1000);
  CHECK(f.events.Take().empty());
}

TEST_CASE("F107 a half-open burst from several threads is settled once, whoever is first") {
  for (int round = 0; round < 50; ++round) {
    Fixture f;
    f.Open(f.Key());
    f.events.Take();
    const TimePoint later = kNow + seconds(60);
    std::vector<Permit> permits(kThreads);
    for (Permit& permit : permits) permit = f.breaker->TryAcquire(f.Key(), later).permit;
    std::atomic<int> counted{0};
    OnThreads([&](int t) {
      const Verdict verdict = t % 2 == 0 ? Verdict::kSuccess : Verdict::kFailure;
      const BreakerEffect effect =
          permits[static_cast<std::size_t>(t)].Report({verdict, "upstream status 500", 500}, later);
      if (effect != BreakerEffect::kNoop) ++counted;
    });
    CHECK(counted.load() == 1);
    CHECK(f.events.Take().size() == 1);
    const CircuitView view = f.View(f.Key(), later);
    CHECK(view.consecutive_fails == (view.state == CircuitState::kClosed ? 0 : 5));
  }
}

TEST_CASE("every kind of call at once, settings changing: states stay consistent") {
  Fixture f;
  const Settings on = *f.settings.Current();
  Settings quick = on;
  quick.global.circuit_breaker.failure_threshold = 2;
  quick.global.circuit_breaker.timeout = Duration(1);
  OnThreads([&](int t) {
    for (int i = 0; i < 2000; ++i) {
      const CircuitKey key = Fixture::Key("m" + std::to_string(i % 3));
      const TimePoint now = kNow + Duration(i);
      switch ((i + t) % 8) {
        case 0:
          f.settings.Set(i % 2 == 0 ? quick : on);
          break;
        case 1:
          f.breaker->Views(now);
          break;
        case 2:
          f.breaker->Blocked(key, now);
          break;
        case 3:
          f.breaker->AcquireDirect(key, now);
          break;
        case 4:
          if (i % 100 == 0) f.breaker->Reset("p1", key.model, now);
          break;
        default:
          if (Admission admission = f.breaker->TryAcquire(key, now); admission.admitted()) {
            admission.permit.Report(
                {i % 3 == 0 ? Verdict::kSuccess : Verdict::kFailure, "upstream status 500", 500},
                now);
          }
      }
    }
  });
  // Whatever the interleaving, a circuit that shows closed has less than the threshold against it.
  for (const CircuitView& view : f.breaker->Views(kNow + seconds(1))) {
    if (view.state == CircuitState::kClosed) CHECK(view.consecutive_fails < 5);
    if (view.state != CircuitState::kClosed) CHECK(view.consecutive_fails >= 2);
  }
  CHECK_FALSE(f.events.Take().empty());
}

TEST_CASE("R51 several threads never hold more probes than the limit, and all places come back") {
  Fixture f;
  f.Change([](CircuitBreakerSettings& s) {
    s.half_open_max_in_flight = 2;
    s.success_threshold = 1'000'000;
  });
  f.Open(f.Key());
  const TimePoint later = kNow + seconds(60);
  std::atomic<int> out{0};
  std::atomic<int> most{0};
  std::atomic<int> admitted{0};
  OnThreads([&](int t) {
    for (int i = 0; i < 2000; ++i) {
      Admission admission = f.breaker->TryAcquire(Fixture::Key(), later);
      if (!admission.admitted()) continue;
      ++admitted;
      const int now_out = ++out;
      int seen = most.load();
      while (seen < now_out && !most.compare_exchange_weak(seen, now_out)) {
      }
      if (i % 8 == 0) std::this_thread::yield();
      --out;
      // Some report, some are dropped.
      if ((i + t) % 2 == 0) admission.permit.Report({Verdict::kSuccess, "success", 200}, later);
    }
  });
  CHECK(admitted.load() > 0);
  CHECK(most.load() <= 2);
  CHECK(f.View(f.Key(), later).state == CircuitState::kHalfOpen);
  CHECK(f.View(f.Key(), later).in_flight == 0);
  CHECK(f.breaker->TryAcquire(f.Key(), later).admitted());
}

TEST_CASE("permits on closed circuits return to zero while others reset, advise and look") {
  Fixture f;
  std::atomic<int> refused{0};
  OnThreads([&](int t) {
    for (int i = 0; i < 2000; ++i) {
      const CircuitKey key = Fixture::Key("m" + std::to_string(i % 5));
      if (t == 0 && i % 50 == 0) f.breaker->Reset("p1", key.model, kNow);
      if (t == 1 && i % 50 == 0) {
        f.breaker->ApplyQuotaAdvice(
            {{"p1", "name-p1", {QuotaReading::Kind::kHealthy, std::nullopt}}}, kNow);
      }
      if (t == 2 && i % 50 == 0) f.breaker->Providers(kNow);
      Admission admission = f.breaker->TryAcquire(key, kNow);
      if (!admission.admitted()) {
        ++refused;
        continue;
      }
      f.breaker->RecentSuccess(key, seconds(60), kNow);
      if (i % 3 != 0) admission.permit.Report({Verdict::kSuccess, "success", 200}, kNow);
    }
  });
  CHECK(refused.load() == 0);
  CHECK_FALSE(f.breaker->Views(kNow).empty());
  for (const CircuitView& view : f.breaker->Views(kNow)) CHECK(view.in_flight == 0);
}

}  // namespace hotel::guard::test
