#include "libhotel/settings/registry.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <type_traits>
#include <utility>

#include "libhotel/base/strings.h"

namespace hotel::settings {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

// The getter and setter of a field that is reached by two member pointers.
template <auto kBlock, auto kField>
struct Field {
  using Type = std::remove_reference_t<decltype((std::declval<EngineSettings&>().*kBlock).*kField)>;
  using Stored = std::conditional_t<std::is_same_v<Type, int>, std::int64_t, Type>;

  static OptionValue Get(const EngineSettings& settings) {
    return static_cast<Stored>((settings.*kBlock).*kField);
  }
  static void Set(EngineSettings* settings, const OptionValue& value) {
    (settings->*kBlock).*kField = static_cast<Type>(std::get<Stored>(value));
  }
};

template <auto kField>
using Breaker = Field<&EngineSettings::circuit_breaker, kField>;
template <auto kField>
using Timeout = Field<&EngineSettings::timeouts, kField>;
template <auto kField>
using Retry = Field<&EngineSettings::retry, kField>;
template <auto kField>
using Failover = Field<&EngineSettings::failover, kField>;

StatusSet Without429(const StatusSet& set) {
  StatusSet result;
  for (int code = 100; code <= 599; ++code) {
    // A class that covers 429 is written out, code by code.
    const bool member = set.ContainsExactly(code) || (code / 100 == 4 && set.ContainsClass(4));
    if (member && code != 429) result.AddCode(code);
  }
  for (const int hundreds : {1, 2, 3, 5}) {
    if (set.ContainsClass(hundreds)) result.AddClass(hundreds);
  }
  return result;
}

// `failover_on_rate_limit` has no field of its own: it is "429 in these two lists" (decisions 10).
OptionValue GetFailoverOnRateLimit(const EngineSettings& settings) {
  return settings.failover.retry_on_statuses.Contains(429);
}
void SetFailoverOnRateLimit(EngineSettings* settings, const OptionValue& value) {
  StatusSet* lists[] = {&settings->failover.retry_on_statuses,
                        &settings->circuit_breaker.failure_on_statuses};
  for (StatusSet* list : lists) {
    if (!std::get<bool>(value)) {
      *list = Without429(*list);
    } else if (!list->Contains(429)) {
      list->AddCode(429);
    }
  }
}

// A choice of two words as a bool that is true for the first.
template <auto kField, auto kFirst, auto kSecond>
struct RetryChoice {
  static OptionValue Get(const EngineSettings& settings) {
    return settings.retry.*kField == kFirst;
  }
  static void Set(EngineSettings* settings, const OptionValue& value) {
    settings->retry.*kField = std::get<bool>(value) ? kFirst : kSecond;
  }
};

// Ranges of durations; the upper ends keep every product of options far from overflow.
constexpr std::int64_t kAboveZero = 1;
constexpr std::int64_t Nanoseconds(Duration span) { return span.count(); }
constexpr std::int64_t kHour = Nanoseconds(hours(1));
constexpr std::int64_t kDay = Nanoseconds(hours(24));
constexpr std::int64_t kMonth = Nanoseconds(hours(30 * 24));

Option Row(std::string_view path, std::string_view flat_key, std::string_view env, OptionType type,
           std::array<std::string_view, kProfiles.size()> defaults, std::int64_t min,
           std::int64_t max, bool per_provider, std::string_view help,
           OptionValue (*get)(const EngineSettings&),
           void (*set)(EngineSettings*, const OptionValue&),
           std::array<std::string_view, 2> words = {}) {
  return {path, flat_key, env, type, defaults, min, max, words, per_provider, help, get, set};
}

template <typename F, typename... Words>
Option RowOf(std::string_view path, std::string_view flat_key, std::string_view env,
             OptionType type, std::array<std::string_view, kProfiles.size()> defaults,
             std::int64_t min, std::int64_t max, bool per_provider, std::string_view help,
             Words... words) {
  return Row(path, flat_key, env, type, defaults, min, max, per_provider, help, F::Get, F::Set,
             {words...});
}

std::vector<Option> MakeOptions() {
  using B = CircuitBreakerSettings;
  using T = TimeoutSettings;
  using F = FailoverSettings;
  using R = RetrySettings;
  using enum OptionType;
  return {
      // path, flat key, environment, type, defaults, min, max, per provider, help
      RowOf<Breaker<&B::enabled>>(
          "resilience.circuit_breaker.enabled", "circuit_breaker_enabled",
          "CIRCUIT_BREAKER_ENABLED", kBool, {"true"}, 0, 0, true,
          "Switches circuits on. Off: nothing is skipped and nothing is charged."),
      RowOf<Breaker<&B::failure_threshold>>(
          "resilience.circuit_breaker.failure_threshold", "circuit_breaker_threshold",
          "CIRCUIT_BREAKER_FAILURE_THRESHOLD", kInt, {"5"}, 0, 100, true,
          "Consecutive failures that open a circuit. 0 switches circuits off."),
      RowOf<Breaker<&B::timeout>>(
          "resilience.circuit_breaker.timeout", "circuit_breaker_cooldown",
          "CIRCUIT_BREAKER_TIMEOUT", kDuration, {"60s"}, kAboveZero, kMonth, true,
          "How long an open circuit refuses before it lets requests probe again."),
      RowOf<Breaker<&B::failure_on_statuses>>("resilience.circuit_breaker.failure_on_statuses", "",
                                              "CIRCUIT_BREAKER_FAILURE_ON_STATUSES", kStatuses,
                                              {"401,403,429,5xx"}, 0, 0, true,
                                              "Upstream statuses that are charged as a failure."),
      RowOf<Breaker<&B::open_on_statuses>>(
          "resilience.circuit_breaker.open_on_statuses", "", "", kStatuses, {"402"}, 0, 0, true,
          "Upstream statuses that open the circuit on one answer."),
      RowOf<Breaker<&B::neutral_on_statuses>>("resilience.circuit_breaker.neutral_on_statuses", "",
                                              "", kStatuses, {"404,499"}, 0, 0, true,
                                              "Upstream statuses that neither charge nor credit."),
      RowOf<Breaker<&B::open_on_exhaustion>>(
          "resilience.circuit_breaker.open_on_exhaustion", "circuit_breaker_open_on_exhaustion", "",
          kBool, {"true"}, 0, 0, true, "Off: `open_on_statuses` are charged as ordinary failures."),
      RowOf<Retry<&R::max_retries>>(
          "resilience.retry.max_retries", "", "RETRY_MAX_RETRIES", kInt, {"2"}, 0, 10, true,
          "How often a transport failure is repeated at the same candidate before the request "
          "moves "
          "on. One request makes at most (1 + `max_retries`) upstream calls per candidate."),
      RowOf<Retry<&R::initial_backoff>>("resilience.retry.initial_backoff", "",
                                        "RETRY_INITIAL_BACKOFF", kDuration, {"100ms"}, 0, kHour,
                                        true, "Wait before the first repeat. 0 = none."),
      RowOf<Retry<&R::max_backoff>>("resilience.retry.max_backoff", "", "RETRY_MAX_BACKOFF",
                                    kDuration, {"500ms"}, 0, kHour, true,
                                    "Ceiling of the wait, jitter included. A wait that would not "
                                    "end inside the attempt's timeout is not begun."),
      RowOf<Retry<&R::backoff_factor>>("resilience.retry.backoff_factor", "",
                                       "RETRY_BACKOFF_FACTOR", kNumber, {"2"}, 1, 100, true,
                                       "Multiplies the wait with each further repeat."),
      RowOf<Retry<&R::jitter_factor>>(
          "resilience.retry.jitter_factor", "", "RETRY_JITTER_FACTOR", kNumber, {"0.1"}, 0, 1, true,
          "Share of the wait that is drawn at random, in both directions."),
      RowOf<RetryChoice<&R::on_transport, R::OnTransport::kReplaySafe, R::OnTransport::kNone>>(
          "resilience.retry.on_transport", "", "", kChoice, {"replay_safe"}, 0, 0, true,
          "`replay_safe` repeats failures before the request left (lookup, connect, TLS) and "
          "interruptions behind it (reset, unexpected end, a closed idle connection), never "
          "timeouts or broken HTTP; `none` repeats nothing.",
          "replay_safe", "none"),
      RowOf<RetryChoice<&R::streaming, R::Streaming::kTransport, R::Streaming::kNever>>(
          "resilience.retry.streaming", "", "", kChoice, {"transport"}, 0, 0, true,
          "`transport` repeats streams too, while no byte of the answer's body has come; `never` "
          "repeats no stream.",
          "transport", "never"),
      RowOf<Failover<&F::retry_on_statuses>>(
          "failover.retry_on_statuses", "", "", kStatuses, {"401,402,403,404,429,499,5xx"}, 0, 0,
          true, "Upstream statuses that send a request on to the next candidate."),
      Row("", "failover_on_rate_limit", "", kBool, {"true"}, 0, 0, false,
          "Off: takes 429 out of `failover.retry_on_statuses` and of "
          "`resilience.circuit_breaker.failure_on_statuses`.",
          GetFailoverOnRateLimit, SetFailoverOnRateLimit),
      RowOf<Failover<&F::backoff_initial>>(
          "failover.backoff.initial", "", "", kDuration, {"100ms"}, 0, kHour, false,
          "Pause before the second contacted candidate, doubling with each further one; also the "
          "width of the jitter. 0 = no pause."),
      RowOf<Failover<&F::backoff_max>>("failover.backoff.max", "", "", kDuration, {"2s"}, 0, kHour,
                                       false, "Ceiling of the doubling, before jitter."),
      RowOf<Failover<&F::exhaustion_status_429>>(
          "failover.exhaustion", "failover_exhaustion_status_429", "", kChoice, {"honest_429"}, 0,
          0, false,
          "The answer when every candidate was skipped by an open circuit: `honest_429` is 429 "
          "with Retry-After, `last_error` is 502.",
          "honest_429", "last_error"),
      RowOf<Timeout<&T::request_timeout>>("timeouts.request_timeout", "request_timeout", "",
                                          kDuration, {"60s"}, kAboveZero, kDay, true,
                                          "How long one attempt at one candidate may take."),
      RowOf<Timeout<&T::long_factor>>(
          "timeouts.long_factor", "", "", kInt, {"10"}, 1, 100, true,
          "Multiplies `request_timeout` for streams and long-running endpoints."),
      RowOf<Timeout<&T::deadline_factor>>(
          "timeouts.deadline_factor", "", "", kInt, {"2"}, 0, 100, false,
          "The whole request may take this many (multiplied) request timeouts. 0 = no overall "
          "deadline."),
      RowOf<Timeout<&T::ttft_timeout>>(
          "timeouts.ttft_timeout", "ttft_timeout", "", kDuration, {"60s"}, 0, kDay, true,
          "Streams: how long the first frame that carries model output may take, from the "
          "try's start. 0 = commit at once."),
      RowOf<Timeout<&T::upstream_header_timeout>>(
          "timeouts.upstream_header_timeout", "", "", kDuration, {"120s"}, 0, kDay, true,
          "How long the upstream's response head may take, from the try's start. 0 = not "
          "limited."),
      RowOf<Timeout<&T::connect_timeout>>("timeouts.connect_timeout", "", "", kDuration, {"10s"},
                                          kAboveZero, kHour, true,
                                          "Name lookup, TCP connect and TLS handshake together."),
  };
}

}  // namespace

const std::vector<Option>& Options() {
  static const std::vector<Option>* const options = new std::vector<Option>(MakeOptions());
  return *options;
}

const Option* FindOption(std::string_view path) noexcept {
  for (const Option& option : Options()) {
    if (!path.empty() && option.path == path) return &option;
  }
  return nullptr;
}

const Option* FindFlatOption(std::string_view flat_key) noexcept {
  for (const Option& option : Options()) {
    if (!flat_key.empty() && option.flat_key == flat_key) return &option;
  }
  return nullptr;
}

std::vector<std::string> OptionNames(std::string_view block, bool provider) {
  std::set<std::string> names;
  for (const Option& option : Options()) {
    std::string_view rest = option.path;
    if (rest.empty() || (provider && !option.per_provider)) continue;
    if (!block.empty()) {
      if (!base::StartsWith(rest, block) || rest.size() <= block.size() ||
          rest[block.size()] != '.') {
        continue;
      }
      rest.remove_prefix(block.size() + 1);
    }
    names.insert(std::string(rest.substr(0, rest.find('.'))));
  }
  return {names.begin(), names.end()};
}

EngineSettings ProfileDefaults(std::size_t profile) {
  EngineSettings settings;
  for (const Option& option : Options()) {
    // Rows without a field of their own only describe what other rows have set already.
    if (option.path.empty()) continue;
    option.set(&settings, *ParseOption(option, option.defaults[profile], false));
  }
  return settings;
}

}  // namespace hotel::settings
