#include "server/app_log.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "libhotel/base/strings.h"

namespace hotel::server {
namespace {

void Cut(std::string* text) { text->resize(base::TruncateUtf8(*text, AppLog::kMostText).size()); }

bool Fits(const AppLine& line, const AppLog::Filter& filter) {
  return line.id > filter.after && line.level >= filter.level &&
         base::StartsWith(line.source, filter.source);
}

}  // namespace

const char* LogLevelName(LogLevel level) noexcept {
  constexpr const char* kNames[] = {"debug", "info", "warn", "error"};
  return kNames[static_cast<int>(level)];
}

void AppLog::Add(AppLine line) {
  Cut(&line.message);
  if (line.attributes.size() > kMostAttributes) line.attributes.resize(kMostAttributes);
  for (auto& [name, value] : line.attributes) {
    if (auto* text = std::get_if<std::string>(&value)) Cut(text);
  }
  base::MutexLock lock(&mutex_);
  line.id = next_++;
  lines_.push_back(std::move(line));
  if (lines_.size() > kKept) lines_.pop_front();
}

std::vector<AppLine> AppLog::Lines(const Filter& filter, std::size_t limit) const {
  std::vector<AppLine> found;
  base::MutexLock lock(&mutex_);
  if (filter.after != 0) {
    for (auto line = lines_.begin(); line != lines_.end() && found.size() < limit; ++line) {
      if (Fits(*line, filter)) found.push_back(*line);
    }
    return found;
  }
  for (auto line = lines_.rbegin(); line != lines_.rend() && found.size() < limit; ++line) {
    if (Fits(*line, filter)) found.push_back(*line);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::size_t AppLog::Clear() {
  base::MutexLock lock(&mutex_);
  const std::size_t lines = lines_.size();
  lines_.clear();
  return lines;
}

}  // namespace hotel::server
