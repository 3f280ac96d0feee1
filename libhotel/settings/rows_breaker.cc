// The rows of `resilience.circuit_breaker` (decisions 2; facts b; R54-R77).
#include "libhotel/settings/option_rows.h"

namespace hotel::settings {
namespace {

using B = CircuitBreakerSettings;
template <auto kField>
using Breaker = Field<&EngineSettings::circuit_breaker, kField>;

std::vector<Option> JudgingRows() {
  return {
      Row::Of<Breaker<&B::enabled>>("resilience.circuit_breaker.enabled", {"true", "true"},
                                    "Switches circuits on. Off: nothing is skipped and nothing is "
                                    "charged.")
          .Flat("circuit_breaker_enabled")
          .Env("CIRCUIT_BREAKER_ENABLED"),
      Row::Of<Breaker<&B::scope>>("resilience.circuit_breaker.scope", {"model", "provider"},
                                  "What one circuit is about: a model at a provider, or the whole "
                                  "provider.")
          .Words({"model", "provider"})
          .Env("CIRCUIT_BREAKER_SCOPE"),
      Row::Of<Breaker<&B::span_models>>(
          "resilience.circuit_breaker.span_models", {"2", "0"},
          "Scope `model`: this many open circuits sideline the whole provider. 0 = never. Scope "
          "`provider` has no span: one that is written beside it is an error.")
          .Between(0, 100)
          .FlatFrom("circuit_breaker_span_models", 1),
      Row::Of<Breaker<&B::failure_threshold>>(
          "resilience.circuit_breaker.failure_threshold", {"5", "5"},
          "Consecutive failures that open a circuit. 0 switches circuits off.")
          .Between(0, 100)
          .FlatFrom("circuit_breaker_threshold", 1)
          .Env("CIRCUIT_BREAKER_FAILURE_THRESHOLD"),
      Row::Of<Breaker<&B::success_threshold>>(
          "resilience.circuit_breaker.success_threshold", {"1", "2"},
          "Consecutive successes that close a half-open circuit.")
          .Between(1, 100)
          .Env("CIRCUIT_BREAKER_SUCCESS_THRESHOLD"),
      Row::Of<Breaker<&B::half_open_max_in_flight>>(
          "resilience.circuit_breaker.half_open_max_in_flight", {"0", "1"},
          "Requests a half-open circuit admits at a time. 0 = every request until the first "
          "outcome.")
          .Between(0, 1000),
      Row::Of<Breaker<&B::failure_on_statuses>>("resilience.circuit_breaker.failure_on_statuses",
                                                {"401,403,429,5xx", "429,5xx"},
                                                "Upstream statuses that are charged as a failure.")
          .Env("CIRCUIT_BREAKER_FAILURE_ON_STATUSES"),
      Row::Of<Breaker<&B::open_on_statuses>>(
          "resilience.circuit_breaker.open_on_statuses", {"402", ""},
          "Upstream statuses that open the circuit on one answer."),
      Row::Of<Breaker<&B::neutral_on_statuses>>(
          "resilience.circuit_breaker.neutral_on_statuses", {"404,499", ""},
          "Upstream statuses that neither charge nor credit."),
      Row::Of<Breaker<&B::open_on_exhaustion>>(
          "resilience.circuit_breaker.open_on_exhaustion", {"true", "true"},
          "Off: `open_on_statuses` and 429s that say a quota is spent are charged as ordinary "
          "failures.")
          .Flat("circuit_breaker_open_on_exhaustion"),
      Row::Of<Breaker<&B::slow_call_threshold>>(
          "resilience.circuit_breaker.slow_call_threshold", {"0s", "0s"},
          "A good answer that took longer is charged as a failure; the client still gets it. "
          "Repeats and their waits count; for streams the clock stops at the first data event. 0 = "
          "off.")
          .Between(0, kDay)
          .Env("CIRCUIT_BREAKER_SLOW_CALL_THRESHOLD"),
      Row::Of<Breaker<&B::stream_verdict>>(
          "resilience.circuit_breaker.stream_verdict", {"end", "start"},
          "When a stream's success is final: with its last byte, so that a stall or a cut is "
          "charged, or when it begins to flow.")
          .Words({"end", "start"}),
  };
}

std::vector<Option> OpenRows() {
  return {
      Row::Of<Breaker<&B::timeout>>(
          "resilience.circuit_breaker.timeout", {"60s", "30s"},
          "How long an open circuit refuses before it lets requests probe again.")
          .Between(kAboveZero, kMonth)
          .FlatZeroIsDefault("circuit_breaker_cooldown")
          .Env("CIRCUIT_BREAKER_TIMEOUT"),
      Row::Of<Breaker<&B::backoff_max>>(
          "resilience.circuit_breaker.backoff_max", {"15m", "0s"},
          "`timeout` doubles with each failed probe up to this. 0, or not above `timeout` = no "
          "doubling.")
          .Between(0, kMonth)
          .Flat("circuit_breaker_backoff_max"),
      Row::Of<Breaker<&B::quota_pin_max>>(
          "resilience.circuit_breaker.quota_pin_max", {"24h", "0s"},
          "Longest time for which a spent quota keeps a circuit open. 0 = it does not, and what it "
          "holds is released.")
          .Between(0, kMonth)
          .Flat("circuit_breaker_quota_pin_max"),
      Row::Of<Breaker<&B::pin_probe_interval>>(
          "resilience.circuit_breaker.pin_probe_interval", {"1h", "0s"},
          "How often a circuit that a refusal keeps open probes all the same. 0 = it waits for the "
          "stated end.")
          .Between(0, kMonth)
          .Flat("circuit_breaker_pin_probe_interval"),
      Row::Of<Breaker<&B::block_direct>>(
          "resilience.circuit_breaker.block_direct", {"false", "true"},
          "On: an open circuit refuses `<provider>/<model>` too, with 503."),
      Row::Of<Breaker<&B::max_models>>("resilience.circuit_breaker.max_models", {"256", "1024"},
                                       "Circuits kept per provider under scope `model`.")
          .Between(1, 100000),
      Row::Of<Breaker<&B::on_capacity>>("resilience.circuit_breaker.on_capacity",
                                        {"grow", "reject"},
                                        "When all of `max_models` circuits are needed: keep one "
                                        "more, or refuse the request as an "
                                        "open circuit does.")
          .Words({"grow", "reject"}),
  };
}

}  // namespace

std::vector<Option> BreakerRows() {
  std::vector<Option> rows = JudgingRows();
  for (const Option& row : OpenRows()) rows.push_back(row);
  return rows;
}

}  // namespace hotel::settings
