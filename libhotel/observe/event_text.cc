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

void AddUnlessEmpty(Fields* fields, std::string_view name, std::string_view value) {
  if (!value.empty()) fields->emplace_back(name, std::string(value));
}

void AddUsage(Fields* fields, const TokenUsage& usage) {
  fields->emplace_back("tokens_prompt", usage.prompt);
  fields->emplace_back("tokens_completion", usage.completion);
  if (usage.cached != 0) fields->emplace_back("tokens_cached", usage.cached);
  if (usage.reasoning != 0) fields->emplace_back("tokens_reasoning", usage.reasoning);
  if (usage.estimated) fields->emplace_back("tokens_estimated", true);
}

void AddUnlessEmpty(LogLine* line, std::string_view name, std::string_view value) {
  if (!value.empty()) line->Text(name, value);
}

void AddValues(LogLine* line, const Fields& values) {
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

Fields RecordFields(const RequestRecord& record) {
  Fields fields = {{"request", record.request_id},
                   {"at", base::FormatTime(record.created_at)},
                   {"endpoint", std::string(EndpointName(record.endpoint))},
                   {"model", record.requested_model}};
  AddUnlessEmpty(&fields, "resolved", record.resolved_model);
  AddUnlessEmpty(&fields, "provider", record.provider);
  AddUnlessEmpty(&fields, "key", record.key_name);
  fields.emplace_back("stream", record.streaming);
  fields.emplace_back("status", std::int64_t{record.status});
  AddUnlessEmpty(&fields, "kind", ErrorKindName(record.error_kind));
  AddUnlessEmpty(&fields, "error", record.error_message);
  fields.emplace_back("duration_ms", Milliseconds(record.duration));
  if (record.ttft) fields.emplace_back("ttft_ms", Milliseconds(*record.ttft));
  if (record.usage) AddUsage(&fields, *record.usage);

  std::int64_t contacted = 0;
  std::string trail;
  for (const AttemptRecord& attempt : record.attempts) {
    if (attempt.attempt >= 0) ++contacted;
    if (!trail.empty()) trail += " | ";
    trail += TrailEntry(attempt);
  }
  fields.emplace_back("attempts", contacted);
  AddUnlessEmpty(&fields, "trail", trail);
  return fields;
}

std::string RecordLine(const RequestRecord& record) {
  LogLine line;
  AddValues(&line, RecordFields(record));
  return line.text();
}

}  // namespace hotel::observe
