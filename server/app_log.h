// The last lines of the sidecar's log, for whoever asks over the admin API (facts j, m).
#ifndef SERVER_APP_LOG_H_
#define SERVER_APP_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "hotel/types.h"

#include "libhotel/base/mutex.h"
#include "libhotel/observe/event_text.h"

namespace hotel::server {

enum class LogLevel { kDebug, kInfo, kWarn, kError };
/// "debug", "info", "warn", "error". Static storage.
const char* LogLevelName(LogLevel level) noexcept;

struct AppLine {
  std::uint64_t id = 0;  ///< grows by one with each line of this run, from 1
  WallTime at{};
  LogLevel level = LogLevel::kInfo;
  std::string source;
  std::string message;
  observe::Fields attributes;
};

/// Thread-safe. Lines of finished requests are not kept: those have a log of their own.
class AppLog {
 public:
  static constexpr std::size_t kKept = 1000;
  static constexpr std::size_t kMostText = 512;  ///< bytes of the message and of each value
  static constexpr std::size_t kMostAttributes = 24;

  /// Numbers the line and keeps it, cut to these bounds; the oldest one goes for it.
  void Add(AppLine line);

  struct Filter {
    std::uint64_t after = 0;            ///< lines behind this one
    LogLevel level = LogLevel::kDebug;  ///< this one and worse
    std::string source;                 ///< beginning of the source
  };
  /// In order of time: behind `after` the first `limit` that match, without it the last.
  std::vector<AppLine> Lines(const Filter& filter, std::size_t limit) const;

  /// Returns how many lines there were.
  std::size_t Clear();

 private:
  mutable base::Mutex mutex_;
  std::deque<AppLine> lines_ HOTEL_GUARDED_BY(mutex_);
  std::uint64_t next_ HOTEL_GUARDED_BY(mutex_) = 1;
};

}  // namespace hotel::server

#endif  // SERVER_APP_LOG_H_
