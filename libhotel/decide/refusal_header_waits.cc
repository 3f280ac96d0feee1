#include "libhotel/decide/refusal_header_waits.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

#include "libhotel/base/strings.h"
#include "libhotel/decide/refusal_instants.h"

namespace hotel::decide {
namespace {

using base::EqualsIgnoreCase;
using base::StartsWith;

constexpr std::size_t kMaxFields = 200;

bool StartsWithIgnoreCase(std::string_view text, std::string_view prefix) {
  return EqualsIgnoreCase(text.substr(0, prefix.size()), prefix);
}

void TakeLonger(std::optional<Duration> candidate, std::optional<Duration>* wait) {
  if (candidate && (!*wait || *candidate > **wait)) *wait = candidate;
}

// A gateway that passes a provider's headers on puts this in front of their names.
constexpr std::string_view kRelayPrefix = "llm_provider-";

std::string_view NameOf(const Header& header) {
  std::string_view name = header.name;
  if (StartsWithIgnoreCase(name, kRelayPrefix)) name.remove_prefix(kRelayPrefix.size());
  return name;
}

// ---- Counters: "<family>-remaining<dimension>" and "<family>-reset<dimension>", or
// "<family>-<dimension>-remaining" and "-reset".

enum class Left { kNotSaid, kNothing, kSome };

Left LeftOf(std::string_view value) {
  const std::optional<double> number = ParseDecimal(value);
  if (!number) return StartsWith(base::Trim(value), "-") ? Left::kNothing : Left::kNotSaid;
  return *number > 0 ? Left::kSome : Left::kNothing;
}

constexpr std::array<std::string_view, 5> kResetPrefixes = {
    "x-ratelimit-reset", "x-rate-limit-reset", "ratelimit-reset", "x-ratelimitbysize-reset",
    "ratelimitbysize-reset"};
constexpr std::array<std::string_view, 6> kRemainingPrefixes = {
    "x-ratelimit-remaining",       "x-rate-limit-remaining",    "ratelimit-remaining",
    "x-ratelimitbysize-remaining", "ratelimitbysize-remaining", "x-ratelimit-remaining"};
constexpr std::string_view kAnthropic = "anthropic-ratelimit-";

bool EndsWithIgnoreCase(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() &&
         EqualsIgnoreCase(text.substr(text.size() - suffix.size()), suffix);
}

// The value of the "remaining" field that belongs to a reset field.
std::string_view RemainingOf(const HeaderList& headers, std::string_view reset_name) {
  for (std::size_t i = 0; i < kResetPrefixes.size(); ++i) {
    if (!StartsWithIgnoreCase(reset_name, kResetPrefixes[i])) continue;
    const std::string_view dimension = reset_name.substr(kResetPrefixes[i].size());
    for (const Header& header : headers) {
      const std::string_view name = NameOf(header);
      if (StartsWithIgnoreCase(name, kRemainingPrefixes[i]) &&
          EqualsIgnoreCase(name.substr(kRemainingPrefixes[i].size()), dimension)) {
        return header.value;
      }
    }
    return {};
  }
  constexpr std::string_view kReset = "reset";
  const std::string_view stem = reset_name.substr(0, reset_name.size() - kReset.size());
  for (const Header& header : headers) {
    const std::string_view name = NameOf(header);
    if (StartsWithIgnoreCase(name, stem) &&
        EqualsIgnoreCase(name.substr(stem.size()), "remaining")) {
      return header.value;
    }
  }
  return {};
}

bool IsResetField(std::string_view name) {
  for (const std::string_view prefix : kResetPrefixes) {
    if (StartsWithIgnoreCase(name, prefix)) return true;
  }
  return StartsWithIgnoreCase(name, kAnthropic) && EndsWithIgnoreCase(name, "-reset") &&
         !StartsWithIgnoreCase(name, "anthropic-ratelimit-unified");
}

// "-requests" names requests, "-input-tokens" names tokens.
bool Names(std::string_view field, std::string_view dimension) {
  if (dimension.empty()) return false;
  for (std::size_t i = 0; i + dimension.size() <= field.size(); ++i) {
    if (EqualsIgnoreCase(field.substr(i, dimension.size()), dimension)) return true;
  }
  return false;
}

// "x-ratelimit-reset-after": always a span.
std::optional<Duration> ResetOf(std::string_view name, std::string_view value, WallTime now) {
  if (EndsWithIgnoreCase(name, "-ms")) {
    const std::optional<double> number = ParseDecimal(value);
    return number ? WaitOfSeconds(*number / 1e3) : std::nullopt;
  }
  return ParseReset(value, now);
}

std::optional<Duration> ReadCounters(const HeaderList& headers, WallTime now,
                                     std::string_view spent_dimension) {
  std::optional<Duration> spent;
  std::optional<Duration> named;
  for (const Header& header : headers) {
    const std::string_view name = NameOf(header);
    if (!IsResetField(name)) continue;
    const Left left = LeftOf(RemainingOf(headers, name));
    if (left != Left::kSome) {
      TakeLonger(ResetOf(name, header.value, now), &spent);
    } else if (Names(name, spent_dimension)) {
      TakeLonger(ResetOf(name, header.value, now), &named);
    }
  }
  return spent ? spent : named;
}

// The IETF's combined field: `limit=10, remaining=0, reset=30`, or `"default";r=0;t=30`.
std::optional<Duration> ReadCombined(std::string_view value) {
  std::optional<double> remaining;
  std::optional<double> reset;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (i != 0 && value[i - 1] != ' ' && value[i - 1] != ',' && value[i - 1] != ';') continue;
    const std::string_view rest = value.substr(i);
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos) break;
    const std::string_view name = rest.substr(0, equals);
    const std::string_view after = rest.substr(equals + 1);
    const std::optional<double> number = ParseDecimal(after.substr(0, after.find_first_of(",; ")));
    if (name == "remaining" || name == "r") remaining = number;
    if (name == "reset" || name == "t") reset = number;
  }
  if (!reset || !remaining || *remaining > 0) return std::nullopt;
  return WaitOfSeconds(*reset);
}

// ---- Subscriptions that count in headers of their own.

std::optional<Duration> ReadCodex(const HeaderList& headers) {
  std::optional<Duration> wait;
  struct Window {
    std::string_view used;
    std::string_view reset;
  };
  static constexpr std::array<Window, 2> kWindows = {
      {{"x-codex-primary-used-percent", "x-codex-primary-reset-after-seconds"},
       {"x-codex-secondary-used-percent", "x-codex-secondary-reset-after-seconds"}}};
  for (const Window& window : kWindows) {
    const std::optional<double> used = ParseDecimal(FindHeader(headers, window.used));
    const std::optional<double> reset = ParseDecimal(FindHeader(headers, window.reset));
    if (used && *used >= 100 && reset) TakeLonger(WaitOfSeconds(*reset), &wait);
  }
  return wait;
}

std::optional<Duration> ReadRetryAfter(const HeaderList& headers, WallTime now) {
  for (const std::string_view name : {"retry-after-ms", "x-ms-retry-after-ms"}) {
    if (const auto number = ParseDecimal(FindHeader(headers, name))) {
      if (const auto wait = WaitOfSeconds(*number / 1e3)) return wait;
    }
  }
  for (const std::string_view name :
       {"retry-after", "x-retry-after", "llm_provider-retry-after", "x-ratelimit-reset-after"}) {
    const std::string_view value = FindHeader(headers, name);
    if (value.empty()) continue;
    if (const auto number = ParseDecimal(value)) {
      // An epoch here is a mistake of the sender, and clear enough.
      if (const auto wait = *number < 1e9 ? WaitOfSeconds(*number) : ParseReset(value, now)) {
        return wait;
      }
      continue;
    }
    if (const auto span = ParseGoDuration(value)) return span;
    if (const auto date = ParseHttpDate(value)) {
      if (const auto wait = WaitUntil(*date, now)) return wait;
    }
    if (const auto date = ParseZonedTime(value)) {
      if (const auto wait = WaitUntil(*date, now)) return wait;
    }
  }
  return std::nullopt;
}

void ReadSpentWindows(const HeaderList& headers, HeaderWait* result) {
  for (const Header& header : headers) {
    const std::string_view name = NameOf(header);
    if (!Names(name, "remaining") || LeftOf(header.value) != Left::kNothing) continue;
    if (EndsWithIgnoreCase(name, "minute") || EndsWithIgnoreCase(name, "second")) {
      result->short_window_spent = true;
    }
    for (const std::string_view unit : {"hour", "day", "week", "month"}) {
      if (EndsWithIgnoreCase(name, unit)) result->long_window_spent = true;
    }
  }
}

}  // namespace

HeaderWait ReadHeaderWait(const HeaderList& headers, WallTime now,
                          std::string_view spent_dimension) {
  HeaderWait result;
  if (headers.size() > kMaxFields) return result;
  result.unified_rejected =
      EqualsIgnoreCase(FindHeader(headers, "anthropic-ratelimit-unified-status"), "rejected");
  ReadSpentWindows(headers, &result);
  result.wait = ReadRetryAfter(headers, now);
  if (!result.wait && result.unified_rejected) {
    result.wait = ParseReset(FindHeader(headers, "anthropic-ratelimit-unified-reset"), now);
  }
  if (!result.wait) result.wait = ReadCodex(headers);
  if (!result.wait) result.wait = ReadCounters(headers, now, spent_dimension);
  if (!result.wait) result.wait = ReadCombined(FindHeader(headers, "ratelimit"));
  return result;
}

}  // namespace hotel::decide
