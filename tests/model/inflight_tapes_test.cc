// Random use of slots, windows and lines.
#include <cstdint>
#include <string>

#include "tests/model/inflight_world.h"
#include "tests/support/catch.h"

namespace hotel::model {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kTapes = 500;
#else
constexpr std::uint64_t kTapes = 2'000;
#endif

}  // namespace

TEST_CASE("random use of the limiter keeps every invariant of windows and lines") {
  InflightCoverage coverage;
  for (std::uint64_t seed = 1; seed <= kTapes; ++seed) {
    const std::string broken = PlayInflightTape(seed, &coverage);
    if (!broken.empty()) {
      INFO("seed " << seed);
      FAIL(broken);
    }
  }
  CHECK(coverage.tapes == kTapes);
  CHECK(coverage.admitted > kTapes);
  CHECK(coverage.busy > kTapes);
  CHECK(coverage.cuts > kTapes);
  CHECK(coverage.growths > kTapes / 10);
  CHECK(coverage.forgotten > kTapes / 10);
  CHECK(coverage.served_at_once > kTapes / 10);
  CHECK(coverage.served_later > kTapes);
  CHECK(coverage.passed_on > kTapes / 100);
  CHECK(coverage.most_waiting > 8);
}

}  // namespace hotel::model
