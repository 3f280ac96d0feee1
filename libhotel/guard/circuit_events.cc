#include "libhotel/guard/circuit_events.h"

#include <chrono>
#include <cstdint>
#include <string_view>

#include "fmt/format.h"
#include "libhotel/base/time_text.h"
#include "libhotel/decide/spans.h"

namespace hotel::guard {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using Kind = CircuitTale::Kind;

constexpr char kSource[] = "failover";
constexpr char kNoteSource[] = "circuit-breaker";
constexpr char kUnstable[] = "circuit_breaker.unstable";

std::int64_t Milliseconds(Duration span) { return duration_cast<milliseconds>(span).count(); }

bool IsOpening(Kind kind) {
  return kind == Kind::kOpened || kind == Kind::kReopened || kind == Kind::kSeeded;
}

std::string NextRetry(const CircuitTale& tale, const Clock* clock) {
  const WallTime now =
      clock != nullptr
          ? clock->WallNow()
          : std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now());
  const TimePoint retry = decide::After(tale.circuit.opened_at, tale.cooldown.span);
  return base::FormatTime(now + duration_cast<milliseconds>(retry - tale.now));
}

std::string OpenMessage(const CircuitTale& tale) {
  std::string message = fmt::format("Provider {} circuit breaker: open", tale.key.provider_name);
  if (!tale.whole_provider) message += fmt::format(" for model {}", tale.key.model);
  if (tale.provider_open) message += " (provider skipped)";
  message += fmt::format(": {}", tale.circuit.last_cause);
  if (tale.cooldown.backoff_governs) {
    message += fmt::format(
        " (backing off after {} failed {}, next retry in {})", tale.circuit.failed_probes,
        tale.circuit.failed_probes == 1 ? "retry" : "retries", ShortSpan(tale.cooldown.span));
  }
  return message;
}

std::string ClosedMessage(const CircuitTale& tale) {
  std::string message = fmt::format("Provider {} circuit breaker: closed", tale.key.provider_name);
  if (!tale.whole_provider) message += fmt::format(" for model {}", tale.key.model);
  return message;
}

Event TransitionEvent(const CircuitTale& tale, const Clock* clock) {
  const bool open = IsOpening(tale.kind);
  const decide::Circuit& circuit = tale.circuit;
  const PinSource source = tale.cooldown.pinned ? circuit.pin.source : PinSource::kNone;
  Event event;
  event.type = open ? "circuit_breaker.open" : "circuit_breaker.closed";
  event.severity = open ? Event::Severity::kWarning : Event::Severity::kSuccess;
  event.source = kSource;
  event.message = open ? OpenMessage(tale) : ClosedMessage(tale);
  event.noted = true;
  event.metadata = {{"provider_id", tale.key.provider_id},
                    {"provider", tale.key.provider_name},
                    {"model", tale.key.model}};
  // Whoever acts on a model must not act on one when the whole provider is meant.
  if (!open || !tale.provider_open) event.metadata.emplace_back("model_id", tale.key.model);
  event.metadata.insert(event.metadata.end(),
                        {{"state", std::string(open ? "open" : "closed")},
                         {"cause", circuit.last_cause},
                         {"status", std::int64_t{circuit.last_status}},
                         {"pin_source", std::string(PinSourceName(source))},
                         {"provider_open", tale.provider_open},
                         {"consecutive_fails", std::int64_t{circuit.consecutive_fails}},
                         {"quota_pinned", open && tale.cooldown.pinned},
                         {"backed_off", open && tale.cooldown.backed_off},
                         {"failed_probes", std::int64_t{circuit.failed_probes}}});
  if (open) {
    event.metadata.emplace_back("cooldown_ms", Milliseconds(tale.cooldown.span));
    if (tale.cooldown.pinned || tale.cooldown.backed_off) {
      event.metadata.emplace_back("next_retry_at", NextRetry(tale, clock));
    }
  }
  return event;
}

Event UnstableEvent(const CircuitTale& tale) {
  Event event;
  event.type = kUnstable;
  event.severity = Event::Severity::kWarning;
  event.source = kSource;
  event.message = fmt::format("Provider {} circuit breaker: model {} opened {} times within 24h",
                              tale.key.provider_name, tale.key.model, tale.circuit.opens);
  event.noted = true;
  event.metadata = {{"provider_id", tale.key.provider_id},
                    {"provider", tale.key.provider_name},
                    {"model", tale.key.model},
                    {"model_id", tale.key.model},
                    {"opens", std::int64_t{tale.circuit.opens}},
                    {"window", std::string("24h")}};
  return event;
}

/// The words behind the source.
std::string NoteText(const CircuitTale& tale) {
  switch (tale.kind) {
    case Kind::kOpened:
      return tale.exhausted ? "model state=closed→open (exhausted)" : "model state=closed→open";
    case Kind::kReopened:
      return tale.exhausted ? "model state=half-open→open (probe drew exhaustion)"
                            : "model state=half-open→open (probe failed)";
    case Kind::kSeeded:
      return fmt::format("model state=closed→open ({}, seeded from quota advice)",
                         tale.exhausted ? "exhausted" : "reserve reached");
    case Kind::kHalfOpened:
      return "model state=open→half-open (cooldown elapsed)";
    case Kind::kClosed:
      return "model state=half-open→closed (probe succeeded)";
    case Kind::kRetargeted:
      return "quota pin retargeted (fresh exhaustion reading)";
    case Kind::kReleased:
      return tale.circuit.last_cause;  // the cause says who lifted it
    case Kind::kReset:
      break;
  }
  return "manual reset";
}

LogNote NoteOf(const CircuitTale& tale) {
  const decide::Circuit& circuit = tale.circuit;
  LogNote note;
  note.source = kNoteSource;
  note.message = NoteText(tale);
  if (IsOpening(tale.kind)) note.event = "circuit_breaker.open";
  if (tale.kind == Kind::kClosed) note.event = "circuit_breaker.closed";
  if (IsOpening(tale.kind)) note.severity = Event::Severity::kWarning;
  note.attributes = {{"provider", tale.key.provider_name}, {"provider_id", tale.key.provider_id}};
  if (tale.kind == Kind::kReset) {
    note.attributes.emplace_back("cause", std::string("manual reset"));
    note.attributes.emplace_back("previous_state", std::string(CircuitStateName(tale.state)));
  } else {
    note.attributes.insert(note.attributes.end(),
                           {{"cause", circuit.last_cause},
                            {"status", std::int64_t{circuit.last_status}},
                            {"consecutive_failures", std::int64_t{circuit.consecutive_fails}},
                            {"cooldown_ms", Milliseconds(tale.cooldown.span)},
                            {"quota_pinned", tale.cooldown.pinned},
                            {"backed_off", tale.cooldown.backed_off},
                            {"failed_probes", std::int64_t{circuit.failed_probes}}});
    if (tale.kind == Kind::kReleased) {
      note.attributes.emplace_back("state", std::string(CircuitStateName(tale.state)));
    }
  }
  note.attributes.emplace_back("model", tale.key.model);
  return note;
}

LogNote UnstableNote(const CircuitTale& tale) {
  LogNote note;
  note.severity = Event::Severity::kWarning;
  note.source = kNoteSource;
  note.event = kUnstable;
  note.message = "model keeps reopening its circuit";
  note.attributes = {{"provider", tale.key.provider_name},
                     {"provider_id", tale.key.provider_id},
                     {"opens", std::int64_t{tale.circuit.opens}},
                     {"window", std::string("24h")},
                     {"model", tale.key.model}};
  return note;
}

}  // namespace

void TellTale(const CircuitTale& tale, const Clock* clock, EventSink* sink) {
  sink->OnNote(NoteOf(tale));
  if (IsOpening(tale.kind) || tale.kind == Kind::kClosed) {
    sink->OnEvent(TransitionEvent(tale, clock));
  }
  if (tale.unstable) {
    sink->OnNote(UnstableNote(tale));
    sink->OnEvent(UnstableEvent(tale));
  }
}

std::string ShortSpan(Duration span) {
  const std::int64_t seconds = std::chrono::round<std::chrono::seconds>(span).count();
  std::string text;
  if (seconds >= 3600) text += fmt::format("{}h", seconds / 3600);
  if (seconds / 60 % 60 != 0) text += fmt::format("{}m", seconds / 60 % 60);
  if (seconds % 60 != 0 || text.empty()) text += fmt::format("{}s", seconds % 60);
  return text;
}

}  // namespace hotel::guard
