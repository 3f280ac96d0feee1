#include "libhotel/decide/refusal_waits.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

#include "libhotel/base/strings.h"
#include "libhotel/decide/refusal_instants.h"
#include "libhotel/decide/refusal_units.h"

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

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
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
  for (const std::string_view window : {"primary", "secondary"}) {
    const std::string stem = "x-codex-" + std::string(window);
    const std::optional<double> used = ParseDecimal(FindHeader(headers, stem + "-used-percent"));
    const std::optional<double> reset =
        ParseDecimal(FindHeader(headers, stem + "-reset-after-seconds"));
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

namespace {

// ---- Fields of the body.

constexpr std::array<std::string_view, 9> kSecondsFields = {
    "retry_after",         "retry-after",       "retryafter",
    "retry_after_seconds", "retryafterseconds", "resets_in_seconds",
    "reset_after_seconds", "wait_seconds",      "resets_in"};
constexpr std::array<std::string_view, 5> kMillisecondFields = {
    "retry_after_ms", "retryafterms", "retry-after-ms", "retryaftermillis",
    "retryaftermilliseconds"};
constexpr std::array<std::string_view, 8> kSpanFields = {"quotaresetdelay", "reset_in", "resetin",
                                                         "reset_after",     "retry_in", "wait",
                                                         "wait_time",       "cooldown"};
constexpr std::array<std::string_view, 12> kInstantFields = {
    "resets_at",           "reset_at",      "resetat",    "resetsat",
    "reset_time",          "resettime",     "next_reset", "nextreset",
    "quotaresettimestamp", "nextresettime", "reset_date", "retry_at"};

template <std::size_t N>
bool IsOneOf(std::string_view text, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), text) != names.end();
}

// The span of RetryInfo, in seconds: "26s", "0.5s"; also {"seconds": 26}.
std::optional<Duration> ReadRetryInfo(const RefusalText& text) {
  for (const NamedValue& field : text.values()) {
    if (!field.timed) continue;
    if (field.name != "retrydelay" && field.name != "retry_delay") continue;
    std::string_view value = base::Trim(field.value);
    if (value.empty() || value.front() == '{') value = text.Value("seconds");
    if (!value.empty() && value.back() == 's') value.remove_suffix(1);
    const std::optional<double> seconds = ParseDecimal(value);
    if (!seconds) {
      if (const auto span = ParseGoDuration(field.value)) return span;
      continue;
    }
    if (const auto wait = PlausibleSpan(*seconds, std::chrono::seconds(1))) return wait;
  }
  return std::nullopt;
}

std::optional<Duration> ReadField(const NamedValue& field, WallTime now) {
  if (IsOneOf(field.name, kMillisecondFields)) {
    const auto number = ParseDecimal(field.value);
    return number ? PlausibleSpan(*number, std::chrono::milliseconds(1)) : std::nullopt;
  }
  if (IsOneOf(field.name, kSecondsFields) || IsOneOf(field.name, kSpanFields)) {
    return ParseReset(field.value, now);
  }
  return std::nullopt;
}

// Spans before instants: they need no clock.
std::optional<Duration> ReadFields(const RefusalText& text, WallTime now) {
  for (const NamedValue& field : text.values()) {
    if (!field.timed) continue;
    if (const auto wait = ReadField(field, now)) return wait;
  }
  for (const NamedValue& field : text.values()) {
    if (!field.timed) continue;
    if (!IsOneOf(field.name, kInstantFields)) continue;
    // A bare number is an epoch here, never a span.
    const auto number = ParseDecimal(field.value);
    if (number && *number < 1e9) continue;
    if (const auto wait = ParseReset(field.value, now)) return wait;
  }
  // Headers that a gateway wrote into the body.
  std::optional<Duration> wait;
  for (const NamedValue& field : text.values()) {
    if (!field.timed) continue;
    if (!StartsWith(field.name, "x-ratelimit-reset")) continue;
    const std::string remaining =
        "x-ratelimit-remaining" + std::string(field.name.substr(kResetPrefixes[0].size()));
    if (LeftOf(text.Value(remaining)) == Left::kSome) continue;
    TakeLonger(ParseReset(field.value, now), &wait);
  }
  return wait;
}

// ---- Prose.

constexpr std::array<std::string_view, 35> kTriggers = {
    "again",   "retry",     "retrying",  "retried",     "wait",      "waiting",   "reset",
    "resets",  "resetting", "available", "replenished", "refreshed", "refreshes", "refill",
    "refills", "renews",    "renewed",   "unlocks",     "back",      "resume",    "resumes",
    "allowed", "lifted",    "access",    "erneut",      "réessayer", "réessayez", "nouveau",
    "intente", "inténtelo", "novamente", "через",       "nuevo",     "novo",      "regen"};
constexpr std::array<std::string_view, 33> kFillers = {
    "in",     "after",  "for",     "about",   "approximately", "another", "at",
    "least",  "the",    "next",    "of",      "period",        "within",  "is",
    "approx", "around", "roughly", "only",    "time",          "be",      "will",
    "until",  "a",      "an",      "on",      "dans",          "en",      "em",
    "and",    "then",   "window",  "seconds", "through"};
constexpr std::array<std::string_view, 6> kAfterwards = {"before", "erneut", "and",
                                                         "until",  "then",   "remaining"};

class ProseReader {
 public:
  ProseReader(const RefusalText& text, WallTime now)
      : text_(text), words_(text.words()), now_(now) {}

  std::optional<Duration> Read() const {
    for (const Clause& clause : text_.clauses()) {
      if (clause.kind != ClauseKind::kMessage) continue;
      for (std::size_t i = clause.begin; i < clause.end; ++i) {
        if (!base::IsAsciiDigit(words_[i].text.front())) continue;
        std::size_t end = i;
        if (const auto wait = WaitAt(clause, i, &end)) return wait;
        if (end > i) i = end - 1;
      }
    }
    return std::nullopt;
  }

 private:
  std::optional<Duration> WaitAt(const Clause& clause, std::size_t at, std::size_t* end) const {
    const bool triggered = Triggered(clause, at);
    if (triggered) {
      if (const auto timespan = DotNetSpan(at)) return timespan;
      if (const auto wait = InstantAt(at)) return wait;
    }
    const std::optional<Duration> span = SpanAt(text_, at, clause.end, end);
    if (!span) return std::nullopt;
    if (triggered || Afterwards(clause, *end)) return span;
    return std::nullopt;
  }

  // "... again in", "wait for another", "resets": a trigger, and only fillers between it and here.
  bool Triggered(const Clause& clause, std::size_t at) const {
    for (std::size_t steps = 1; steps <= 6 && at >= clause.begin + steps; ++steps) {
      const std::string_view word = words_[at - steps].text;
      if (static_cast<unsigned char>(word.front()) >= 0xE3) {
        for (const std::string_view run :
             {"请在", "等待", "将在", "请于", "重置", "恢复", "あと"}) {
          if (Has(word, run)) return true;
        }
        return false;
      }
      if (Contains(kTriggers, word)) return true;
      if (!Contains(kFillers, word)) return false;
    }
    return false;
  }

  // "30 seconds before retrying", "30 秒后重试".
  bool Afterwards(const Clause& clause, std::size_t end) const {
    const std::string_view unit = words_[end - 1].text;
    for (const std::string_view run : {"后", "後", "후"}) {
      if (Has(unit, run)) return true;
    }
    if (end < clause.end && words_[end].text == "erneut") return true;
    if (end + 1 >= clause.end || !Contains(kAfterwards, words_[end].text)) return false;
    for (std::size_t i = end + 1; i < std::min(end + 4, clause.end); ++i) {
      const std::string_view word = words_[i].text;
      if (StartsWith(word, "retry") || word == "try" || word == "trying" || word == "again" ||
          word == "sending" || word == "making" || word == "versuchen") {
        return true;
      }
    }
    return false;
  }

  std::string_view From(std::size_t at) const {
    const std::string_view plain = text_.plain();
    return plain.substr(static_cast<std::size_t>(words_[at].text.data() - plain.data()), 64);
  }

  // "22.14:18:12" and "00:00:45": days, hours, minutes, seconds.
  std::optional<Duration> DotNetSpan(std::size_t at) const {
    const std::string_view text = From(at);
    std::size_t length = 0;
    while (length < text.size() &&
           (base::IsAsciiDigit(text[length]) || text[length] == ':' || text[length] == '.')) {
      ++length;
    }
    std::string_view span = text.substr(0, length);
    while (!span.empty() && !base::IsAsciiDigit(span.back())) span.remove_suffix(1);
    if (std::count(span.begin(), span.end(), ':') != 2) return std::nullopt;
    double days = 0;
    const std::size_t dot = span.find('.');
    if (dot < span.find(':')) {
      days = ParseDecimal(span.substr(0, dot)).value_or(0);
      span.remove_prefix(dot + 1);
    }
    const std::size_t first = span.find(':');
    const std::size_t second = span.find(':', first + 1);
    const auto hours = ParseDecimal(span.substr(0, first));
    const auto minutes = ParseDecimal(span.substr(first + 1, second - first - 1));
    const auto seconds = ParseDecimal(span.substr(second + 1));
    if (!hours || !minutes || !seconds || *minutes > 59 || *seconds >= 60) return std::nullopt;
    // A time of day reads alike: "at 05:38:28" is none of ours, "in" is.
    if (at > 0 && words_[at - 1].text == "at") return std::nullopt;
    return PlausibleSpan(days * 86400 + *hours * 3600 + *minutes * 60 + *seconds,
                         std::chrono::seconds(1));
  }

  std::optional<Duration> InstantAt(std::size_t at) const {
    const std::string_view text = From(at);
    if (const auto time = ParseZonedTime(text)) return WaitUntil(*time, now_);
    // An epoch in prose.
    const std::optional<double> number = NumberOf(words_[at].text);
    if (number && *number >= 1e9 && *number < 4e12) return ParseReset(words_[at].text, now_);
    return std::nullopt;
  }

  template <std::size_t N>
  static bool Contains(const std::array<std::string_view, N>& list, std::string_view word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  }

  const RefusalText& text_;
  const std::vector<Word>& words_;
  WallTime now_;
};

}  // namespace

BodyWait ReadBodyWait(const RefusalText& text, WallTime now) {
  BodyWait result;
  result.wait = ReadRetryInfo(text);
  if (result.wait) {
    result.structured = true;
    return result;
  }
  result.wait = ReadFields(text, now);
  if (!result.wait) result.wait = ProseReader(text, now).Read();
  return result;
}

}  // namespace hotel::decide
