// Virtual days of many clients over a few providers that break, slow down, fill up or run dry.
//
// Every request is a real attempt machine over the real circuit breaker, in-flight limiter and 429
// reader; only the providers and the clock are made up. The same seed gives the same day.
#ifndef HOTEL_TESTS_RESILIENCE_DAYS_H_
#define HOTEL_TESTS_RESILIENCE_DAYS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hotel/settings.h"
#include "hotel/types.h"

namespace hotel::resilience {

/// What a provider does with one request.
struct Reply {
  Duration latency{};
  int status = 200;
  std::string retry_after{};  ///< header; "" = none
  std::string body{};         ///< of a refusal
};

/// A provider as a function of the time of day, of how many requests it is serving (this one
/// included) and of a random number in [0, 1).
struct ProviderModel {
  std::string name;
  std::function<Reply(Duration since_start, int inflight, double dice)> serve;
};

struct Day {
  std::string name;
  std::vector<ProviderModel> providers;  ///< of one route, in priority order
  Duration length{};
  /// Mean time between two requests.
  Duration spacing{};
  /// When the first provider is well again, to measure how long the router takes to notice.
  std::optional<Duration> repaired_at{};
};

struct Outcome {
  std::uint64_t requests = 0;
  std::uint64_t failed = 0;            ///< the client got no answer
  std::uint64_t by_first = 0;          ///< served by the first provider
  std::uint64_t wasted = 0;            ///< upstream calls that brought no answer
  std::uint64_t calls = 0;             ///< upstream calls
  Duration worst{};                    ///< the longest a client waited
  Duration mean{};                     ///< how long clients waited
  std::optional<Duration> recovery{};  ///< from `repaired_at` to the first answer of the first
  int peak_first = 0;                  ///< most requests at the first provider at a time
  double busy_first = 0;               ///< mean number of requests at the first provider
  std::uint64_t trace = 0;             ///< hash of everything that happened
};

/// Lives through `day`.
Outcome Live(const Day& day, const EngineSettings& settings, std::uint64_t seed);

/// The days of docs/resilience.md.
std::vector<Day> Days();

/// A way to deal with a day.
struct Strategy {
  std::string name;
  EngineSettings settings;
};
/// Both profiles, a breaker with a fixed cooldown that reads no 429, and no breaker at all.
std::vector<Strategy> Strategies();

/// The tables of docs/resilience.md.
std::string Tables(std::uint64_t seed);

}  // namespace hotel::resilience

#endif  // HOTEL_TESTS_RESILIENCE_DAYS_H_
