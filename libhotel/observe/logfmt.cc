#include "libhotel/observe/logfmt.h"

#include <fmt/format.h>

#include "libhotel/base/redact.h"
#include "libhotel/base/strings.h"

namespace hotel::observe {
namespace {

bool IsBare(std::string_view value) noexcept {
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7F || c == '"' || c == '=' || c == '\\') return false;
  }
  return !value.empty();
}

std::string Escaped(std::string_view value) {
  std::string result = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned>(byte));
    } else {
      result += c;
    }
  }
  return result + '"';
}

}  // namespace

void LogLine::Name(std::string_view name) {
  if (!text_.empty()) text_ += ' ';
  text_.append(name).append("=");
}

LogLine& LogLine::Text(std::string_view name, std::string_view value) {
  Name(name);
  // Masked before the cut: a key that the cut would shorten must not lose its shape first.
  const std::string masked = base::RedactKeys(value);
  const std::string_view kept = base::TruncateUtf8(masked, kMaxValue);
  text_ += IsBare(kept) ? std::string(kept) : Escaped(kept);
  return *this;
}

LogLine& LogLine::Number(std::string_view name, std::int64_t value) {
  Name(name);
  text_ += std::to_string(value);
  return *this;
}

LogLine& LogLine::Flag(std::string_view name, bool value) {
  Name(name);
  text_ += value ? "true" : "false";
  return *this;
}

}  // namespace hotel::observe
