// Random event tapes over attempt machines and circuits.
#include <cstdint>
#include <string>

#include "hotel/circuit_breaker.h"

#include "tests/model/world.h"
#include "tests/support/catch.h"

namespace hotel::model {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kTapes = 20'000;
#else
constexpr std::uint64_t kTapes = 250'000;
#endif

}  // namespace

TEST_CASE("random tapes keep every invariant and reach every outcome") {
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= kTapes; ++seed) {
    const std::string broken = PlayTape(seed, &coverage);
    if (!broken.empty()) {
      INFO("seed " << seed);
      FAIL(broken);
    }
  }
  CHECK(coverage.tapes == kTapes);
  CHECK(coverage.events > 10 * kTapes);
  // A tape generator that stopped reaching something would keep every invariant of it.
  for (const std::uint64_t count : coverage.hows) CHECK(count > kTapes / 1000);
  for (const std::uint64_t count : coverage.reasons) CHECK(count > kTapes / 2000);
  CHECK(coverage.refused > kTapes / 1000);
  CHECK(coverage.stale_reports > kTapes / 1000);
  CHECK(coverage.probes > kTapes / 1000);
  CHECK(coverage.repeats > kTapes / 100);
  using E = BreakerEffect;
  for (const E effect : {E::kCharge, E::kNoop, E::kSuccess, E::kAlive, E::kDisabled}) {
    CHECK(coverage.effects[static_cast<std::size_t>(effect)] > kTapes / 1000);
  }
}

}  // namespace hotel::model
