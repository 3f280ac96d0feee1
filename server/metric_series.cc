#include "server/metric_series.h"

#include "libhotel/base/strings.h"

namespace hotel::server {
namespace {

constexpr std::string_view kUnknown = "unknown";
constexpr std::string_view kOther = "other";
/// Sets that stand for those that found no room, before all labels become "other".
constexpr int kMostFolded = 100;

constexpr const char* kStatusClasses[] = {"2xx", "3xx", "4xx", "499", "5xx", "unknown"};
constexpr const char* kTokenKinds[] = {"prompt", "completion", "reasoning", "prompt_cached"};

/// What of a value is looked at, in front of any copy: it may be megabytes long.
std::string_view Beginning(std::string_view text) {
  if (text.empty()) return kUnknown;
  return base::TruncateUtf8(text, kMostLabelBytes);
}

}  // namespace

std::string LabelText(std::string_view text) {
  text = Beginning(text);
  std::string label;
  label.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = base::Utf8Length(text);
    if (length == 0 || base::IsAsciiControl(text[0])) {
      label += '?';
    } else {
      label += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return label;
}

BoundedCounters::BoundedCounters(prometheus::Family<Counter>* family,
                                 std::vector<std::string> labels, std::size_t growing)
    : family_(family), labels_(std::move(labels)), growing_(growing) {}

prometheus::Counter* BoundedCounters::Find(const std::vector<std::string_view>& values,
                                           std::size_t most) {
  std::string key;
  for (const std::string_view value : values) {
    const std::string_view kept = Beginning(value);
    key += static_cast<char>(kept.size());  // so that no two lists of values make one key
    key += kept;
  }
  if (const auto known = counters_.find(key); known != counters_.end()) return known->second;
  if (counters_.size() >= most) return nullptr;
  prometheus::Labels labels;
  for (std::size_t i = 0; i < labels_.size(); ++i) labels.emplace(labels_[i], LabelText(values[i]));
  Counter* const counter = &family_->Add(labels);
  counters_.emplace(std::move(key), counter);
  return counter;
}

prometheus::Counter& BoundedCounters::Get(std::vector<std::string_view> values) {
  if (Counter* const own = Find(values, kMostLabelSets)) return *own;
  values[growing_] = kOther;
  if (Counter* const folded = Find(values, kMostLabelSets + kMostFolded)) return *folded;
  for (std::string_view& value : values) value = kOther;
  return *Find(values, kMostLabelSets + kMostFolded + 1);
}

MetricSeries::MetricSeries()
    : requests_(AddCounters(Metric::kRequests)),
      durations_(AddHistograms(Metric::kRequestDuration)),
      ttfts_(AddHistograms(Metric::kTtft)),
      tokens_(AddCounters(Metric::kTokens)),
      failovers_(AddCounters(Metric::kFailoverAttempts)),
      rate_limits_(&AddCounters(Metric::kRateLimits), {"provider", "model", "class"}, 1),
      circuit_opens_(&AddCounters(Metric::kCircuitOpens), {"provider", "model", "cause"}, 1),
      exhausted_(&AddCounters(Metric::kExhausted), {"group", "reason"}, 0) {}

prometheus::Family<prometheus::Counter>& MetricSeries::AddCounters(Metric metric) {
  const MetricRow& row = RowOf(metric);
  return prometheus::BuildCounter().Name(row.name).Help(row.help).Register(registry_);
}

prometheus::Family<prometheus::Histogram>& MetricSeries::AddHistograms(Metric metric) {
  const MetricRow& row = RowOf(metric);
  return prometheus::BuildHistogram().Name(row.name).Help(row.help).Register(registry_);
}

MetricSeries::Pair& MetricSeries::Find(std::string_view provider, std::string_view model) {
  const std::pair names(Beginning(provider), Beginning(model));
  if (const auto known = pairs_.find(names); known != pairs_.end()) return known->second;
  if (own_pairs_ >= kMostPairs) return Fold(names.first);
  ++own_pairs_;
  return Make(names.first, names.second, false);
}

bool MetricSeries::Has(std::string_view provider, std::string_view model) const {
  return pairs_.find(std::pair(Beginning(provider), Beginning(model))) != pairs_.end();
}

MetricSeries::Pair& MetricSeries::Fold(std::string_view provider) {
  const auto known = pairs_.find(std::pair(provider, kOther));
  if (known != pairs_.end()) return known->second;
  if (folded_pairs_ < kMostFolded) {
    ++folded_pairs_;
    return Make(provider, kOther, true);
  }
  const auto last = pairs_.find(std::pair(kOther, kOther));
  return last != pairs_.end() ? last->second : Make(kOther, kOther, true);
}

MetricSeries::Pair& MetricSeries::Make(std::string_view provider, std::string_view model,
                                       bool fold) {
  Pair& pair = pairs_[{std::string(provider), std::string(model)}];
  pair.provider = LabelText(provider);
  pair.model = LabelText(model);
  pair.fold = fold;
  return pair;
}

prometheus::Counter& MetricSeries::Requests(Pair& pair, StatusClass status_class, ErrorKind kind) {
  const auto row = static_cast<std::size_t>(status_class);
  const auto column = static_cast<std::size_t>(kind);
  Counter*& counter = pair.outcomes[row][column];
  if (counter == nullptr) {
    if (!pair.fold && request_sets_ >= kMostLabelSets) {
      Pair& fold = Fold(pair.provider);
      if (&fold != &pair) return Requests(fold, status_class, kind);
    }
    ++request_sets_;
    const char* const word = kind == ErrorKind::kNone ? "none" : ErrorKindName(kind);
    counter = &requests_.Add({{"provider", pair.provider},
                              {"model", pair.model},
                              {"status_class", kStatusClasses[row]},
                              {"error_kind", word}});
  }
  return *counter;
}

prometheus::Histogram& MetricSeries::Duration(Pair& pair) {
  if (pair.duration == nullptr) {
    pair.duration =
        &durations_.Add({{"provider", pair.provider}, {"model", pair.model}}, DurationBuckets());
  }
  return *pair.duration;
}

prometheus::Histogram& MetricSeries::Ttft(Pair& pair) {
  if (pair.ttft == nullptr) {
    pair.ttft = &ttfts_.Add({{"provider", pair.provider}, {"model", pair.model}}, TtftBuckets());
  }
  return *pair.ttft;
}

prometheus::Counter& MetricSeries::Tokens(Pair& pair, TokenKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  Counter*& counter = pair.tokens[index];
  if (counter == nullptr) {
    counter = &tokens_.Add(
        {{"provider", pair.provider}, {"model", pair.model}, {"kind", kTokenKinds[index]}});
  }
  return *counter;
}

prometheus::Counter& MetricSeries::Failovers(Pair& pair) {
  if (pair.failovers == nullptr) {
    pair.failovers = &failovers_.Add({{"provider", pair.provider}, {"model", pair.model}});
  }
  return *pair.failovers;
}

prometheus::Counter& MetricSeries::RateLimits(std::string_view provider, std::string_view model,
                                              std::string_view read) {
  return rate_limits_.Get({provider, model, read});
}

prometheus::Counter& MetricSeries::CircuitOpens(std::string_view provider, std::string_view model,
                                                std::string_view cause) {
  return circuit_opens_.Get({provider, model, cause});
}

prometheus::Counter& MetricSeries::Exhausted(std::string_view group, std::string_view reason) {
  return exhausted_.Get({group, reason});
}

}  // namespace hotel::server
