// F017: upstream calls have a bound that can be read off the options, whatever happens: the sum
// over the attempts of 1 + max_retries, where no candidate is attempted twice but the last one,
// which may be asked once more: for a transient status or after a stated wait.
#include <algorithm>
#include <string>
#include <vector>

#include "libhotel/base/random.h"
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::size_t Below(std::size_t n) { return base::RandomBelow(&state_, n); }
  bool OneIn(std::size_t n) { return Below(n) == 0; }
  template <typename T>
  const T& Pick(const std::vector<T>& values) {
    return values[Below(values.size())];
  }

 private:
  std::uint64_t state_;
};

Script RandomScript(Dice& dice, bool stream) {
  static const std::vector<int> kStatuses = {400, 401, 402, 403, 404, 429, 499,
                                             500, 502, 503, 504, 522, 524, 529};
  switch (dice.Below(9)) {
    case 0:
      return stream ? Script::ChatStream("Good day") : Script::Chat("Good day");
    case 1:
      return Script::Refused();
    case 2:
      return Script::Reset();
    case 3:
      return Script().Head(429, {{"retry-after", dice.OneIn(2) ? "1" : "3600"}}).End();
    case 4:
      return stream ? Cut(Open({Role()})) : Script::Json(200, R"({"error":{"code":503}})");
    case 5:
      return Script().After(dice.OneIn(2) ? milliseconds(10) : minutes(2)).Head(503).End();
    case 6:
      return Script().Hang();
    default:
      return Script::Json(dice.Pick(kStatuses), "{}");
  }
}

Settings RandomSettings(Dice& dice, bool retry_first) {
  Settings settings = retry_first ? RetryFirst() : FailoverFirst();
  const auto maybe = [&](std::string_view name, const std::vector<std::string>& values) {
    if (dice.OneIn(2)) Write(&settings.global, {{name, dice.Pick(values)}});
  };
  maybe("resilience.retry.max_retries", {"0", "1", "2", "3"});
  maybe("resilience.retry.retry_on_statuses", {"", "5xx", "429,5xx", "500,503"});
  maybe("resilience.retry.on_transport", {"none", "replay_safe", "any"});
  maybe("resilience.retry.streaming", {"never", "transport", "before_commit"});
  maybe("failover.judge", {"every", "first"});
  maybe("failover.last_candidate_retry.statuses", {"", "5xx", "500,502,503,504"});
  maybe("failover.last_candidate_retry.wait_saturated", {"true", "false"});
  maybe("failover.max_attempts", {"0", "1", "2"});
  maybe("resilience.circuit_breaker.enabled", {"true", "false"});
  maybe("resilience.circuit_breaker.failure_threshold", {"1", "3"});
  maybe("hedging.enabled", {"true"});
  maybe("hedging.delay", {"100ms", "1s"});
  return settings;
}

TEST_CASE("F017 upstream calls never exceed the stated bound, over random scenarios") {
  const std::vector<std::string> all = {"u1", "u2", "u3", "u4"};
  std::size_t most = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    Dice dice(seed);
    const std::vector<std::string> names(
        all.begin(), all.begin() + 1 + static_cast<std::ptrdiff_t>(dice.Below(4)));
    Harness h(RandomSettings(dice, dice.OneIn(2)));
    h.Demo(names);
    const FailoverSettings& failover = h.settings.Current()->global.failover;
    const bool repeats = !failover.last_candidate_statuses.empty() || failover.wait_saturated;
    const auto tries = static_cast<std::size_t>(1 + h.settings.Current()->global.retry.max_retries);
    for (int request = 0; request < 4; ++request) {
      const bool stream = dice.OneIn(2);
      for (const std::string& name : names) {
        h.upstreams.OnEach(Url(name), [&dice, stream](const testing::SeenRequest&) {
          return RandomScript(dice, stream);
        });
      }
      const std::size_t before = h.upstreams.seen().size();
      h.Ask("hotel/demo", stream);
      const std::size_t calls = h.upstreams.seen().size() - before;
      most = std::max(most, calls);
      INFO("seed " << seed << ", request " << request << ", " << names.size() << " candidates, "
                   << calls << " calls");

      std::size_t attempts = 0;
      std::size_t recorded = 0;
      for (const AttemptRecord& attempt : h.record().attempts) {
        if (attempt.attempt < 0 || attempt.tries == 0) continue;
        ++attempts;
        recorded += static_cast<std::size_t>(attempt.tries);
        REQUIRE(static_cast<std::size_t>(attempt.tries) <= tries);
      }
      REQUIRE(recorded == calls);  // every call stands in the trail
      const auto limit = static_cast<std::size_t>(failover.max_attempts);
      const std::size_t asked = limit == 0 ? names.size() : std::min(names.size(), limit + 1);
      REQUIRE(attempts <= asked + (repeats ? 1 : 0));
      REQUIRE(calls <= attempts * tries);
    }
  }
  CHECK(most > 4);  // the dice do reach the corners
}

}  // namespace
}  // namespace hotel::scenario
