// Whether the outcome of a merge makes sense.
#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "libhotel/settings/config.h"
#include "libhotel/settings/layers.h"

namespace hotel::settings {
namespace {

constexpr std::array<std::string_view, 3> kBreakerLists = {
    "resilience.circuit_breaker.failure_on_statuses", "resilience.circuit_breaker.open_on_statuses",
    "resilience.circuit_breaker.neutral_on_statuses"};
constexpr std::string_view kScope = "resilience.circuit_breaker.scope";
constexpr std::string_view kSpan = "resilience.circuit_breaker.span_models";
constexpr std::string_view kSlow = "resilience.circuit_breaker.slow_call_threshold";
constexpr std::string_view kRequestTimeout = "timeouts.request_timeout";
constexpr std::string_view kTtft = "timeouts.ttft_timeout";

using Writes = std::vector<const std::vector<OptionWrite>*>;

const OptionWrite* LastWrite(const Writes& sources, std::string_view path) {
  const OptionWrite* last = nullptr;
  for (const std::vector<OptionWrite>* writes : sources) {
    for (const OptionWrite& write : *writes) {
      if (write.option->path == path) last = &write;
    }
  }
  return last;
}

std::string_view LastWord(std::string_view path) { return path.substr(path.rfind('.') + 1); }

// The checks of one set of options: the global one, or a provider's.
class Checker {
 public:
  /// `own`: what a problem may be blamed on; `all`: what counts as written by the operator;
  /// `profile`: blamed when nothing of `own` is about the matter; null = nobody is.
  Checker(const EngineSettings& settings, Writes own, Writes all, const OptionWrite* profile,
          std::vector<Problem>* problems)
      : settings_(settings),
        own_(std::move(own)),
        all_(std::move(all)),
        profile_(profile),
        problems_(problems) {}

  void Run() {
    CheckBreakerLists();
    CheckSpan();
    CheckKeysCharged();
    CheckSlowCalls();
    CheckFirstOutput();
    CheckCeiling("failover.backoff.initial", "failover.backoff.max");
    CheckCeiling("resilience.retry.initial_backoff", "resilience.retry.max_backoff");
  }

 private:
  const OptionWrite* Own(std::string_view path) const { return LastWrite(own_, path); }
  bool Written(std::string_view path) const { return LastWrite(all_, path) != nullptr; }
  Duration Span(std::string_view path) const {
    return std::get<Duration>(FindOption(path)->get(settings_));
  }
  StatusSet List(std::string_view path) const {
    return std::get<StatusSet>(FindOption(path)->get(settings_));
  }

  // The first of `paths` that was written here, or the profile.
  const OptionWrite* Blame(std::initializer_list<std::string_view> paths) const {
    for (const std::string_view path : paths) {
      if (const OptionWrite* write = Own(path)) return write;
    }
    return profile_;
  }

  void Warn(std::initializer_list<std::string_view> paths, std::string message) {
    const OptionWrite* at = Blame(paths);
    if (at != nullptr) problems_->push_back({*at, std::move(message), true, paths});
  }

  // The first code or class that both lists hold, "" when none. An exact code beats a class of the
  // other list, but only where somebody wrote that code: a default must not take a code out of a
  // class that was written (decisions 2).
  std::string Overlap(std::string_view a_path, std::string_view b_path) const {
    const StatusSet a = List(a_path);
    const StatusSet b = List(b_path);
    const bool a_written = Written(a_path);
    const bool b_written = Written(b_path);
    for (int code = 100; code <= 599; ++code) {
      const bool in_a = a.ContainsExactly(code);
      const bool in_b = b.ContainsExactly(code);
      if ((in_a && in_b) || (in_a && !a_written && b.ContainsClass(code / 100)) ||
          (in_b && !b_written && a.ContainsClass(code / 100))) {
        return std::to_string(code);
      }
    }
    for (int hundreds = 1; hundreds <= 5; ++hundreds) {
      if (a.ContainsClass(hundreds) && b.ContainsClass(hundreds)) {
        return std::to_string(hundreds) + "xx";
      }
    }
    return {};
  }

  // The three lists of the breaker must tell what a status means. Defaults do not overlap: some
  // list was written.
  void CheckBreakerLists() {
    for (std::size_t i = 0; i < kBreakerLists.size(); ++i) {
      for (std::size_t j = i + 1; j < kBreakerLists.size(); ++j) {
        const std::string_view a_path = kBreakerLists[i];
        const std::string_view b_path = kBreakerLists[j];
        const OptionWrite* a = Own(a_path);
        const OptionWrite* b = Own(b_path);
        if (a == nullptr && b == nullptr && profile_ == nullptr) continue;
        const std::string shared = Overlap(a_path, b_path);
        if (shared.empty()) continue;
        const bool at_b = b != nullptr && (a == nullptr || b->line >= a->line);
        const OptionWrite* at = at_b ? b : a != nullptr ? a : profile_;
        const std::string_view other = at_b ? a_path : b_path;
        problems_->push_back(
            {*at,
             at == profile_
                 ? fmt::format("puts {} into both {} and {}; write one of these lists here", shared,
                               LastWord(a_path), LastWord(b_path))
                 : fmt::format("{} is in {} too{}; leave it in one list", shared, LastWord(other),
                               Own(other) == nullptr ? ", which was not written here" : ""),
             false,
             {a_path, b_path}});
      }
    }
  }

  void CheckSpan() {
    if (settings_.circuit_breaker.scope != CircuitBreakerSettings::Scope::kProvider) return;
    const OptionWrite* span = Own(kSpan);
    if (span == nullptr || std::get<std::int64_t>(span->value) == 0) return;
    problems_->push_back({*span,
                          "counts open models, and scope: provider has no circuits of models; "
                          "remove it, or write scope: model",
                          false,
                          {kSpan, kScope}});
  }

  void CheckKeysCharged() {
    const CircuitBreakerSettings& breaker = settings_.circuit_breaker;
    if (breaker.scope != CircuitBreakerSettings::Scope::kProvider) return;
    for (const int status : {401, 403}) {
      if (!breaker.failure_on_statuses.Contains(status)) continue;
      Warn({kBreakerLists[0], kScope},
           fmt::format("{} is charged under scope: provider, so one model that the key may not use "
                       "can block every model of its provider",
                       status));
      return;
    }
  }

  void CheckSlowCalls() {
    const Duration slow = settings_.circuit_breaker.slow_call_threshold;
    if (slow == Duration::zero()) return;
    if (const Duration waits = WorstWaits(); slow < waits) {
      Warn({kSlow, "resilience.retry.max_retries", "resilience.retry.initial_backoff",
            "resilience.retry.max_backoff", "resilience.retry.backoff_factor"},
           fmt::format("the waits between repeats alone may take {}, more than "
                       "slow_call_threshold ({}): a good answer behind them is charged as slow",
                       FormatDuration(waits), FormatDuration(slow)));
    }
    if (const Duration limit = settings_.timeouts.request_timeout; slow > limit) {
      Warn({kSlow, kRequestTimeout},
           fmt::format("slow_call_threshold ({}) is above timeouts.request_timeout ({}), which "
                       "ends an attempt before it counts as slow",
                       FormatDuration(slow), FormatDuration(limit)));
    }
  }

  // The longest that the waits of one attempt can take together (R60, R63a).
  Duration WorstWaits() const {
    const RetrySettings& retry = settings_.retry;
    if (retry.retry_on_statuses.empty() &&
        retry.on_transport == RetrySettings::OnTransport::kNone) {
      return {};
    }
    const auto ceiling = static_cast<double>(retry.max_backoff.count());
    auto wait = static_cast<double>(retry.initial_backoff.count());
    double sum = 0;
    for (int i = 0; i < retry.max_retries; ++i) {
      sum += std::min(std::min(wait, ceiling) * (1 + retry.jitter_factor), ceiling);
      wait = std::min(wait * retry.backoff_factor, ceiling);
    }
    // Milliseconds: the figure is for people.
    const Duration millisecond = std::chrono::milliseconds(1);
    return Duration(static_cast<Duration::rep>(sum)) / millisecond * millisecond;
  }

  void CheckFirstOutput() {
    const TimeoutSettings& timeouts = settings_.timeouts;
    const Duration attempt = timeouts.request_timeout * timeouts.long_factor;
    if (timeouts.ttft_timeout <= attempt) return;
    Warn({kTtft, kRequestTimeout, "timeouts.long_factor"},
         fmt::format("the wait for first output ({}) is longer than a whole streaming attempt ({}) "
                     "and never ends one",
                     FormatDuration(timeouts.ttft_timeout), FormatDuration(attempt)));
  }

  void CheckCeiling(std::string_view initial_path, std::string_view max_path) {
    if (Own(initial_path) == nullptr || Span(initial_path) <= Span(max_path)) return;
    Warn({initial_path},
         fmt::format("is above {} ({}), which caps it", max_path, FormatDuration(Span(max_path))));
  }

  const EngineSettings& settings_;
  const Writes own_;
  const Writes all_;
  const OptionWrite* const profile_;
  std::vector<Problem>* const problems_;
};

}  // namespace

std::vector<Problem> CheckLayers(const Layers& layers, const Settings& merged) {
  std::vector<Problem> problems;
  const Writes global = {&layers.runtime, &layers.written, &layers.environment};
  Checker(merged.global, global, global, nullptr, &problems).Run();
  for (const auto& [name, own] : layers.providers) {
    if (own.empty()) continue;
    Writes all = global;
    all.push_back(&own.writes);
    OptionWrite profile;
    profile.line = own.profile_line;
    profile.path = own.profile_path;
    Checker(merged.For(name), {&own.writes}, all, own.profile ? &profile : nullptr, &problems)
        .Run();
  }
  return problems;
}

}  // namespace hotel::settings
