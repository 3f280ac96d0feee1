#include "libhotel/decide/refusal_units.h"

#include <array>
#include <charconv>

#include "libhotel/base/strings.h"

namespace hotel::decide {

Duration UnitOf(const Word& word, bool behind_number) noexcept {
  if (word.lexeme->unit.count() != 0) {
    return word.text.size() > 1 || behind_number ? word.lexeme->unit : Duration(0);
  }
  if (!behind_number || !IsRun(word)) return Duration(0);
  for (const UnitWord& unit : RunUnits()) {
    if (base::StartsWith(word.text, unit.word)) return unit.span;
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
    const Duration unit = UnitOf(words[pos + 1], true);
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

bool MeansLater(const RefusalText& text, std::size_t end, std::size_t limit) noexcept {
  const auto& words = text.words();
  for (const std::string_view later : {"后", "後", "후"}) {
    if (words[end - 1].text.find(later) != std::string_view::npos) return true;
    if (end < limit && base::StartsWith(words[end].text, later)) return true;
  }
  return false;
}

}  // namespace hotel::decide
