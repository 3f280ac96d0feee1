#include "server/metric_table.h"

#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "hotel/types.h"

namespace hotel::server {
namespace {

using M = Metric;
using T = MetricType;

constexpr std::array kRows = {
    MetricRow{M::kRequests, "hotel_requests_total", T::kCounter,
              "provider, model, status_class, error_kind", "Requests that have ended."},
    MetricRow{M::kRequestDuration, "hotel_request_duration_seconds", T::kHistogram,
              "provider, model", "From a request's arrival to the end of its answer."},
    MetricRow{M::kTtft, "hotel_ttft_seconds", T::kHistogram, "provider, model",
              "From a request's arrival to the first output of its stream; streams only."},
    MetricRow{M::kTokens, "hotel_tokens_total", T::kCounter, "provider, model, kind",
              "Tokens of answers, as providers counted them or as they were estimated; "
              "prompt_cached is part of prompt, reasoning of completion."},
    MetricRow{M::kFailoverAttempts, "hotel_failover_attempts_total", T::kCounter, "provider, model",
              "Attempts beyond the first of their request, hedges included."},
    MetricRow{M::kRateLimits, "hotel_upstream_rate_limit_total", T::kCounter,
              "provider, model, class", "Attempts that a provider refused with 429."},
    MetricRow{M::kCircuitOpens, "hotel_circuit_breaker_opens_total", T::kCounter,
              "provider, model, cause", "Times a circuit opened, or opened again."},
    MetricRow{M::kExhausted, "hotel_failover_exhausted_total", T::kCounter, "group, reason",
              "Requests for a group or virtual model that no candidate served."},
    MetricRow{M::kCircuitState, "hotel_circuit_breaker_state", T::kGauge, "provider_id, provider",
              "The provider's most degraded circuit: 0 closed, 1 half-open, 2 open."},
    MetricRow{M::kInflightLimit, "hotel_provider_inflight_limit", T::kGauge,
              "provider_id, provider",
              "Requests the provider may have at a time, learned or configured; 0 = uncapped."},
    MetricRow{M::kInflight, "hotel_provider_inflight", T::kGauge, "provider_id, provider",
              "Requests the provider has now."},
    MetricRow{M::kActiveRequests, "hotel_active_requests", T::kGauge, "",
              "Requests that have started and not ended."},
    MetricRow{M::kLogWritten, "hotel_log_rows_written_total", T::kCounter, "",
              "Rows of the request log that were written."},
    MetricRow{M::kLogLost, "hotel_log_rows_lost_total", T::kCounter, "",
              "Rows of the request log that found no room or could not be stored."},
    MetricRow{M::kLogWaiting, "hotel_log_rows_waiting", T::kGauge, "",
              "Rows of the request log that wait to be written."},
    MetricRow{M::kCallersRefused, "hotel_callers_refused_total", T::kCounter, "reason",
              "Requests refused before it was known who asks, which have no row in the log: `key` "
              "no known virtual key, `address` too many from one address."},
    MetricRow{M::kBuildInfo, "hotel_build_info", T::kGauge, "version",
              "Always 1; the label names the version."},
};

constexpr bool InEnumOrder() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].metric) != i) return false;
  }
  return true;
}
static_assert(InEnumOrder(), "rows stand in the order of Metric");

std::string_view TypeName(MetricType type) {
  switch (type) {
    case T::kCounter:
      return "counter";
    case T::kGauge:
      return "gauge";
    case T::kHistogram:
      return "histogram";
  }
  return "";
}

std::string Bounds(const std::vector<double>& buckets) {
  std::string text;
  for (const double bound : buckets) text += fmt::format("{}{}", text.empty() ? "" : ", ", bound);
  return text;
}

std::string ErrorKinds() {
  std::string text = "`none`";
  for (int kind = 1; kind <= static_cast<int>(kLastErrorKind); ++kind) {
    text += fmt::format(", `{}`", ErrorKindName(static_cast<ErrorKind>(kind)));
  }
  return text;
}

}  // namespace

const std::vector<MetricRow>& MetricTable() {
  static const std::vector<MetricRow> rows(kRows.begin(), kRows.end());
  return rows;
}

const MetricRow& RowOf(Metric metric) noexcept { return kRows[static_cast<std::size_t>(metric)]; }

const std::vector<double>& DurationBuckets() {
  static const std::vector<double> buckets = {.005, .01, .025, .05, .1, .25, .5,  1,   2.5,
                                              5,    10,  20,   30,  60, 120, 180, 300, 600};
  return buckets;
}

const std::vector<double>& TtftBuckets() {
  static const std::vector<double> buckets = {.005, .01, .025, .05, .1, .25, .5, 1,
                                              2.5,  5,   10,   20,  30, 60,  120};
  return buckets;
}

std::string MetricsMarkdown() {
  std::string page =
      "# Metrics\n\n"
      "`GET /metrics` of `hoteld` answers in Prometheus' text format (0.0.4). It wants the admin "
      "token, or the one in\n`METRICS_TOKEN` when that is set ([the sidecar](sidecar.md#metrics)). "
      "No series holds a key, a request id or\nanything of a prompt or an answer. "
      "`examples/grafana-dashboard.json` shows all of it.\n\n"
      "This page is generated from the table in `server/metric_table.cc`.\n\n"
      "| metric | type | labels | meaning |\n|---|---|---|---|\n";
  for (const MetricRow& row : kRows) {
    page += fmt::format("| `{}` | {} | {} | {} |\n", row.name, TypeName(row.type),
                        row.labels.empty() ? "-" : row.labels, row.help);
  }
  page +=
      "\n## Labels\n\n"
      "| label | values |\n|---|---|\n"
      "| `provider` | the provider's name in routing form; of a request the one that served or "
      "failed last, `unknown` when none was asked |\n"
      "| `model` | the name the client asked for (`hotel/<group>`), `unknown` when it led nowhere, "
      "be "
      "it that the provider it names does not know the model; "
      "on rate limits and opened circuits the id sent to the provider |\n"
      "| `status_class` | `2xx`, `3xx`, `4xx`, `499` (the client left), `5xx`, `unknown`; a stream "
      "that broke behind its head counts as `2xx` with an error kind |\n"
      "| `error_kind` | " +
      ErrorKinds() +
      " |\n"
      "| `kind` | `prompt`, `completion`, `reasoning`, `prompt_cached` |\n"
      "| `class` | what the 429 was read as: `saturated`, `exhausted`, `unknown` |\n"
      "| `cause` | a fixed phrase, such as `upstream status 503` |\n"
      "| `group` | the group's name without `hotel/`, or the virtual model's |\n"
      "| `reason` | `no_available_provider` (every candidate was skipped), `all_busy` (every one "
      "that was not skipped was at its limit or said so), `all_failed` |\n"
      "\nAn empty label reads `unknown`. ";
  page += fmt::format(
      "Values are cut to {} bytes, and control characters are replaced. {} pairs of provider and\n"
      "model have series of their own, and {} label sets a family that has further labels; what "
      "comes on top is counted under\nthe model (or group) `other`, so that clients which make up "
      "names cannot make the page grow.\n",
      kMostLabelBytes, kMostPairs, kMostLabelSets);
  page += fmt::format(
      "\n## Buckets\n\n"
      "Upper bounds in seconds, of `hotel_request_duration_seconds`: {}.\n\n"
      "Of `hotel_ttft_seconds`: {}.\n",
      Bounds(DurationBuckets()), Bounds(TtftBuckets()));
  page +=
      "\n## Queries\n\n"
      "```\n"
      "# share of requests that failed, per name asked for\n"
      "sum by (model) (rate(hotel_requests_total{error_kind!=\"none\"}[5m])) / sum by (model) "
      "(rate(hotel_requests_total[5m]))\n"
      "# how often the first choice did not serve\n"
      "sum by (model) (rate(hotel_failover_attempts_total[5m]))\n"
      "# providers that are not asked at the moment\n"
      "hotel_circuit_breaker_state == 2\n"
      "# the 95th percentile of the wait for the first output\n"
      "histogram_quantile(0.95, sum by (le, model) (rate(hotel_ttft_seconds_bucket[5m])))\n"
      "```\n";
  return page;
}

}  // namespace hotel::server
