#include "server/metrics.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <prometheus/text_serializer.h>

#include "libhotel/base/lower_case.h"
#include "libhotel/base/strings.h"
#include "server/metric_series.h"

namespace hotel::server {
namespace {

using StatusClass = MetricSeries::StatusClass;
using TokenKind = MetricSeries::TokenKind;

constexpr std::string_view kGroupPrefix = "hotel/";

double Seconds(Duration span) { return std::chrono::duration<double>(span).count(); }

StatusClass ClassOf(int status) {
  if (status == 499) return StatusClass::kClientGone;
  switch (status / 100) {
    case 2:
      return StatusClass::k2xx;
    case 3:
      return StatusClass::k3xx;
    case 4:
      return StatusClass::k4xx;
    case 5:
      return StatusClass::k5xx;
    default:
      return StatusClass::kUnknown;
  }
}

/// Providers were looked at, so it was theirs to fail.
bool ProvidersFailed(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kProviderError:
    case ErrorKind::kProviderModelGone:
    case ErrorKind::kProviderNotEntitled:
    case ErrorKind::kProviderSaturated:
    case ErrorKind::kProviderQuotaExhausted:
    case ErrorKind::kProviderTimeout:
      return true;
    default:
      return false;
  }
}

/// The name that was asked for; "" when it led nowhere: such names are the client's to make up, so
/// they are no labels.
std::string_view ResolvedName(const RequestRecord& record) {
  const bool resolved = !record.provider.empty() || !record.attempts.empty() ||
                        ProvidersFailed(record.error_kind) ||
                        record.error_kind == ErrorKind::kFailoverTimeout;
  return resolved ? std::string_view(record.requested_model) : std::string_view();
}

/// It was asked for as `<provider>/<model>`.
bool IsDirect(const RequestRecord& record) {
  const std::string_view name = record.requested_model;
  if (base::StartsWith(name, kGroupPrefix)) return false;
  if (record.endpoint == Endpoint::kPassthrough || record.attempts.empty()) return true;
  const AttemptRecord& attempt = record.attempts.front();
  return name.size() == attempt.provider.size() + 1 + attempt.model.size() &&
         base::StartsWith(name, attempt.provider) && name[attempt.provider.size()] == '/';
}

/// Why no candidate of a group or virtual model served; "" when one did, and for anything else.
std::string_view ExhaustedReason(const RequestRecord& record) {
  // Behind the start of an answer there is nobody else to ask.
  if (record.status < 400 || !ProvidersFailed(record.error_kind) || IsDirect(record)) return {};
  bool contacted = false;
  bool looked_at = false;
  bool all_busy = true;
  for (const AttemptRecord& attempt : record.attempts) {
    if (attempt.breaker == BreakerEffect::kSkipped) continue;
    looked_at = true;
    contacted = contacted || (attempt.attempt >= 0 && attempt.tries > 0);
    all_busy = all_busy && attempt.error_kind == ErrorKind::kProviderSaturated;
  }
  if (looked_at && all_busy) return "all_busy";
  return contacted ? "all_failed" : "no_available_provider";
}

std::string GroupName(std::string_view name) {
  if (!base::StartsWith(name, kGroupPrefix)) return std::string(name);
  return base::LowerCase(base::TruncateUtf8(name.substr(kGroupPrefix.size()), kMostLabelBytes));
}

std::string_view TextOf(const Event& event, std::string_view name) {
  for (const auto& [key, value] : event.metadata) {
    if (key == name && std::holds_alternative<std::string>(value)) {
      return std::get<std::string>(value);
    }
  }
  return {};
}

void CountTokens(MetricSeries& series, MetricSeries::Pair& pair, const TokenUsage& usage) {
  const auto add = [&](TokenKind kind, std::int64_t tokens) {
    if (tokens > 0) series.Tokens(pair, kind).Increment(static_cast<double>(tokens));
  };
  add(TokenKind::kPrompt, usage.prompt);
  add(TokenKind::kCompletion, usage.completion);
  add(TokenKind::kReasoning, usage.reasoning);
  add(TokenKind::kPromptCached, usage.cached);
}

/// What is read at the scrape, beside the series that were counted.
class Readings {
 public:
  explicit Readings(std::vector<prometheus::MetricFamily>* families) : families_(families) {}

  using Labels = std::vector<std::pair<const char*, std::string_view>>;

  void Add(Metric metric, double value, const Labels& labels = {}) {
    const MetricRow& row = RowOf(metric);
    if (families_->empty() || families_->back().name != row.name) {
      const bool counter = row.type == MetricType::kCounter;
      families_->push_back(
          {row.name,
           row.help,
           counter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge,
           {}});
    }
    prometheus::ClientMetric sample;
    for (const auto& [name, text] : labels) sample.label.push_back({name, LabelText(text)});
    sample.counter.value = value;
    sample.gauge.value = value;
    families_->back().metric.push_back(std::move(sample));
  }

 private:
  std::vector<prometheus::MetricFamily>* const families_;
};

double StateNumber(CircuitState state) {
  switch (state) {
    case CircuitState::kClosed:
      return 0;
    case CircuitState::kHalfOpen:
      return 1;
    case CircuitState::kOpen:
      return 2;
  }
  return 0;
}

void ReadHotel(Hotel& hotel, Readings* readings) {
  const TimePoint now = std::chrono::steady_clock::now();
  for (const ProviderView& provider : hotel.circuits().Providers(now)) {
    readings->Add(Metric::kCircuitState, StateNumber(provider.row().state),
                  {{"provider_id", provider.provider_id}, {"provider", provider.provider_name}});
  }
  const std::vector<InflightView> windows = hotel.inflight().Views(now);
  for (const InflightView& window : windows) {
    readings->Add(Metric::kInflightLimit, window.effective,
                  {{"provider_id", window.provider_id}, {"provider", window.provider_name}});
  }
  for (const InflightView& window : windows) {
    readings->Add(Metric::kInflight, window.inflight,
                  {{"provider_id", window.provider_id}, {"provider", window.provider_name}});
  }
  readings->Add(Metric::kActiveRequests, static_cast<double>(hotel.router().active_calls()));
}

}  // namespace

Metrics::Metrics() : series_(std::make_unique<MetricSeries>()) {}
Metrics::~Metrics() = default;

void Metrics::Record(const RequestRecord& record) {
  std::string_view name = ResolvedName(record);
  const std::string_view exhausted = ExhaustedReason(record);
  base::MutexLock lock(&mutex_);
  MetricSeries& series = *series_;
  // A provider that takes any model does not know this one either.
  if (record.error_kind == ErrorKind::kProviderModelGone && IsDirect(record) &&
      !series.Has(record.provider, name)) {
    name = {};
  }
  MetricSeries::Pair& own = series.Find(record.provider, name);
  series.Requests(own, ClassOf(record.status), record.error_kind).Increment();
  series.Duration(own).Observe(Seconds(record.duration));
  if (record.ttft) series.Ttft(own).Observe(Seconds(*record.ttft));
  for (const AttemptRecord& attempt : record.attempts) {
    if (attempt.attempt < 0 || attempt.tries == 0) continue;
    MetricSeries::Pair& pair =
        attempt.provider == record.provider ? own : series.Find(attempt.provider, name);
    // The served answer's, and what losers of a race and failed probes cost (facts o).
    if (attempt.usage) CountTokens(series, pair, *attempt.usage);
    if (attempt.attempt > 0) series.Failovers(pair).Increment();
    if (attempt.status == 429) {
      series.RateLimits(attempt.provider, attempt.model, attempt.rate_limit).Increment();
    }
  }
  if (!exhausted.empty()) {
    series.Exhausted(GroupName(record.requested_model), exhausted).Increment();
  }
}

void Metrics::OnEvent(const Event& event) {
  if (event.type != "circuit_breaker.open") return;
  base::MutexLock lock(&mutex_);
  series_->CircuitOpens(TextOf(event, "provider"), TextOf(event, "model"), TextOf(event, "cause"))
      .Increment();
}

std::string Metrics::Page(Hotel* hotel, const LogStore* log, const RefusedCallers* callers) const {
  std::vector<prometheus::MetricFamily> families = series_->Collect();
  Readings readings(&families);
  if (hotel != nullptr) ReadHotel(*hotel, &readings);
  if (log != nullptr) {
    const LogCounts counts = log->counts();
    readings.Add(Metric::kLogWritten, static_cast<double>(counts.written));
    readings.Add(Metric::kLogLost, static_cast<double>(counts.lost));
    readings.Add(Metric::kLogWaiting, static_cast<double>(counts.waiting));
  }
  if (callers != nullptr) {
    readings.Add(Metric::kCallersRefused, static_cast<double>(callers->key), {{"reason", "key"}});
    readings.Add(Metric::kCallersRefused, static_cast<double>(callers->address),
                 {{"reason", "address"}});
  }
  readings.Add(Metric::kBuildInfo, 1, {{"version", Hotel::Version()}});
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return std::move(text).str();
}

}  // namespace hotel::server
