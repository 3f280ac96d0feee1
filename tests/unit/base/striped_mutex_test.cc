#include "libhotel/base/striped_mutex.h"

#include <atomic>
#include <thread>
#include <vector>

#include "tests/support/catch.h"

namespace hotel::base {

TEST_CASE("a writer is alone, whatever stripe its readers have") {
  // More threads than stripes, so that some share one.
  constexpr int kThreads = 12;
  constexpr int kRounds = 2000;
  StripedMutex mutex;
  int first = 0;
  int second = 0;
  std::atomic<int> torn{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        if (t % 3 == 0) {
          WriteLock lock(&mutex);
          ++first;
          ++second;
        } else {
          ReadLock lock(&mutex);
          if (first != second) ++torn;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(torn.load() == 0);
  CHECK(first == 4 * kRounds);
  CHECK(second == 4 * kRounds);
}

}  // namespace hotel::base
