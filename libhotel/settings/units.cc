#include "libhotel/settings/units.h"

#include <array>
#include <cstddef>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "libhotel/base/strings.h"
#include "libhotel/settings/config.h"

namespace hotel::settings {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t size;
};

// Longer names first where one is the beginning of another.
constexpr std::array<Unit, 6> kTimeUnits = {{{"ns", 1},
                                             {"us", 1000},
                                             {"ms", 1000000},
                                             {"s", 1000000000},
                                             {"m", 60000000000},
                                             {"h", 3600000000000}}};

constexpr std::array<Unit, 8> kByteUnits = {{{"", 1},
                                             {"B", 1},
                                             {"kB", 1000},
                                             {"KiB", 1 << 10},
                                             {"MB", 1000000},
                                             {"MiB", 1 << 20},
                                             {"GB", 1000000000},
                                             {"GiB", 1 << 30}}};

// total += count * size, unless that leaves the range.
bool Add(std::int64_t* total, std::int64_t count, std::int64_t size) noexcept {
  std::int64_t product = 0;
  return !__builtin_mul_overflow(count, size, &product) &&
         !__builtin_add_overflow(*total, product, total);
}

std::string_view TakeDigits(std::string_view* text) noexcept {
  std::size_t count = 0;
  while (count < text->size() && base::IsAsciiDigit((*text)[count])) ++count;
  const std::string_view digits = text->substr(0, count);
  text->remove_prefix(count);
  return digits;
}

bool ToNumber(std::string_view digits, std::int64_t* number) noexcept {
  *number = 0;
  for (const char digit : digits) {
    if (!Add(number, *number, 9) || !Add(number, digit - '0', 1)) return false;
  }
  return true;
}

const Unit* TakeTimeUnit(std::string_view* text) noexcept {
  for (const Unit& unit : kTimeUnits) {
    if (!base::StartsWith(*text, unit.name)) continue;
    const std::string_view rest = text->substr(unit.name.size());
    // "5min" is no five minutes followed by "in".
    if (!rest.empty() && !base::IsAsciiDigit(rest.front()) && rest.front() != '.') continue;
    *text = rest;
    return &unit;
  }
  return nullptr;
}

// One number with a unit from the front of `text`, added to `total`.
bool TakeTimePart(std::string_view* text, std::int64_t* total) noexcept {
  const std::string_view whole = TakeDigits(text);
  std::string_view fraction;
  if (!text->empty() && text->front() == '.') {
    text->remove_prefix(1);
    fraction = TakeDigits(text);
    if (fraction.empty()) return false;
  }
  if (whole.empty() && fraction.empty()) return false;
  const Unit* unit = TakeTimeUnit(text);
  std::int64_t count = 0;
  if (unit == nullptr || !ToNumber(whole, &count) || !Add(total, count, unit->size)) return false;
  std::int64_t weight = unit->size;
  for (const char digit : fraction) {
    weight /= 10;
    if (!Add(total, digit - '0', weight)) return false;
  }
  return true;
}

// `value` counted in `unit`, with the digits of the fraction that matter.
std::string Decimal(std::int64_t value, const Unit& unit) {
  std::string text = std::to_string(value / unit.size);
  std::int64_t rest = value % unit.size;
  if (rest > 0) text += '.';
  for (std::int64_t weight = unit.size / 10; rest > 0; weight /= 10) {
    text += static_cast<char>('0' + rest / weight);
    rest %= weight;
  }
  return text + std::string(unit.name);
}

}  // namespace

std::optional<Duration> ParseDuration(std::string_view text) {
  if (text == "0") return Duration(0);
  if (text.empty()) return std::nullopt;
  std::int64_t total = 0;
  while (!text.empty()) {
    if (!TakeTimePart(&text, &total)) return std::nullopt;
  }
  return Duration(total);
}

std::string FormatDuration(Duration duration) {
  std::int64_t rest = duration.count();
  if (rest == 0) return "0s";
  std::string text;
  for (const Unit& unit : {kTimeUnits[5], kTimeUnits[4]}) {
    if (rest >= unit.size) text += std::to_string(rest / unit.size) + std::string(unit.name);
    rest %= unit.size;
  }
  if (rest == 0) return text;
  for (const Unit& unit : {kTimeUnits[3], kTimeUnits[2], kTimeUnits[1]}) {
    if (rest >= unit.size) return text + Decimal(rest, unit);
  }
  return text + Decimal(rest, kTimeUnits[0]);
}

std::optional<std::uint64_t> ParseByteSize(std::string_view text) {
  const std::string_view digits = TakeDigits(&text);
  std::int64_t count = 0;
  if (digits.empty() || !ToNumber(digits, &count)) return std::nullopt;
  if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  for (const Unit& unit : kByteUnits) {
    if (text != unit.name) continue;
    std::int64_t bytes = 0;
    if (!Add(&bytes, count, unit.size)) return std::nullopt;
    return static_cast<std::uint64_t>(bytes);
  }
  return std::nullopt;
}

}  // namespace hotel::settings
