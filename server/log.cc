#include "server/log.h"

#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "libhotel/base/redact.h"
#include "libhotel/base/strings.h"
#include "libhotel/base/time_text.h"
#include "libhotel/observe/event_text.h"
#include "libhotel/observe/logfmt.h"

namespace hotel::server {
namespace {

constexpr std::size_t kQueuedLines = 4096;

WallTime Now() {
  return std::chrono::time_point_cast<WallTime::duration>(std::chrono::system_clock::now());
}

/// What every text line begins with.
observe::LogLine Begin(std::string_view level, std::string_view scope, std::string_view message) {
  observe::LogLine line;
  line.Text("time", base::FormatTime(Now()))
      .Text("level", level)
      .Text("msg", fmt::format("{}: {}", scope, message));
  return line;
}

bool IsTrue(std::string_view text) {
  const auto lower = base::Lower(base::Trim(text));
  return lower == "true" || lower == "1" || lower == "yes";
}

}  // namespace

LogOptions LogOptionsFrom(const settings::EnvLookup& env) {
  LogOptions options;
  options.json = base::EqualsIgnoreCase(base::Trim(env("LOG_FORMAT").value_or("")), "json");
  options.debug_all = IsTrue(env("DEBUG_LOG").value_or(""));
  const auto scopes = env("DEBUG_LOG_SCOPES").value_or("");
  for (const auto scope : base::Split(scopes, ',')) {
    if (!base::Trim(scope).empty()) options.debug_scopes.emplace_back(base::Trim(scope));
  }
  return options;
}

Log::Log(LogOptions options)
    : options_(std::move(options)),
      writer_(std::make_shared<spdlog::details::thread_pool>(kQueuedLines, 1)),
      out_(std::make_shared<spdlog::async_logger>(
          "hoteld", std::make_shared<spdlog::sinks::stderr_sink_mt>(), writer_,
          spdlog::async_overflow_policy::overrun_oldest)) {
  out_->set_pattern("%v");
  out_->set_level(spdlog::level::trace);
  out_->set_error_handler([](const std::string&) {});  // a closed stderr must not end anything
}

Log::~Log() {
  TellDropped();
  // Joins the writer when it has written what waits: its last line must not be the last owner of
  // the logger.
  writer_.reset();
}

void Log::TellDropped() {
  const std::size_t dropped = writer_->overrun_counter();
  const std::size_t told = dropped_told_.exchange(dropped);
  if (dropped <= told) return;
  auto line = Begin("warn", "log", "lines were dropped because they could not be written in time");
  line.Number("lines", static_cast<std::int64_t>(dropped - told));
  out_->info("{}", line.text());
}

void Log::Flush() {
  // One thread takes one thing after the other: when it has taken this, everything before is done.
  out_->flush();
  for (int i = 0; i < 1000 && writer_->queue_size() > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

bool Log::DebugOn(std::string_view scope) const noexcept {
  if (options_.debug_all) return true;
  for (const auto& prefix : options_.debug_scopes) {
    if (base::StartsWith(scope, prefix)) return true;
  }
  return false;
}

void Log::Write(LogLevel level, std::string_view scope, std::string_view message,
                const Fields& fields) {
  const char* const name = LogLevelName(level);
  if (options_.json) {
    nlohmann::ordered_json line = {{"time", base::FormatTime(Now())},
                                   {"level", name},
                                   {"source", scope},
                                   {"msg", base::RedactKeys(message)}};
    for (const auto& [key, value] : fields) {
      auto& attribute = line["attrs"][key];
      if (const auto* text = std::get_if<std::string>(&value)) {
        const std::string masked = base::RedactKeys(*text);
        attribute = base::TruncateUtf8(masked, observe::LogLine::kMaxValue);
      } else {
        std::visit([&attribute](const auto& each) { attribute = each; }, value);
      }
    }
    out_->info("{}", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  auto line = Begin(name, scope, message);
  for (const auto& [key, value] : fields) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      line.Text(key, *text);
    } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
      line.Number(key, *number);
    } else {
      line.Flag(key, std::get<bool>(value));
    }
  }
  out_->info("{}", line.text());
}

void Log::Keep(LogLevel level, std::string_view scope, std::string_view message,
               const Fields& fields) {
  Write(level, scope, message, fields);
  AppLine line{0, Now(), level, std::string(scope), base::RedactKeys(message), fields};
  for (auto& [key, value] : line.attributes) {
    if (auto* text = std::get_if<std::string>(&value)) *text = base::RedactKeys(*text);
  }
  lines_.Add(std::move(line));
}

void Log::InfoUnkept(std::string_view scope, std::string_view message, const Fields& fields) {
  Write(LogLevel::kInfo, scope, message, fields);
}

void Log::Debug(std::string_view scope, std::string_view message, const Fields& fields) {
  if (DebugOn(scope)) Keep(LogLevel::kDebug, scope, message, fields);
}
void Log::Info(std::string_view scope, std::string_view message, const Fields& fields) {
  Keep(LogLevel::kInfo, scope, message, fields);
}
void Log::Warn(std::string_view scope, std::string_view message, const Fields& fields) {
  TellDropped();
  Keep(LogLevel::kWarn, scope, message, fields);
}
void Log::Error(std::string_view scope, std::string_view message, const Fields& fields) {
  Keep(LogLevel::kError, scope, message, fields);
}

void RecordLogger::Record(const RequestRecord& record) {
  log_->InfoUnkept("request", "finished", observe::RecordFields(record));
}

void EventLogger::OnEvent(const Event& event) {
  if (event.noted) return;
  Log::Fields fields = {{"event", event.type}};
  for (const auto& item : event.metadata) fields.push_back(item);
  if (event.severity == Event::Severity::kWarning) {
    log_->Warn(event.source, event.message, fields);
  } else {
    log_->Info(event.source, event.message, fields);
  }
}

void EventLogger::OnNote(const LogNote& note) {
  Log::Fields fields;
  if (!note.event.empty()) fields.push_back({"event", note.event});
  for (const auto& item : note.attributes) fields.push_back(item);
  if (note.debug) {
    log_->Debug(note.source, note.message, fields);
  } else if (note.severity == Event::Severity::kWarning) {
    log_->Warn(note.source, note.message, fields);
  } else {
    log_->Info(note.source, note.message, fields);
  }
}

bool EventLogger::WantsDebug(std::string_view source) const noexcept {
  return log_->DebugOn(source);
}

}  // namespace hotel::server
