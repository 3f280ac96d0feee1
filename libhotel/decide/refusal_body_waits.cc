#include "libhotel/decide/refusal_body_waits.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <string>

#include "libhotel/base/strings.h"
#include "libhotel/decide/refusal_instants.h"
#include "libhotel/decide/refusal_lexicon.h"
#include "libhotel/decide/refusal_units.h"

namespace hotel::decide {
namespace {

using base::StartsWith;

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// ---- Fields.

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
  constexpr std::string_view kReset = "x-ratelimit-reset";
  std::optional<Duration> wait;
  for (const NamedValue& field : text.values()) {
    if (!field.timed) continue;
    if (!StartsWith(field.name, kReset)) continue;
    const std::string remaining =
        "x-ratelimit-remaining" + std::string(field.name.substr(kReset.size()));
    const auto left = ParseDecimal(text.Value(remaining));
    if (left && *left > 0) continue;
    const auto reset = ParseReset(field.value, now);
    if (reset && (!wait || *reset > *wait)) wait = reset;
  }
  return wait;
}

// ---- Prose.

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
      const Word& word = words_[at - steps];
      if (IsRun(word)) {
        for (const std::string_view run : {"请在", "請在", "等待", "将在", "將在", "请于", "請於",
                                           "重置", "恢复", "恢復", "あと"}) {
          if (Has(word.text, run)) return true;
        }
        return false;
      }
      if ((word.lexeme->roles & kWaitTrigger) != 0) return true;
      if ((word.lexeme->roles & kWaitFiller) == 0) return false;
    }
    return false;
  }

  // "30 seconds before retrying", "30 秒后重试".
  bool Afterwards(const Clause& clause, std::size_t end) const {
    if (MeansLater(text_, end, clause.end)) return true;
    if (end < clause.end && words_[end].text == "erneut") return true;
    if (end + 1 >= clause.end || (words_[end].lexeme->roles & kAfterwards) == 0) return false;
    for (std::size_t i = end + 1; i < std::min(end + 4, clause.end); ++i) {
      if ((words_[i].lexeme->roles & kTriesAgain) != 0) return true;
      if (StartsWith(words_[i].text, "retry")) return true;
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
