#include "libhotel/decide/refusal_instants.h"

#include <array>
#include <charconv>
#include <chrono>

#include "libhotel/base/strings.h"
#include "libhotel/base/time_text.h"

namespace hotel::decide {
namespace {

using base::IsAsciiDigit;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array<std::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                      "jul", "aug", "sep", "oct", "nov", "dec"};

// Takes the parts of a date off the front of a text.
struct Parts {
  std::string_view rest;

  std::optional<int> Number(std::size_t min_digits, std::size_t max_digits) {
    std::size_t count = 0;
    int value = 0;
    while (count < rest.size() && count < max_digits && IsAsciiDigit(rest[count])) {
      value = value * 10 + (rest[count++] - '0');
    }
    if (count < min_digits) return std::nullopt;
    rest.remove_prefix(count);
    return value;
  }
  bool Take(char c) {
    if (rest.empty() || rest.front() != c) return false;
    rest.remove_prefix(1);
    return true;
  }
  void Spaces() {
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  }
  std::optional<unsigned> Month() {
    if (rest.size() < 3) return std::nullopt;
    for (std::size_t i = 0; i < kMonths.size(); ++i) {
      if (base::EqualsIgnoreCase(rest.substr(0, 3), kMonths[i])) {
        rest.remove_prefix(3);
        return static_cast<unsigned>(i + 1);
      }
    }
    return std::nullopt;
  }
  bool TakeWord(std::string_view word) {
    if (!base::EqualsIgnoreCase(rest.substr(0, word.size()), word)) return false;
    rest.remove_prefix(word.size());
    return true;
  }
};

struct Clock {
  int hour = 0;
  int minute = 0;
  int second = 0;
};

std::optional<Clock> TakeClock(Parts* in) {
  const auto hour = in->Number(1, 2);
  if (!hour || !in->Take(':')) return std::nullopt;
  const auto minute = in->Number(2, 2);
  if (!minute) return std::nullopt;
  Clock clock{*hour, *minute, 0};
  if (in->Take(':')) {
    const auto second = in->Number(2, 2);
    if (!second) return std::nullopt;
    clock.second = *second;
    if (in->Take('.')) in->Number(1, 9);
  }
  if (clock.hour > 23 || clock.minute > 59 || clock.second > 60) return std::nullopt;
  return clock;
}

std::optional<WallTime> Civil(int year, unsigned month, unsigned day, const Clock& clock) {
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok() || year < 1970 || year > 9999) return std::nullopt;
  return WallTime(std::chrono::sys_days(date)) + std::chrono::hours(clock.hour) +
         std::chrono::minutes(clock.minute) + seconds(clock.second);
}

// "Z", "UTC", "GMT", "+08:00", "+0800", "-07": minutes east.
std::optional<int> TakeZone(Parts* in) {
  in->Spaces();
  if (in->Take('(')) in->Spaces();
  if (in->TakeWord("utc") || in->TakeWord("gmt")) {
    if (in->rest.empty() || (in->rest.front() != '+' && in->rest.front() != '-')) return 0;
  } else if (in->TakeWord("z")) {
    return 0;
  }
  const bool west = in->Take('-');
  if (!west && !in->Take('+')) return std::nullopt;
  const auto hour = in->Number(1, 2);
  if (!hour || *hour > 14) return std::nullopt;
  in->Take(':');
  const int minute = in->Number(2, 2).value_or(0);
  const int offset = *hour * 60 + minute;
  return west ? -offset : offset;
}

}  // namespace

std::optional<double> ParseDecimal(std::string_view text) noexcept {
  text = base::Trim(text);
  if (text.empty() || !IsAsciiDigit(text.front())) return std::nullopt;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (fault != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<Duration> WaitOfSeconds(double seconds_to_wait) noexcept {
  const double nanoseconds = seconds_to_wait * 1e9;
  if (!(nanoseconds >= 1) || nanoseconds > static_cast<double>(kMaxHeaderWait.count())) {
    return std::nullopt;
  }
  return Duration(static_cast<Duration::rep>(nanoseconds));
}

std::optional<Duration> WaitUntil(WallTime then, WallTime now) noexcept {
  const milliseconds wait = then - now;
  if (wait <= milliseconds(0) || wait > kMaxHeaderWait) return std::nullopt;
  return Duration(wait);
}

std::optional<Duration> ParseGoDuration(std::string_view text) noexcept {
  struct Unit {
    std::string_view word;
    double nanoseconds;
  };
  // "ms" before "m": the longest word decides.
  static constexpr std::array<Unit, 7> kUnits = {{{"ms", 1e6},
                                                  {"us", 1e3},
                                                  {"ns", 1},
                                                  {"d", 86400e9},
                                                  {"h", 3600e9},
                                                  {"m", 60e9},
                                                  {"s", 1e9}}};
  text = base::Trim(text);
  if (text.empty()) return std::nullopt;
  double total = 0;
  while (!text.empty()) {
    std::size_t digits = 0;
    while (digits < text.size() && (IsAsciiDigit(text[digits]) || text[digits] == '.')) ++digits;
    const std::optional<double> number = ParseDecimal(text.substr(0, digits));
    if (!number) return std::nullopt;
    text.remove_prefix(digits);
    bool found = false;
    for (const Unit& unit : kUnits) {
      if (!base::EqualsIgnoreCase(text.substr(0, unit.word.size()), unit.word)) continue;
      total += *number * unit.nanoseconds;
      text.remove_prefix(unit.word.size());
      found = true;
      break;
    }
    if (!found) return std::nullopt;
    text = base::Trim(text);
  }
  return WaitOfSeconds(total / 1e9);
}

std::optional<WallTime> ParseHttpDate(std::string_view text) noexcept {
  text = base::Trim(text);
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) {  // asctime: "Sun Nov  6 08:49:37 1994"
    Parts in{text};
    if (in.rest.size() < 4) return std::nullopt;
    in.rest.remove_prefix(3);
    in.Spaces();
    const auto month = in.Month();
    in.Spaces();
    const auto day = in.Number(1, 2);
    in.Spaces();
    const auto clock = TakeClock(&in);
    in.Spaces();
    const auto year = in.Number(4, 4);
    if (!month || !day || !clock || !year || !in.rest.empty()) return std::nullopt;
    return Civil(*year, *month, static_cast<unsigned>(*day), *clock);
  }
  Parts in{text.substr(comma + 1)};
  in.Spaces();
  const auto day = in.Number(1, 2);
  if (!day || (!in.Take(' ') && !in.Take('-'))) return std::nullopt;
  const auto month = in.Month();
  if (!month || (!in.Take(' ') && !in.Take('-'))) return std::nullopt;
  auto year = in.Number(2, 4);
  if (!year) return std::nullopt;
  if (*year < 100) *year += *year < 70 ? 2000 : 1900;
  in.Spaces();
  const auto clock = TakeClock(&in);
  in.Spaces();
  if (!clock || (!in.TakeWord("gmt") && !in.TakeWord("utc")) || !in.rest.empty()) {
    return std::nullopt;
  }
  return Civil(*year, *month, static_cast<unsigned>(*day), *clock);
}

std::optional<WallTime> ParseZonedTime(std::string_view text) {
  Parts in{text};
  in.Spaces();
  const auto year = in.Number(4, 4);
  if (!year || (!in.Take('-') && !in.Take('/'))) return std::nullopt;
  const auto month = in.Number(1, 2);
  if (!month || (!in.Take('-') && !in.Take('/'))) return std::nullopt;
  const auto day = in.Number(1, 2);
  if (!day) return std::nullopt;
  if (!in.Take('T') && !in.Take('t')) {
    in.Spaces();
    if (in.TakeWord("at")) in.Spaces();
  }
  const auto clock = TakeClock(&in);
  if (!clock) return std::nullopt;
  const auto zone = TakeZone(&in);
  if (!zone) return std::nullopt;
  const auto time =
      Civil(*year, static_cast<unsigned>(*month), static_cast<unsigned>(*day), *clock);
  if (!time) return std::nullopt;
  return *time - std::chrono::minutes(*zone);
}

std::optional<Duration> ParseReset(std::string_view text, WallTime now) {
  text = base::Trim(text);
  if (const std::optional<double> number = ParseDecimal(text)) {
    if (*number < 1e9) return WaitOfSeconds(*number);
    // Above a million seconds of the epoch's future nobody writes a span any more.
    const double epoch_ms = *number < 1e11   ? *number * 1e3
                            : *number < 1e14 ? *number
                                             : *number / 1e3;
    if (epoch_ms > 4e12) return std::nullopt;
    return WaitUntil(WallTime(milliseconds(static_cast<milliseconds::rep>(epoch_ms))), now);
  }
  if (const std::optional<Duration> span = ParseGoDuration(text)) return span;
  if (const std::optional<WallTime> time = ParseZonedTime(text)) return WaitUntil(*time, now);
  if (const std::optional<WallTime> time = ParseHttpDate(text)) return WaitUntil(*time, now);
  return std::nullopt;
}

}  // namespace hotel::decide
