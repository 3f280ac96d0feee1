#include "libhotel/decide/refusal_units.h"

#include <array>
#include <charconv>
#include <chrono>

#include "libhotel/base/strings.h"

namespace hotel::decide {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

struct Unit {
  std::string_view word;
  Duration span;
};
constexpr hours kDay{24};

constexpr std::array<Unit, 5> kLetters = {
    {{"s", seconds(1)}, {"m", minutes(1)}, {"h", hours(1)}, {"d", kDay}, {"w", kDay * 7}}};

// In the languages providers write in.
constexpr std::array kUnits = std::to_array<Unit>({
    {"second", seconds(1)},
    {"seconds", seconds(1)},
    {"sec", seconds(1)},
    {"secs", seconds(1)},
    {"minute", minutes(1)},
    {"minutes", minutes(1)},
    {"min", minutes(1)},
    {"mins", minutes(1)},
    {"hour", hours(1)},
    {"hours", hours(1)},
    {"hr", hours(1)},
    {"hrs", hours(1)},
    {"day", kDay},
    {"days", kDay},
    {"week", kDay * 7},
    {"weeks", kDay * 7},
    {"month", kDay * 30},
    {"months", kDay * 30},
    {"year", kDay * 365},
    {"ms", milliseconds(1)},
    {"millisecond", milliseconds(1)},
    {"milliseconds", milliseconds(1)},
    {"us", std::chrono::microseconds(1)},
    {"ns", std::chrono::nanoseconds(1)},
    {"sekunde", seconds(1)},
    {"sekunden", seconds(1)},
    {"stunde", hours(1)},
    {"stunden", hours(1)},
    {"tag", kDay},
    {"tage", kDay},
    {"tagen", kDay},
    {"woche", kDay * 7},
    {"monat", kDay * 30},
    {"minuten", minutes(1)},
    {"seconde", seconds(1)},
    {"secondes", seconds(1)},
    {"heure", hours(1)},
    {"heures", hours(1)},
    {"jour", kDay},
    {"jours", kDay},
    {"mois", kDay * 30},
    {"segundo", seconds(1)},
    {"segundos", seconds(1)},
    {"minuto", minutes(1)},
    {"minutos", minutes(1)},
    {"hora", hours(1)},
    {"horas", hours(1)},
    {"d\xC3\xAD"
     "a",
     kDay},
    {"dia", kDay},
    {"mes", kDay * 30},
    {"секунд", seconds(1)},
    {"секунды", seconds(1)},
    {"минуту", minutes(1)},
    {"минут", minutes(1)},
    {"минуты", minutes(1)},
    {"час", hours(1)},
    {"часа", hours(1)},
    {"часов", hours(1)},
    {"день", kDay},
});
constexpr std::array<bool, 256> kUnitInitials = [] {
  std::array<bool, 256> initials{};
  for (const Unit& unit : kUnits) initials[static_cast<unsigned char>(unit.word.front())] = true;
  return initials;
}();
// Scripts without spaces: the unit starts the word.
constexpr std::array kPrefixUnits = std::to_array<Unit>({
    {"毫秒", milliseconds(1)},
    {"秒", seconds(1)},
    {"분", minutes(1)},
    {"초", seconds(1)},
    {"시간", hours(1)},
    {"分钟", minutes(1)},
    {"分鐘", minutes(1)},
    {"分", minutes(1)},
    {"小时", hours(1)},
    {"小時", hours(1)},
    {"时間", hours(1)},
    {"時間", hours(1)},
    {"个小时", hours(1)},
    {"天", kDay},
    {"日", kDay},
    {"일", kDay},
});

}  // namespace

Duration UnitOf(std::string_view word, bool behind_number) noexcept {
  if (word.empty()) return Duration(0);
  if (word.size() == 1) {
    if (!behind_number) return Duration(0);
    for (const Unit& unit : kLetters) {
      if (word == unit.word) return unit.span;
    }
    return Duration(0);
  }
  if (static_cast<unsigned char>(word.front()) >= 0xE3) {
    if (!behind_number) return Duration(0);
    for (const Unit& unit : kPrefixUnits) {
      if (base::StartsWith(word, unit.word)) return unit.span;
    }
    return Duration(0);
  }
  // Asked of every word, answered mostly by the first letter.
  if (!kUnitInitials[static_cast<unsigned char>(word.front())]) return Duration(0);
  for (const Unit& unit : kUnits) {
    if (word == unit.word) return unit.span;
  }
  return Duration(0);
}

std::optional<double> NumberOf(std::string_view word) noexcept {
  if (word.empty() || !base::IsAsciiDigit(word.front())) return std::nullopt;
  std::array<char, 32> plain{};
  std::size_t size = 0;
  for (const char c : word) {
    if (c == ',') continue;
    if (size == plain.size()) return std::nullopt;
    plain[size++] = c;
  }
  double value = 0;
  const char* const end = plain.data() + size;
  const auto [stop, fault] = std::from_chars(plain.data(), end, value, std::chars_format::fixed);
  if (fault != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<Duration> PlausibleSpan(double count, Duration unit) noexcept {
  const double nanoseconds = count * static_cast<double>(unit.count());
  if (!(nanoseconds >= 1) || nanoseconds > static_cast<double>(kMaxStatedSpan.count())) {
    return std::nullopt;
  }
  return Duration(static_cast<Duration::rep>(nanoseconds));
}

std::optional<Duration> SpanAt(const RefusalText& text, std::size_t at, std::size_t limit,
                               std::size_t* end) {
  const auto& words = text.words();
  double total = 0;
  Duration last = Duration::max();
  std::size_t pos = at;
  *end = at;
  while (pos + 1 < limit) {
    if (pos != at && words[pos].text == "and" && pos + 2 < limit) ++pos;
    const std::optional<double> number = NumberOf(words[pos].text);
    if (!number) break;
    const Duration unit = UnitOf(words[pos + 1].text, true);
    // Units get smaller: "in 2 hours 5 minutes" is one span, "in 2 hours 3 days" is not.
    if (unit.count() == 0 || unit >= last) break;
    total += *number * static_cast<double>(unit.count());
    last = unit;
    pos += 2;
    *end = pos;
  }
  if (*end == at) return std::nullopt;
  return PlausibleSpan(total, Duration(1));
}

}  // namespace hotel::decide
