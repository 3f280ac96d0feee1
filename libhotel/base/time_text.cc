#include "libhotel/base/time_text.h"

#include <algorithm>
#include <chrono>
#include <cstddef>

#include <fmt/format.h>

#include "libhotel/base/strings.h"

namespace hotel::base {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::year_month_day;

constexpr WallTime kFirst = sys_days(std::chrono::year(0) / 1 / 1);
constexpr WallTime kLast = sys_days(std::chrono::year(10000) / 1 / 1) - milliseconds(1);

// Takes digits and fixed characters from the front of a text; the first mismatch makes `ok` false.
struct Reader {
  std::string_view rest;
  bool ok = true;

  int Digits(std::size_t count) {
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (rest.empty() || !IsAsciiDigit(rest.front())) {
        ok = false;
        return 0;
      }
      value = value * 10 + (rest.front() - '0');
      rest.remove_prefix(1);
    }
    return value;
  }
  bool Take(std::string_view any_of) {
    if (rest.empty() || any_of.find(rest.front()) == std::string_view::npos) return false;
    rest.remove_prefix(1);
    return true;
  }
  void Expect(std::string_view any_of) {
    if (!Take(any_of)) ok = false;
  }
};

int ReadMilliseconds(Reader* in) {
  if (!in->Take(".")) return 0;
  int value = in->Digits(1) * 100;
  for (int weight = 10; !in->rest.empty() && IsAsciiDigit(in->rest.front()); weight /= 10) {
    value += weight * (in->rest.front() - '0');
    in->rest.remove_prefix(1);
  }
  return value;
}

minutes ReadOffset(Reader* in) {
  if (in->Take("Zz")) return minutes(0);
  const bool west = in->Take("-");
  if (!west) in->Expect("+");
  const int hour = in->Digits(2);
  in->Expect(":");
  const int minute = in->Digits(2);
  if (hour > 23 || minute > 59) in->ok = false;
  const minutes offset = hours(hour) + minutes(minute);
  return west ? -offset : offset;
}

}  // namespace

std::string FormatTime(WallTime time) {
  const WallTime clamped = std::clamp(time, kFirst, kLast);
  const auto day = std::chrono::floor<days>(clamped);
  const year_month_day date(day);
  const auto of_day = (clamped - day).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     of_day / 3600000, of_day / 60000 % 60, of_day / 1000 % 60, of_day % 1000);
}

std::optional<WallTime> ParseTime(std::string_view text) {
  Reader in{text};
  const int year = in.Digits(4);
  in.Expect("-");
  const int month = in.Digits(2);
  in.Expect("-");
  const int day = in.Digits(2);
  in.Expect("Tt ");
  const int hour = in.Digits(2);
  in.Expect(":");
  const int minute = in.Digits(2);
  in.Expect(":");
  const int second = in.Digits(2);
  const int millisecond = ReadMilliseconds(&in);
  const minutes offset = ReadOffset(&in);
  const year_month_day date(std::chrono::year(year),
                            std::chrono::month(static_cast<unsigned>(month)),
                            std::chrono::day(static_cast<unsigned>(day)));
  if (!in.ok || !in.rest.empty() || !date.ok() || hour > 23 || minute > 59 || second > 60) {
    return std::nullopt;
  }
  return sys_days(date) + hours(hour) + minutes(minute) + seconds(second) +
         milliseconds(millisecond) - offset;
}

}  // namespace hotel::base
