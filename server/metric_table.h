// Every metric of GET /metrics: the one table of them, from which the page and the reference
// docs/metrics.md are made.
#ifndef SERVER_METRIC_TABLE_H_
#define SERVER_METRIC_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

namespace hotel::server {

enum class Metric {
  kRequests,
  kRequestDuration,
  kTtft,
  kTokens,
  kFailoverAttempts,
  kRateLimits,
  kCircuitOpens,
  kExhausted,
  // What the scrape itself reads.
  kCircuitState,
  kInflightLimit,
  kInflight,
  kActiveRequests,
  kLogWritten,
  kLogLost,
  kLogWaiting,
  kCallersRefused,
  kBuildInfo,
};

enum class MetricType { kCounter, kGauge, kHistogram };

struct MetricRow {
  Metric metric;
  const char* name;
  MetricType type;
  std::string_view labels;  ///< "provider, model"; "" = none
  const char* help;         ///< one sentence
};

/// Every row, in the order of the enum.
const std::vector<MetricRow>& MetricTable();
const MetricRow& RowOf(Metric metric) noexcept;

/// Upper bounds in seconds.
const std::vector<double>& DurationBuckets();
const std::vector<double>& TtftBuckets();

/// Pairs of provider and model with series of their own; what comes on top is counted under the
/// model "other".
inline constexpr int kMostPairs = 1000;
/// Label sets of a family that has more labels than these two; the same.
inline constexpr int kMostLabelSets = 4000;
/// Bytes of a label value.
inline constexpr int kMostLabelBytes = 128;

/// The reference page, docs/metrics.md.
std::string MetricsMarkdown();

}  // namespace hotel::server

#endif  // SERVER_METRIC_TABLE_H_
