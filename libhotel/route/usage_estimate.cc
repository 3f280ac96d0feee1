#include "libhotel/route/usage_estimate.h"

#include <algorithm>

#include "libhotel/base/strings.h"

namespace hotel::route {
namespace {

constexpr std::int64_t kBytesPerToken = 4;
constexpr std::size_t kLooked = std::size_t{1} << 20;
constexpr std::size_t kOpaque = std::size_t{4} << 10;
/// A text of this length has a space somewhere.
constexpr std::size_t kLongestWord = 256;

std::size_t TextBytes(std::string_view value) noexcept {
  if (value.size() <= kOpaque) return value.size();
  const bool words = value.substr(0, kLongestWord).find_first_of(" \\") != std::string_view::npos;
  return words ? value.size() : kOpaque;
}

/// The end of the string that begins at `pos`: where its closing quote stands, or text.size().
std::size_t EndOfString(std::string_view text, std::size_t pos) noexcept {
  while (pos < text.size()) {
    pos = text.find_first_of("\"\\", pos);
    if (pos == std::string_view::npos) break;
    if (text[pos] == '"') return pos;
    pos += 2;
  }
  return text.size();
}

/// Members under which the dialects put what a model writes.
constexpr std::string_view kTexts[] = {
    "\"content\"",  "\"text\"",         "\"delta\"",     "\"reasoning\"", "\"reasoning_content\"",
    "\"thinking\"", "\"partial_json\"", "\"arguments\"", "\"refusal\""};

/// Behind white space and the one `what`; text.size() when something else is there.
std::size_t Behind(std::string_view text, std::size_t pos, char what) noexcept {
  while (pos < text.size() && base::IsAsciiSpace(text[pos])) ++pos;
  return pos < text.size() && text[pos] == what ? pos + 1 : text.size();
}

}  // namespace

std::int64_t EstimateTokens(std::string_view json) noexcept {
  const std::string_view start = base::Trim(json.substr(0, 64));
  if (start.empty() || (start.front() != '{' && start.front() != '[')) return 0;
  const std::string_view text = json.substr(0, kLooked);
  std::size_t bytes = 0;
  for (std::size_t pos = text.find('"'); pos != std::string_view::npos; pos = text.find('"', pos)) {
    const std::size_t end = EndOfString(text, pos + 1);
    std::size_t next = std::min(end + 1, text.size());
    while (next < text.size() && base::IsAsciiSpace(text[next])) ++next;
    const bool is_key = next < text.size() && text[next] == ':';
    if (!is_key) bytes += TextBytes(text.substr(pos + 1, end - pos - 1));
    pos = next;
  }
  const double share = static_cast<double>(json.size()) / static_cast<double>(text.size());
  const double tokens = static_cast<double>(bytes) * share / static_cast<double>(kBytesPerToken);
  return static_cast<std::int64_t>(tokens + 0.999);
}

void OutputMeter::Look(std::string_view data) noexcept {
  ++looked_;
  for (const std::string_view name : kTexts) {
    std::size_t pos = data.find(name);
    while (pos != std::string_view::npos) {
      pos += name.size();
      const std::size_t begin = Behind(data, Behind(data, pos, ':'), '"');
      if (begin < data.size()) bytes_ += EndOfString(data, begin) - begin;
      pos = data.find(name, pos);
    }
  }
}

std::int64_t OutputMeter::Tokens() const noexcept {
  if (looked_ == 0) return 0;
  const double text =
      static_cast<double>(bytes_) / static_cast<double>(looked_) * static_cast<double>(frames_);
  return std::max(static_cast<std::int64_t>(frames_),
                  static_cast<std::int64_t>(text) / kBytesPerToken);
}

}  // namespace hotel::route
