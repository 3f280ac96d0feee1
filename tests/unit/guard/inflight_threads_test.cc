// Several threads on one limiter. Assertions stay on the test thread.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hotel/inflight_limiter.h"

#include "libhotel/base/random.h"
#include "tests/support/catch.h"
#include "tests/unit/guard/inflight_fixture.h"

namespace hotel::guard::test {
namespace {

constexpr int kThreads = 4;

template <typename Work>
void OnThreads(Work work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&work, t] { work(t); });
  for (std::thread& thread : threads) thread.join();
}

/// How a waiting thread is woken; owned by the callback too, which may outlive the place.
struct Bell {
  std::mutex mutex;
  std::condition_variable rung_changed;
  bool rung = false;

  void Ring() {
    std::lock_guard<std::mutex> lock(mutex);
    rung = true;
    rung_changed.notify_one();
  }
  void Await() {
    std::unique_lock<std::mutex> lock(mutex);
    rung_changed.wait(lock, [this] { return rung; });
  }
};

}  // namespace

TEST_CASE("a hard ceiling is never passed, whatever the threads") {
  InflightFixture f;
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  OnThreads([&](int) {
    for (int i = 0; i < 3000; ++i) {
      InflightSlot slot = f.Take("a", 2);
      if (!slot.valid()) continue;
      const int now_inside = ++inside;
      int seen = most.load();
      while (seen < now_inside && !most.compare_exchange_weak(seen, now_inside)) {
      }
      --inside;
      slot.End(SlotEnd::kClean, kNow);
    }
  });
  CHECK(most.load() >= 1);
  CHECK(most.load() <= 2);
  CHECK(f.View("a").inflight == 0);
}

TEST_CASE("no wake-up is lost: every thread that waits without a bound gets its slot") {
  InflightFixture f;
  std::atomic<int> served{0};
  OnThreads([&](int t) {
    for (int i = 0; i < 2000; ++i) {
      const std::vector<InflightTarget> targets =
          (i + t) % 2 == 0 ? std::vector<InflightTarget>{f.Of("a", 1), f.Of("b", 1)}
                           : std::vector<InflightTarget>{f.Of("b", 1)};
      auto bell = std::make_shared<Bell>();
      SlotWait wait = f.limiter->Wait(targets, kNow, [bell] { bell->Ring(); });
      if (!wait.ready()) bell->Await();
      std::size_t target = 0;
      InflightSlot slot = wait.Take(&target);
      if (!slot.valid()) continue;  // would be missing from the count
      ++served;
      slot.End(SlotEnd::kClean, kNow);
    }
  });
  CHECK(served.load() == kThreads * 2000);
  CHECK(f.View("a").inflight == 0);
  CHECK(f.View("b").inflight == 0);
}

TEST_CASE("waiters that leave at any moment lose no slot") {
  InflightFixture f;
  OnThreads([&](int t) {
    std::uint64_t random = static_cast<std::uint64_t>(t) + 1;
    for (int i = 0; i < 3000; ++i) {
      InflightSlot held = f.Take("a", 1);
      SlotWait wait = f.limiter->Wait({f.Of("a", 1), f.Of("b", 1)}, kNow, [] {});
      if (base::RandomBelow(&random, 2) == 0) wait = SlotWait();
      if (held.valid()) held.End(SlotEnd::kUnclean, kNow);
      std::size_t target = 0;
      const InflightSlot slot = wait.valid() ? wait.Take(&target) : InflightSlot();
    }
  });
  CHECK(f.limiter->Views(kNow).empty());
  CHECK(f.Take("a", 1).valid());
  CHECK(f.Take("b", 1).valid());
}

TEST_CASE("every kind of call at once, providers coming and going: all slots come back") {
  InflightFixture f;
  OnThreads([&](int t) {
    std::uint64_t random = static_cast<std::uint64_t>(t) + 100;
    std::vector<InflightSlot> held;
    for (int i = 0; i < 3000; ++i) {
      const std::string id = "p" + std::to_string(base::RandomBelow(&random, 40));
      const TimePoint now = kNow + std::chrono::seconds(i);
      switch (base::RandomBelow(&random, 9)) {
        case 0:
          f.Edit([&](auto& s) { s.enabled = i % 3 != 0; });
          break;
        case 1:
          f.limiter->Refresh({f.Of(id, 3)}, now);
          break;
        case 2:
          f.limiter->Views(now);
          break;
        case 3: {
          SlotWait wait = f.limiter->Wait({f.Of(id, 1), f.Of("p0", 1)}, now, [] {});
          std::size_t target = 0;
          InflightSlot slot = wait.Take(&target);
          if (slot.valid()) held.push_back(std::move(slot));
          break;
        }
        case 4:
          if (!held.empty()) {
            held.back().EndSaturated(std::chrono::seconds(1), now);
            held.pop_back();
          }
          break;
        case 5:
          if (!held.empty()) held.front().NoneRemaining(now);
          break;
        case 6:
          held.clear();
          break;
        default:
          if (InflightSlot slot = f.Take(id, 4, now); slot.valid()) {
            held.push_back(std::move(slot));
          }
      }
    }
  });
  for (const InflightView& view : f.limiter->Views(kNow)) {
    CHECK(view.inflight == 0);
    CHECK(view.waiting == 0);
  }
}

}  // namespace hotel::guard::test
