// The sidecar's log: one line per thing that happened, on stderr.
#ifndef SERVER_LOG_H_
#define SERVER_LOG_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/events.h"
#include "hotel/request_log.h"

#include "libhotel/observe/event_text.h"
#include "libhotel/settings/config.h"
#include "server/app_log.h"

namespace spdlog {
class logger;
namespace details {
class thread_pool;
}
}  // namespace spdlog

namespace hotel::server {

struct LogOptions {
  bool json = false;       ///< LOG_FORMAT=json: one object per line; otherwise logfmt
  bool debug_all = false;  ///< DEBUG_LOG
  /// DEBUG_LOG_SCOPES: scopes that log at debug level ("resolve", "proxy", "circuit-breaker",
  /// "discovery", ...). Matched as prefixes.
  std::vector<std::string> debug_scopes;
};
/// From LOG_FORMAT, DEBUG_LOG and DEBUG_LOG_SCOPES.
LogOptions LogOptionsFrom(const settings::EnvLookup& env);

/// Thread-safe. Control characters are escaped, so that a line is always one line; key-shaped words
/// are masked. Lines are written by a thread of their own, so that a slow disk or a full pipe holds
/// up no request; when more than a few thousand wait the oldest are dropped, and the count is told
/// at the next warning or at the end.
class Log {
 public:
  explicit Log(LogOptions options);
  ~Log();  ///< writes what waits

  using Fields = observe::Fields;

  /// `scope`: the part of the program that speaks ("server", "request", "circuit").
  void Debug(std::string_view scope, std::string_view message, const Fields& fields = {});
  void Info(std::string_view scope, std::string_view message, const Fields& fields = {});
  void Warn(std::string_view scope, std::string_view message, const Fields& fields = {});
  void Error(std::string_view scope, std::string_view message, const Fields& fields = {});

  /// A line that is not among the last lines of `lines()`.
  void InfoUnkept(std::string_view scope, std::string_view message, const Fields& fields);

  /// Waits until what was said before is written, a second at most: for an end of the process that
  /// destroys nothing.
  void Flush();

  /// Whether a debug line of that scope would be written.
  bool DebugOn(std::string_view scope) const noexcept;

  /// What was written last.
  AppLog& lines() noexcept { return lines_; }

 private:
  void Keep(LogLevel level, std::string_view scope, std::string_view message, const Fields& fields);
  void Write(LogLevel level, std::string_view scope, std::string_view message,
             const Fields& fields);

  void TellDropped();

  const LogOptions options_;
  std::shared_ptr<spdlog::details::thread_pool> writer_;
  const std::shared_ptr<spdlog::logger> out_;
  std::atomic<std::size_t> dropped_told_{0};
  AppLog lines_;
};

/// Logs one line per finished request.
class RecordLogger final : public RequestLog {
 public:
  explicit RecordLogger(Log* log) : log_(log) {}
  void Record(const RequestRecord& record) override;

 private:
  Log* const log_;
};

/// Logs one line per note (of debug notes those of the scopes that are asked for), and per event
/// that no note said already.
class EventLogger final : public EventSink {
 public:
  explicit EventLogger(Log* log) : log_(log) {}
  void OnEvent(const Event& event) override;
  void OnNote(const LogNote& note) override;
  bool WantsDebug(std::string_view source) const noexcept override;

 private:
  Log* const log_;
};

}  // namespace hotel::server

#endif  // SERVER_LOG_H_
