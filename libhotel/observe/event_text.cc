#include "libhotel/observe/event_text.h"

#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "libhotel/base/time_text.h"
#include "libhotel/observe/logfmt.h"

namespace hotel::observe {
namespace {

std::int64_t Milliseconds(Duration span) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
}

std::string_view SeverityName(Event::Severity severity) {
  switch (severity) {
    case Event::Severity::kInfo:
      return "info";
    case Event::Severity::kSuccess:
      return "success";
    case Event::Severity::kWarning:
      return "warning";
  }
  return "";
}

std::string TrailEntry(const AttemptRecord& attempt) {
  const std::string target = attempt.provider + "/" + attempt.model;
  std::string text;
  if (attempt.attempt < 0) {
    text = "skip " + target;
  } else {
    const std::string status = attempt.status ? std::to_string(*attempt.status) : "-";
    text = fmt::format("{} {} {}", attempt.attempt, target, status);
    if (attempt.error_kind != ErrorKind::kNone) {
      text += fmt::format(" {}", ErrorKindName(attempt.error_kind));
    }
    text +=
        fmt::format(" {} {}ms", BreakerEffectName(attempt.breaker), Milliseconds(attempt.duration));
    if (attempt.tries > 1) text += fmt::format(" tries={}", attempt.tries);
    if (attempt.ttft) text += fmt::format(" ttft={}ms", Milliseconds(*attempt.ttft));
  }
  if (!attempt.detail.empty()) text += fmt::format(" ({})", attempt.detail);
  return text;
}

void AddUnlessEmpty(LogLine* line, std::string_view name, std::string_view value) {
  if (!value.empty()) line->Text(name, value);
}

void AddUsage(LogLine* line, const TokenUsage& usage) {
  line->Number("tokens_prompt", usage.prompt).Number("tokens_completion", usage.completion);
  if (usage.cached != 0) line->Number("tokens_cached", usage.cached);
  if (usage.reasoning != 0) line->Number("tokens_reasoning", usage.reasoning);
  if (usage.estimated) line->Flag("tokens_estimated", true);
}

void AddValues(LogLine* line, const std::vector<std::pair<std::string, Event::Value>>& values) {
  for (const auto& [name, value] : values) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      line->Text(name, *text);
    } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
      line->Number(name, *number);
    } else {
      line->Flag(name, std::get<bool>(value));
    }
  }
}

}  // namespace

std::string EventLine(const Event& event) {
  LogLine line;
  line.Text("event", event.type).Text("severity", SeverityName(event.severity));
  AddUnlessEmpty(&line, "source", event.source);
  AddUnlessEmpty(&line, "message", event.message);
  AddValues(&line, event.metadata);
  return line.text();
}

std::string NoteLine(const LogNote& note) {
  LogLine line;
  AddUnlessEmpty(&line, "event", note.event);
  line.Text("severity", SeverityName(note.severity));
  AddUnlessEmpty(&line, "source", note.source);
  line.Text("message", note.message);
  AddValues(&line, note.attributes);
  return line.text();
}

std::string RecordLine(const RequestRecord& record) {
  LogLine line;
  line.Text("request", record.request_id)
      .Text("at", base::FormatTime(record.created_at))
      .Text("endpoint", EndpointName(record.endpoint))
      .Text("model", record.requested_model);
  AddUnlessEmpty(&line, "resolved", record.resolved_model);
  AddUnlessEmpty(&line, "provider", record.provider);
  AddUnlessEmpty(&line, "key", record.key_name);
  line.Flag("stream", record.streaming).Number("status", record.status);
  AddUnlessEmpty(&line, "kind", ErrorKindName(record.error_kind));
  AddUnlessEmpty(&line, "error", record.error_message);
  line.Number("duration_ms", Milliseconds(record.duration));
  if (record.ttft) line.Number("ttft_ms", Milliseconds(*record.ttft));
  if (record.usage) AddUsage(&line, *record.usage);

  std::int64_t contacted = 0;
  std::string trail;
  for (const AttemptRecord& attempt : record.attempts) {
    if (attempt.attempt >= 0) ++contacted;
    if (!trail.empty()) trail += " | ";
    trail += TrailEntry(attempt);
  }
  line.Number("attempts", contacted);
  AddUnlessEmpty(&line, "trail", trail);
  return line.text();
}

}  // namespace hotel::observe
