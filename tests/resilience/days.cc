#include "tests/resilience/days.h"

#include <chrono>

#include "fmt/format.h"
#include "libhotel/settings/registry.h"

namespace hotel::resilience {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kBusyBody =
    R"({"error":{"message":"Too many concurrent requests","type":"rate_limit_error"}})";
constexpr const char* kSpentBody =
    R"({"error":{"message":"You have reached your weekly usage limit","type":"usage_limit"}})";

// Between 300 and 700 ms.
Reply Good(double dice) { return {milliseconds(300 + static_cast<int>(400 * dice)), 200}; }
Reply Broken(int status) { return {milliseconds(50), status}; }

ProviderModel Steady(std::string name) {
  return {std::move(name), [](Duration, int, double dice) { return Good(dice); }};
}

Day DeadModel() {
  return {"one dead model",
          {{"first", [](Duration, int, double) { return Broken(500); }}, Steady("second")},
          hours(24),
          seconds(1)};
}

Day Outage() {
  const auto serve = [](Duration at, int, double dice) {
    return at >= minutes(30) && at < minutes(90) ? Broken(503) : Good(dice);
  };
  return {"a provider dead for an hour",
          {{"first", serve}, Steady("second")},
          hours(3),
          seconds(1),
          minutes(90)};
}

Day Flapping() {
  // Two minutes well, two minutes broken, for hours.
  const auto serve = [](Duration at, int, double dice) {
    return (at / minutes(2)) % 2 == 1 ? Broken(502) : Good(dice);
  };
  return {"a flapping provider", {{"first", serve}, Steady("second")}, hours(6), seconds(1)};
}

Day Ceiling() {
  // Three slots; ten requests would like to be there at a time.
  const auto serve = [](Duration, int inflight, double dice) -> Reply {
    if (inflight > 3) return {milliseconds(20), 429, "", kBusyBody};
    return Good(dice);
  };
  return {"a provider with three slots",
          {{"first", serve}, Steady("second")},
          hours(2),
          milliseconds(50)};
}

Day WeeklyQuota() {
  const auto serve = [](Duration at, int, double dice) -> Reply {
    if (at >= hours(2) && at < hours(50)) return {milliseconds(50), 429, "", kSpentBody};
    return Good(dice);
  };
  return {"a weekly quota spent for two days",
          {{"first", serve}, Steady("second")},
          hours(72),
          seconds(5),
          hours(50)};
}

Day Slow() {
  const auto serve = [](Duration at, int, double dice) -> Reply {
    if (at >= minutes(30) && at < minutes(90)) return {seconds(90), 200};
    return Good(dice);
  };
  return {"a provider that needs 90 s for an hour",
          {{"first", serve}, Steady("second")},
          hours(3),
          seconds(2),
          minutes(90)};
}

std::string Seconds(Duration span) {
  return fmt::format("{:.1f} s", std::chrono::duration<double>(span).count());
}

}  // namespace

std::vector<Day> Days() {
  return {DeadModel(), Outage(), Flapping(), Ceiling(), WeeklyQuota(), Slow()};
}

std::vector<Strategy> Strategies() {
  const EngineSettings failover_first = settings::ProfileDefaults(0);
  const EngineSettings retry_first = settings::ProfileDefaults(1);
  EngineSettings fixed = failover_first;
  fixed.circuit_breaker.backoff_max = fixed.circuit_breaker.quota_pin_max = Duration::zero();
  fixed.rate_limit.classify = false;
  fixed.inflight_limiter.enabled = false;
  EngineSettings none = fixed;
  none.circuit_breaker.enabled = false;
  return {{"failover_first", failover_first},
          {"retry_first", retry_first},
          {"fixed cooldown", fixed},
          {"no breaker", none}};
}

std::string Tables(std::uint64_t seed) {
  std::string page;
  for (const Day& day : Days()) {
    page += fmt::format("### {}\n\n", day.name);
    page += fmt::format("{} requests a minute for {} hours.\n\n",
                        std::chrono::nanoseconds(minutes(1)) / day.spacing, day.length / hours(1));
    page +=
        "| strategy | failed | wasted calls | served by the first | mean wait | longest wait | "
        "back "
        "after |\n|---|---|---|---|---|---|---|\n";
    for (const Strategy& strategy : Strategies()) {
      const Outcome outcome = Live(day, strategy.settings, seed);
      const double share =
          100.0 * static_cast<double>(outcome.by_first) / static_cast<double>(outcome.requests);
      page += fmt::format(
          "| {} | {} | {} | {:.1f} % | {:.3f} s | {} | {} |\n", strategy.name, outcome.failed,
          outcome.wasted, share, std::chrono::duration<double>(outcome.mean).count(),
          Seconds(outcome.worst), outcome.recovery ? Seconds(*outcome.recovery) : "-");
    }
    page += "\n";
  }
  return page;
}

}  // namespace hotel::resilience
