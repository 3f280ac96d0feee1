// Random event tapes over attempt machines.
#include <cstdint>
#include <string>

#include "tests/model/world.h"
#include "tests/support/catch.h"

namespace hotel::model {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kTapes = 10'000;
#else
constexpr std::uint64_t kTapes = 200'000;
#endif

void Play(std::uint64_t first, std::uint64_t count, Coverage* coverage) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::string broken = PlayTape(seed, coverage);
    if (!broken.empty()) {
      INFO("seed " << seed);
      FAIL(broken);
    }
  }
}

}  // namespace

TEST_CASE("random tapes keep every invariant and reach every outcome") {
  Coverage coverage;
  Play(1, kTapes, &coverage);
  CHECK(coverage.tapes == kTapes);
  CHECK(coverage.requests > kTapes);
  CHECK(coverage.events > 10 * kTapes);
  // A tape generator that stopped reaching something would keep every invariant of it.
  const auto reached = [](const auto& counts) {
    for (const std::uint64_t count : counts) CHECK(count > kTapes / 1000);
  };
  reached(coverage.actions);
  reached(coverage.hows);
  reached(coverage.reasons);
  reached(coverage.verdicts);
  reached(coverage.timeouts);
  reached(coverage.refusals);
  CHECK(coverage.probes > kTapes / 100);
  CHECK(coverage.repeats > kTapes / 100);
  CHECK(coverage.last_once_more > kTapes / 500);
  CHECK(coverage.slots > kTapes / 100);
  CHECK(coverage.races > kTapes / 100);
  CHECK(coverage.superseded > kTapes / 500);
  CHECK(coverage.cuts > kTapes / 100);
  CHECK(coverage.slow > kTapes / 1000);
  CHECK(coverage.settled > kTapes / 100);
  CHECK(coverage.pauses > kTapes / 100);
  CHECK(coverage.whole_on_clock > kTapes / 1000);
  CHECK(coverage.overdue_when_left > kTapes / 10'000);
}

// By hand: for the pace, and for seeds that nobody has seen.
TEST_CASE("a million requests", "[.][long]") {
  Coverage coverage;
  for (std::uint64_t seed = 1'000'000'000; coverage.requests < 1'000'000; seed += 1000) {
    Play(seed, 1000, &coverage);
  }
  CHECK(coverage.events > coverage.requests);
}

}  // namespace hotel::model
