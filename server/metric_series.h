// The series of the metrics page that are counted as things happen, and the bounds on how many
// there are.
#ifndef SERVER_METRIC_SERIES_H_
#define SERVER_METRIC_SERIES_H_

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include "hotel/types.h"

#include "libhotel/base/string_hash.h"
#include "server/metric_table.h"

namespace hotel::server {

/// A value that may stand in a label: "unknown" for "", at most kMostLabelBytes of UTF-8, `?` for
/// control characters and for bytes that are no UTF-8.
std::string LabelText(std::string_view text);

/// A counter family with any labels, bounded in its sets: when it is full, what is new is counted
/// with "other" for the label that grows, and when that does not help, for all of them.
class BoundedCounters {
 public:
  using Counter = prometheus::Counter;

  BoundedCounters(prometheus::Family<Counter>* family, std::vector<std::string> labels,
                  std::size_t growing);

  /// `values`: one for each label.
  Counter& Get(std::vector<std::string_view> values);

 private:
  Counter* Find(const std::vector<std::string_view>& values, std::size_t most);

  prometheus::Family<Counter>* const family_;
  const std::vector<std::string> labels_;
  const std::size_t growing_;
  std::unordered_map<std::string, Counter*> counters_;
};

/// Not thread-safe, but for Collect, which may run beside everything else.
class MetricSeries {
 public:
  using Counter = prometheus::Counter;
  using Histogram = prometheus::Histogram;

  enum class StatusClass { k2xx, k3xx, k4xx, kClientGone, k5xx, kUnknown };
  enum class TokenKind { kPrompt, kCompletion, kReasoning, kPromptCached };

  /// What is counted of one provider and one model. Lives as long as the series.
  class Pair {
    friend class MetricSeries;
    static constexpr std::size_t kClasses = 6;
    static constexpr std::size_t kKinds = static_cast<std::size_t>(kLastErrorKind) + 1;

    std::string provider;  ///< as labels
    std::string model;
    bool fold = false;  ///< stands for all the models that found no room
    std::array<std::array<Counter*, kKinds>, kClasses> outcomes{};
    std::array<Counter*, 4> tokens{};
    Counter* failovers = nullptr;
    Histogram* duration = nullptr;
    Histogram* ttft = nullptr;
  };

  MetricSeries();

  /// The pair of these names, or the one that stands for it when there are too many. One look-up
  /// and no string, when the pair is known.
  Pair& Find(std::string_view provider, std::string_view model);
  /// The pair has series of its own.
  bool Has(std::string_view provider, std::string_view model) const;

  Counter& Requests(Pair& pair, StatusClass status_class, ErrorKind kind);
  Histogram& Duration(Pair& pair);
  Histogram& Ttft(Pair& pair);
  Counter& Tokens(Pair& pair, TokenKind kind);
  Counter& Failovers(Pair& pair);

  Counter& RateLimits(std::string_view provider, std::string_view model, std::string_view read);
  Counter& CircuitOpens(std::string_view provider, std::string_view model, std::string_view cause);
  Counter& Exhausted(std::string_view group, std::string_view reason);

  std::vector<prometheus::MetricFamily> Collect() const { return registry_.Collect(); }

 private:
  struct Hash {
    using is_transparent = void;
    template <typename Names>
    std::size_t operator()(const Names& names) const noexcept {
      const base::StringHash hash;
      return hash(names.first) * 31 + hash(names.second);
    }
  };
  struct Equal {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const noexcept {
      return a.first == b.first && a.second == b.second;
    }
  };
  prometheus::Family<Counter>& AddCounters(Metric metric);
  prometheus::Family<Histogram>& AddHistograms(Metric metric);
  Pair& Make(std::string_view provider, std::string_view model, bool fold);
  Pair& Fold(std::string_view provider);

  prometheus::Registry registry_;
  prometheus::Family<Counter>& requests_;
  prometheus::Family<Histogram>& durations_;
  prometheus::Family<Histogram>& ttfts_;
  prometheus::Family<Counter>& tokens_;
  prometheus::Family<Counter>& failovers_;
  BoundedCounters rate_limits_;
  BoundedCounters circuit_opens_;
  BoundedCounters exhausted_;
  std::unordered_map<std::pair<std::string, std::string>, Pair, Hash, Equal> pairs_;
  int own_pairs_ = 0;
  int folded_pairs_ = 0;
  int request_sets_ = 0;
};

}  // namespace hotel::server

#endif  // SERVER_METRIC_SERIES_H_
