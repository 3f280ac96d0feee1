// Facts e, rule by rule.
#include "libhotel/decide/inflight_core.h"

#include <chrono>

#include "hotel/inflight_limiter.h"
#include "hotel/settings.h"
#include "hotel/types.h"

#include "tests/support/catch.h"

namespace hotel::decide {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr TimePoint kNow{hours(1)};

InflightLimiterSettings On(int grow_after = 20) {
  InflightLimiterSettings settings;
  settings.enabled = true;
  settings.grow_after = grow_after;
  settings.forget_after = minutes(10);
  return settings;
}

InflightLimiterSettings Off() {
  InflightLimiterSettings settings = On();
  settings.enabled = false;
  return settings;
}

Window With(int inflight, int limit = 0, TimePoint last_cut = kNow) {
  Window window;
  window.inflight = inflight;
  window.limit = limit;
  window.last_cut = last_cut;
  return window;
}

// A 429 that reads saturated, as the shell applies it: its slot first, then the cut.
void Saturated(Window& window, Duration retry_after, TimePoint now) {
  Release(window, SlotEnd::kUnclean, On(), now);
  Cut(window, retry_after, On(), now);
}

void Clean(Window& window, int times, const InflightLimiterSettings& settings,
           TimePoint now = kNow) {
  for (int i = 0; i < times; ++i) {
    Admit(window, settings, now);
    Release(window, SlotEnd::kClean, settings, now);
  }
}

}  // namespace

TEST_CASE("facts e: the effective limit is the smaller of learned and max_in_flight, 0 is none") {
  CHECK(EffectiveLimit(With(0), 0, On(), kNow) == 0);
  CHECK(EffectiveLimit(With(0, 3), 0, On(), kNow) == 3);
  CHECK(EffectiveLimit(With(0), 5, On(), kNow) == 5);
  CHECK(EffectiveLimit(With(0, 3), 5, On(), kNow) == 3);
  CHECK(EffectiveLimit(With(0, 5), 3, On(), kNow) == 3);
}

TEST_CASE("facts e: admit while uncapped or below the effective limit, else busy") {
  CHECK(Admits(With(1'000'000), 0, On(), kNow));
  CHECK(Admits(With(2, 3), 0, On(), kNow));
  CHECK_FALSE(Admits(With(3, 3), 0, On(), kNow));
  CHECK_FALSE(Admits(With(4, 3), 0, On(), kNow));
  CHECK(Admits(With(3), 4, On(), kNow));
  CHECK_FALSE(Admits(With(4), 4, On(), kNow));
  Window window = With(2, 3);
  Admit(window, On(), kNow);
  CHECK(window.inflight == 3);
  CHECK(window.limit == 3);
}

TEST_CASE("facts e: release gives back one; grow_after clean ends in a row widen by one") {
  Window window = With(0, 2);
  Clean(window, 19, On());
  CHECK(window.limit == 2);
  CHECK(window.good_runs == 19);
  Clean(window, 1, On());
  CHECK(window.limit == 3);
  CHECK(window.good_runs == 0);
  CHECK(window.inflight == 0);
  Clean(window, 20, On());
  CHECK(window.limit == 4);
}

TEST_CASE("facts e: an unclean end starts the run of clean ones over") {
  Window window = With(0, 2);
  Clean(window, 19, On());
  Admit(window, On(), kNow);
  Release(window, SlotEnd::kUnclean, On(), kNow);
  CHECK(window.good_runs == 0);
  Clean(window, 19, On());
  CHECK(window.limit == 2);
  Clean(window, 1, On());
  CHECK(window.limit == 3);
}

TEST_CASE("an unused slot leaves the run of clean ends as it is") {
  Window window = With(0, 2);
  Clean(window, 19, On());
  Admit(window, On(), kNow);
  Release(window, SlotEnd::kUnused, On(), kNow);
  CHECK(window.inflight == 0);
  CHECK(window.good_runs == 19);
  CHECK(window.limit == 2);
}

TEST_CASE("facts e: nothing is counted while uncapped") {
  Window window;
  Clean(window, 50, On());
  CHECK(window.limit == 0);
  CHECK(window.good_runs == 0);
}

TEST_CASE("facts e: a saturated 429 cuts to one below what was in flight when it arrived") {
  Window window = With(4);
  Saturated(window, Duration::zero(), kNow);
  CHECK(window.limit == 3);
  CHECK(window.inflight == 3);
  CHECK_FALSE(Admits(window, 0, On(), kNow));
}

TEST_CASE("facts e: a cut never goes below one") {
  Window window = With(1);
  Saturated(window, Duration::zero(), kNow);
  CHECK(window.limit == 1);
  CHECK(Admits(window, 0, On(), kNow));
}

TEST_CASE("facts e: a cut applies if uncapped or smaller and always restarts run and clock") {
  Window window = With(0, 2);
  Clean(window, 5, On());
  window.inflight = 5;  // sent before the window was as small as it is
  Saturated(window, Duration::zero(), kNow + minutes(1));
  CHECK(window.limit == 2);
  CHECK(window.good_runs == 0);
  CHECK(window.last_cut == kNow + minutes(1));
  window.inflight = 2;
  Saturated(window, Duration::zero(), kNow + minutes(2));
  CHECK(window.limit == 1);
}

TEST_CASE("facts e: a cut's Retry-After defers the forgetting, a shorter one takes nothing back") {
  Window window = With(4);
  Saturated(window, seconds(60), kNow);
  CHECK(window.last_cut == kNow + seconds(60));
  window.inflight = 3;
  Saturated(window, seconds(2), kNow + seconds(1));
  CHECK(window.last_cut == kNow + seconds(60));
  CHECK(LearnedLimit(window, On(), kNow + seconds(60) + minutes(10) - Duration(1)) == 2);
  CHECK(LearnedLimit(window, On(), kNow + seconds(60) + minutes(10)) == 0);
}

TEST_CASE("a cut's Retry-After is bounded, negative ones are none") {
  Window window = With(4);
  Saturated(window, Duration::max(), kNow);
  CHECK(window.last_cut == kNow + hours(24));
  window = With(4);
  Saturated(window, seconds(-5), kNow);
  CHECK(window.last_cut == kNow);
}

TEST_CASE("facts e: forget_after without a cut returns the window to uncapped") {
  Window window = With(2, 2);
  window.good_runs = 7;
  Release(window, SlotEnd::kClean, On(), kNow + minutes(10) - Duration(1));
  CHECK(window.limit == 2);
  CHECK(window.good_runs == 8);
  Release(window, SlotEnd::kClean, On(), kNow + minutes(10));
  CHECK(window.limit == 0);
  CHECK(window.good_runs == 0);
  // Growth does not put it off.
  window = With(0, 2);
  Clean(window, 40, On(), kNow + minutes(9));
  CHECK(LearnedLimit(window, On(), kNow + minutes(9)) == 4);
  CHECK(LearnedLimit(window, On(), kNow + minutes(10)) == 0);
}

TEST_CASE("a window is forgotten by time alone, also while its slots are held") {
  Window window = With(3, 3);
  CHECK_FALSE(Admits(window, 0, On(), kNow + minutes(10) - Duration(1)));
  REQUIRE(Admits(window, 0, On(), kNow + minutes(10)));
  Admit(window, On(), kNow + minutes(10));
  CHECK(window.limit == 0);
  CHECK(window.inflight == 4);
}

TEST_CASE("a cut behind the forgetting starts anew") {
  Window window = With(8, 2);
  window.good_runs = 3;
  Saturated(window, Duration::zero(), kNow + minutes(11));
  CHECK(window.limit == 7);
  CHECK(window.last_cut == kNow + minutes(11));
}

TEST_CASE("facts e: remaining 0 caps at what is in flight, this answer's slot included") {
  Window window = With(3);
  window.last_cut = TimePoint{};
  Hint(window, On(), kNow);
  CHECK(window.limit == 3);
  CHECK(window.inflight == 3);
  CHECK(window.last_cut == kNow);
  CHECK_FALSE(Admits(window, 0, On(), kNow));
}

TEST_CASE("facts e: remaining 0 never widens, and says nothing new when it does not lower") {
  Window window = With(5, 2);
  window.good_runs = 4;
  Hint(window, On(), kNow + minutes(1));
  CHECK(window.limit == 2);
  CHECK(window.good_runs == 4);
  CHECK(window.last_cut == kNow);
  window.inflight = 1;
  Hint(window, On(), kNow + minutes(1));
  CHECK(window.limit == 1);
  CHECK(window.good_runs == 0);
}

TEST_CASE("remaining 0 does not shorten a cut's deferral") {
  Window window = With(2, 3, kNow + seconds(60));
  Hint(window, On(), kNow);
  CHECK(window.limit == 2);
  CHECK(window.last_cut == kNow + seconds(60));
}

TEST_CASE("facts e: the learner off admits all and learns nothing; max_in_flight still holds") {
  Window window = With(9, 2);
  CHECK(Admits(window, 0, Off(), kNow));
  CHECK_FALSE(Admits(window, 9, Off(), kNow));
  CHECK(Admits(window, 10, Off(), kNow));
  window = With(4);
  Cut(window, Duration::zero(), Off(), kNow);
  Hint(window, Off(), kNow);
  CHECK(window.limit == 0);
}

TEST_CASE("switching the learner off forgets what it knew, with the next slot that moves") {
  Window window = With(1, 1);
  Release(window, SlotEnd::kClean, Off(), kNow);
  CHECK(window.limit == 0);
  CHECK(EffectiveLimit(window, 0, On(), kNow) == 0);
}

TEST_CASE("facts e: the learner runs underneath max_in_flight") {
  Window window = With(3);
  CHECK_FALSE(Admits(window, 3, On(), kNow));
  Saturated(window, Duration::zero(), kNow);
  CHECK(EffectiveLimit(window, 3, On(), kNow) == 2);
  window.inflight = 0;
  Clean(window, 40, On());
  CHECK(window.limit == 4);
  CHECK(EffectiveLimit(window, 3, On(), kNow) == 3);
}

TEST_CASE("idle is what a provider never seen looks like") {
  CHECK(Idle(Window{}, On(), kNow));
  CHECK_FALSE(Idle(With(1), On(), kNow));
  CHECK_FALSE(Idle(With(0, 2), On(), kNow));
  CHECK(Idle(With(0, 2), On(), kNow + minutes(10)));
  CHECK(Idle(With(0, 2), Off(), kNow));
}

}  // namespace hotel::decide
