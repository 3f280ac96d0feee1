// What the profiles do in bad days, and that the days are the same every time.
#include "tests/resilience/days.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/catch.h"

namespace hotel::resilience {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t kSeed = 20261129;

const Day& Find(const std::vector<Day>& days, const std::string& name) {
  for (const Day& day : days) {
    if (day.name == name) return day;
  }
  throw std::logic_error("no such day: " + name);
}

EngineSettings Of(const std::string& name) {
  for (const Strategy& strategy : Strategies()) {
    if (strategy.name == name) return strategy.settings;
  }
  throw std::logic_error("no such strategy: " + name);
}

constexpr const char* kBegin = "<!-- begin generated tables -->\n";
constexpr const char* kEnd = "<!-- end generated tables -->";

}  // namespace

TEST_CASE("a model broken for a day wastes at most 110 requests, and fails none") {
  const auto days = Days();
  const Outcome outcome = Live(Find(days, "one dead model"), Of("failover_first"), kSeed);
  CHECK(outcome.requests > 80000);
  CHECK(outcome.failed == 0);
  CHECK(outcome.wasted <= 110);
}

TEST_CASE("a repaired provider is back within the ceiling of its backoff") {
  const auto days = Days();
  const EngineSettings settings = Of("failover_first");
  const Outcome outcome = Live(Find(days, "a provider dead for an hour"), settings, kSeed);
  CHECK(outcome.failed == 0);
  REQUIRE(outcome.recovery.has_value());
  CHECK(*outcome.recovery <= settings.circuit_breaker.backoff_max + seconds(2));
}

TEST_CASE("a provider at its ceiling of three slots is never benched and its slots stay busy") {
  const auto days = Days();
  const Day& day = Find(days, "a provider with three slots");
  const Outcome outcome = Live(day, Of("failover_first"), kSeed);
  CHECK(outcome.failed == 0);
  // Of three slots, 0.5 s each, one request every 50 ms.
  CHECK(outcome.busy_first > 2.4);
  const Outcome benched = Live(day, Of("fixed cooldown"), kSeed);
  CHECK(benched.busy_first < outcome.busy_first);
}

TEST_CASE("a quota spent for two days costs about one request an hour") {
  const auto days = Days();
  const Outcome outcome =
      Live(Find(days, "a weekly quota spent for two days"), Of("failover_first"), kSeed);
  CHECK(outcome.failed == 0);
  CHECK(outcome.wasted <= 60);
  REQUIRE(outcome.recovery.has_value());
  CHECK(*outcome.recovery <= hours(3));
}

TEST_CASE("the same seed gives the same day, another one another") {
  Day day = Find(Days(), "a flapping provider");
  day.length = minutes(20);
  const EngineSettings settings = Of("retry_first");
  CHECK(Live(day, settings, 1).trace == Live(day, settings, 1).trace);
  CHECK(Live(day, settings, 1).trace != Live(day, settings, 2).trace);
}

TEST_CASE("docs/resilience.md holds the tables of this code") {
  const std::string path = HOTEL_SOURCE_DIR "/docs/resilience.md";
  std::ifstream file(path);
  std::ostringstream read;
  read << file.rdbuf();
  std::string page = read.str();
  const std::size_t begin = page.find(kBegin);
  const std::size_t end = page.find(kEnd);
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  const std::string tables = Tables(kSeed);
  const std::string wanted = page.substr(0, begin) + kBegin + "\n" + tables + page.substr(end);
  if (std::getenv("HOTEL_UPDATE_DOCS") != nullptr) {
    std::ofstream(path) << wanted;
    page = wanted;
  }
  CHECK(page == wanted);
}

}  // namespace hotel::resilience
