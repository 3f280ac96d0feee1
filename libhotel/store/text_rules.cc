#include "libhotel/store/text_rules.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <simdjson.h>

#include "absl/status/status.h"
#include "libhotel/base/strings.h"

namespace hotel::store {
namespace {

constexpr std::size_t kMaxQuoted = 100;
constexpr std::size_t kMaxUtf8 = 4;  ///< bytes of a character

bool IsControl(char c, Lines lines) {
  if (lines == Lines::kMany && (c == '\n' || c == '\r' || c == '\t')) return false;
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

absl::Status CheckLength(std::string_view what, std::size_t length, std::size_t min,
                         std::size_t max, std::string_view unit) {
  if (length >= min && length <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      min == 0 ? fmt::format("{} must not be longer than {} {}", what, max, unit)
               : fmt::format("{} must have {} to {} {}", what, min, max, unit));
}

absl::Status CheckContent(std::string_view what, std::string_view text, Lines lines) {
  if (!simdjson::validate_utf8(text.data(), text.size())) {
    return absl::InvalidArgumentError(fmt::format("{} must be UTF-8", what));
  }
  if (std::any_of(text.begin(), text.end(), [lines](char c) { return IsControl(c, lines); })) {
    return absl::InvalidArgumentError(fmt::format("{} must not hold control characters", what));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckText(std::string_view what, std::string_view text, std::size_t min,
                       std::size_t max, Lines lines) {
  absl::Status status = CheckLength(what, text.size(), min, max, "bytes");
  return status.ok() ? CheckContent(what, text, lines) : status;
}

absl::Status CheckCharacters(std::string_view what, std::string_view text, std::size_t min,
                             std::size_t max, Lines lines) {
  const std::size_t length = text.size() > max * kMaxUtf8 ? max + 1 : base::CountCharacters(text);
  absl::Status status = CheckLength(what, length, min, max, "characters");
  return status.ok() ? CheckContent(what, text, lines) : status;
}

std::string Quoted(std::string_view value) {
  std::string text(base::TruncateUtf8(value, kMaxQuoted));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return IsControl(c, Lines::kOne); }, '?');
  return text;
}

}  // namespace hotel::store
