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

bool IsControl(char c, Lines lines) {
  if (lines == Lines::kMany && (c == '\n' || c == '\r' || c == '\t')) return false;
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

}  // namespace

absl::Status CheckText(std::string_view what, std::string_view text, std::size_t min,
                       std::size_t max, Lines lines) {
  if (text.size() < min || text.size() > max) {
    return absl::InvalidArgumentError(
        min == 0 ? fmt::format("{} must not be longer than {} bytes", what, max)
                 : fmt::format("{} must have {} to {} bytes", what, min, max));
  }
  if (!simdjson::validate_utf8(text.data(), text.size())) {
    return absl::InvalidArgumentError(fmt::format("{} must be UTF-8", what));
  }
  if (std::any_of(text.begin(), text.end(), [lines](char c) { return IsControl(c, lines); })) {
    return absl::InvalidArgumentError(fmt::format("{} must not hold control characters", what));
  }
  return absl::OkStatus();
}

std::string Quoted(std::string_view value) {
  std::string text(base::TruncateUtf8(value, kMaxQuoted));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return IsControl(c, Lines::kOne); }, '?');
  return text;
}

}  // namespace hotel::store
