// The rows of `failover` and `hedging` (decisions 2 and 10; facts b).
#include "libhotel/settings/option_rows.h"

namespace hotel::settings {
namespace {

using F = FailoverSettings;
using H = HedgingSettings;
template <auto kField>
using Failover = Field<&EngineSettings::failover, kField>;
template <auto kField>
using Hedging = Field<&EngineSettings::hedging, kField>;

constexpr std::string_view kRouteList = "failover.retry_on_statuses";
constexpr std::string_view kChargedList = "resilience.circuit_breaker.failure_on_statuses";
constexpr std::string_view kLastCandidateList = "failover.last_candidate_retry.statuses";

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

// `server_error_retry_enabled` is "the last candidate's list is not empty".
OptionValue GetServerErrorRetry(const EngineSettings& settings) {
  return !settings.failover.last_candidate_statuses.empty();
}
void SetServerErrorRetry(EngineSettings* settings, const OptionValue& value) {
  StatusSet& list = settings->failover.last_candidate_statuses;
  if (!std::get<bool>(value)) {
    list = {};
  } else if (list.empty()) {
    list.AddCode(500).AddCode(502).AddCode(503).AddCode(504);
  }
}

// The first word is true: the flat key is a boolean.
OptionValue GetExhaustion(const EngineSettings& settings) {
  return std::int64_t{settings.failover.exhaustion_status_429 ? 0 : 1};
}
void SetExhaustion(EngineSettings* settings, const OptionValue& value) {
  settings->failover.exhaustion_status_429 = std::get<std::int64_t>(value) == 0;
}

}  // namespace

std::vector<Option> FailoverRows() {
  return {
      Row::Of<Failover<&F::enabled>>(
          "failover.enabled", {"true", "true"},
          "Off: a request that failed at one candidate is not sent to another one.")
          .GlobalOnly(),
      Row::Of<Failover<&F::max_attempts>>(
          "failover.max_attempts", {"0", "0"},
          "Candidates a request may go on to behind the first one it reached. 0 = all.")
          .Between(0, 100)
          .GlobalOnly(),
      Row::Of<Failover<&F::retry_on_statuses>>(
          kRouteList, {"401,402,403,404,429,499,5xx", "429,5xx"},
          "Upstream statuses that send a request on to the next candidate."),
      Row("", OptionType::kBool, {"true", "true"},
          "Off: takes 429 out of `failover.retry_on_statuses` and of "
          "`resilience.circuit_breaker.failure_on_statuses`.",
          GetFailoverOnRateLimit, SetFailoverOnRateLimit)
          .Flat("failover_on_rate_limit")
          .ViewOf({kRouteList, kChargedList})
          .GlobalOnly(),
      Row::Of<Failover<&F::judge>>(
          "failover.judge", {"every", "first"},
          "Whose error decides whether a request goes on: that of every candidate, or only that of "
          "the first contacted one; then every later failure goes on.")
          .Words({"every", "first"})
          .GlobalOnly(),
      Row::Of<Failover<&F::backoff_initial>>(
          "failover.backoff.initial", {"100ms", "0s"},
          "Pause before the second contacted candidate, doubling with each further one; also the "
          "width of the jitter. 0 = no pause.")
          .Between(0, kHour)
          .GlobalOnly(),
      Row::Of<Failover<&F::backoff_max>>("failover.backoff.max", {"2s", "0s"},
                                         "Ceiling of the doubling, before jitter.")
          .Between(0, kHour)
          .GlobalOnly(),
      Row::Of<Failover<&F::last_candidate_statuses>>(
          kLastCandidateList, {"500,502,503,504", ""},
          "Statuses that the last candidate may answer once: it is asked again after 0.5 to 1 s "
          "when nobody else is left.")
          .GlobalOnly(),
      Row("", OptionType::kBool, {"true", "false"},
          "Off: empties `failover.last_candidate_retry.statuses`; on: fills it with its default "
          "when it is empty.",
          GetServerErrorRetry, SetServerErrorRetry)
          .Flat("server_error_retry_enabled")
          .ViewOf({kLastCandidateList, ""})
          .GlobalOnly(),
      Row::Of<Failover<&F::wait_saturated>>(
          "failover.last_candidate_retry.wait_saturated", {"true", "false"},
          "On: a last candidate that is merely saturated is asked once more after the wait it "
          "stated.")
          .GlobalOnly(),
      Row("failover.exhaustion", OptionType::kChoice, {"honest_429", "last_error"},
          "The answer when every candidate was busy or skipped by an open circuit: `honest_429` is "
          "429 with Retry-After, `last_error` is 502 or the last failure.",
          GetExhaustion, SetExhaustion)
          .Words({"honest_429", "last_error"})
          .Flat("failover_exhaustion_status_429")
          .GlobalOnly(),
      Row::Of<Failover<&F::error_body>>(
          "failover.error_body", {"gateway", "provider"},
          "Whose words the client gets when the last candidate refused: the gateway's, or the "
          "provider's own with credentials masked. A refused payload (400, 422) is always told in "
          "the provider's words.")
          .Words({"gateway", "provider"})
          .GlobalOnly(),
      Row::Of<Failover<&F::endpoints>>(
          "failover.endpoints", {"all", "chat,messages,responses"},
          "Endpoints whose requests go on to another candidate. Of the others only the first "
          "candidate is asked.")
          .GlobalOnly(),
      Row::Of<Hedging<&H::enabled>>(
          "hedging.enabled", {"false", "false"},
          "Streaming groups and virtual models: when a candidate is slow to its first output, the "
          "next one is sent as well, and the first to speak serves. Costs duplicate upstream "
          "calls.")
          .Flat("hedging_enabled")
          .GlobalOnly(),
      Row::Of<Hedging<&H::delay>>(
          "hedging.delay", {"4s", "4s"},
          "How long a candidate may stay without first output before the next one joins the race. "
          "At least 100ms are waited.")
          .Between(0, kHour)
          .Flat("hedge_delay")
          .GlobalOnly(),
  };
}

}  // namespace hotel::settings
