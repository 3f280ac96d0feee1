#include "libhotel/base/mutex.h"

#include <algorithm>
#include <condition_variable>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "libhotel/base/provider_types.h"
#include "libhotel/base/string_hash.h"
#include "tests/support/catch.h"

namespace {

using namespace hotel::base;

struct Counter {
  Mutex mutex;
  int value HOTEL_GUARDED_BY(mutex) = 0;
};

TEST_CASE("A lock keeps concurrent increments apart") {
  Counter counter;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&counter] {
      for (int j = 0; j < 10000; ++j) {
        MutexLock lock(&counter.mutex);
        ++counter.value;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  MutexLock lock(&counter.mutex);
  CHECK(counter.value == 40000);
}

TEST_CASE("A waiting lock lets the other side in") {
  Counter counter;
  std::condition_variable changed;
  std::thread other([&] {
    MutexLock lock(&counter.mutex);
    counter.value = 1;
    changed.notify_one();
  });
  {
    MutexLock lock(&counter.mutex);
    while (counter.value == 0) changed.wait(lock.native());
    CHECK(counter.value == 1);
  }
  other.join();
}

TEST_CASE("Maps with string keys are searched by view") {
  absl::flat_hash_map<std::string, int, StringHash, StringEqual> map = {{"acme", 1}};
  CHECK(map.find(std::string_view("acme")) != map.end());
  CHECK(map.find(std::string_view("acm")) == map.end());
}

TEST_CASE("The provider types of facts k are known, each once") {
  std::vector<std::string_view> seen;
  for (const std::string_view name : kProviderTypeNames) {
    CHECK_FALSE(name.empty());
    CHECK(std::count(seen.begin(), seen.end(), name) == 0);
    seen.push_back(name);
  }
  for (const char* name : {"openai", "anthropic", "custom", "google", "ollama", "zai-coding"}) {
    CHECK(std::count(seen.begin(), seen.end(), name) == 1);
  }
}

}  // namespace
