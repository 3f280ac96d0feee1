#include "libhotel/guard/settings_cache.h"

#include <atomic>
#include <thread>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/guard/breaker_fixture.h"

namespace hotel::guard::test {
namespace {

/// A source that does not number its snapshots.
class Unnumbered : public SettingsSource {
 public:
  std::shared_ptr<const Settings> Current() const noexcept override { return current; }
  std::shared_ptr<const Settings> current = std::make_shared<const Settings>();
};

/// Counts how often it is asked for a snapshot.
class Counted : public SwitchableSettings {
 public:
  std::shared_ptr<const Settings> Current() const noexcept override {
    ++asked;
    return SwitchableSettings::Current();
  }
  mutable std::atomic<int> asked{0};
};

Settings WithThreshold(int threshold) {
  Settings settings;
  settings.global.circuit_breaker.failure_threshold = threshold;
  return settings;
}

int Threshold(const SettingsCache& cache) {
  return cache.Current().global.circuit_breaker.failure_threshold;
}

}  // namespace

TEST_CASE("a snapshot is fetched once per thread and change") {
  Counted source;
  const SettingsCache cache(&source);
  source.asked = 0;
  for (int i = 0; i < 10; ++i) CHECK(Threshold(cache) == 5);
  CHECK(source.asked == 1);
  source.Set(WithThreshold(9));
  for (int i = 0; i < 10; ++i) CHECK(Threshold(cache) == 9);
  CHECK(source.asked == 2);
  int elsewhere = 0;
  std::thread([&] { elsewhere = Threshold(cache); }).join();
  CHECK(elsewhere == 9);
  CHECK(source.asked == 3);
}

TEST_CASE("a source without numbers is asked each time") {
  Unnumbered source;
  const SettingsCache cache(&source);
  CHECK(Threshold(cache) == 5);
  source.current = std::make_shared<const Settings>(WithThreshold(3));
  CHECK(Threshold(cache) == 3);
}

TEST_CASE("two caches on one thread do not mix, nor does a later one at the same place") {
  SwitchableSettings first;
  SwitchableSettings second;
  second.Set(WithThreshold(8));
  first.Set(WithThreshold(7));  // the same number of changes
  const SettingsCache a(&first);
  const SettingsCache b(&second);
  for (int i = 0; i < 3; ++i) {
    CHECK(Threshold(a) == 7);
    CHECK(Threshold(b) == 8);
  }
  std::optional<SettingsCache> reused;
  reused.emplace(&first);
  CHECK(Threshold(*reused) == 7);
  reused.reset();
  reused.emplace(&second);
  CHECK(Threshold(*reused) == 8);
}

}  // namespace hotel::guard::test
