// What the limiter keeps, and for how long.
#include "libhotel/guard/inflight_windows.h"

#include <chrono>
#include <cstddef>
#include <string>

#include "hotel/defaults.h"
#include "hotel/settings.h"

#include "libhotel/base/mutex.h"
#include "tests/support/catch.h"
#include "tests/unit/guard/breaker_fixture.h"

namespace hotel::guard::test {
namespace {

using std::chrono::minutes;

InflightTarget Target(const std::string& id) { return {id, "name", 0}; }

}  // namespace

TEST_CASE("providers that come and go leave nothing behind") {
  const Settings settings = Settings::Defaults();
  WindowShard shard;
  base::MutexLock lock(&shard.mutex);
  for (int i = 0; i < 10'000; ++i) {
    shard.FindOrMake(Target("id-" + std::to_string(i)), settings, kNow);
    REQUIRE(shard.windows.size() <= WindowShard::kMinSweep);
  }
}

TEST_CASE("windows in use, cut or waited at are kept, cut ones until they are forgotten") {
  const Settings settings = Settings::Defaults();
  const InflightLimiterSettings& options = InflightOptions(settings, "name");
  WindowShard shard;
  base::MutexLock lock(&shard.mutex);
  decide::Admit(shard.FindOrMake(Target("used"), settings, kNow).window, options, kNow);
  decide::Cut(shard.FindOrMake(Target("cut"), settings, kNow).window, Duration::zero(), options,
              kNow);
  shard.FindOrMake(Target("waited at"), settings, kNow).line.try_emplace({1, 1}, PlaceInLine{});
  shard.FindOrMake(Target("idle"), settings, kNow);
  shard.Sweep(settings, kNow + minutes(9));
  CHECK(shard.windows.size() == 3);
  CHECK(shard.windows.count("idle") == 0);
  shard.Sweep(settings, kNow + minutes(10));
  CHECK(shard.windows.size() == 2);
  CHECK(shard.windows.count("cut") == 0);
}

TEST_CASE("a shard full of providers in use is searched less and less often") {
  const Settings settings = Settings::Defaults();
  const InflightLimiterSettings& options = InflightOptions(settings, "name");
  WindowShard shard;
  base::MutexLock lock(&shard.mutex);
  for (int i = 0; i < 100; ++i) {
    decide::Admit(shard.FindOrMake(Target(std::to_string(i)), settings, kNow).window, options,
                  kNow);
  }
  CHECK(shard.windows.size() == 100);
  CHECK(shard.sweep_at == 128);
}

}  // namespace hotel::guard::test
