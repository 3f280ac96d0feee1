// Why a call did what it did, for the debug log: names, numbers and fixed words, never a prompt, an
// answer or a credential. Each line is put together only where its scope is asked for.
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "libhotel/route/call.h"

namespace hotel::route {
namespace {

constexpr std::string_view kResolve = "resolve";
constexpr std::string_view kProxy = "proxy";
constexpr std::string_view kBreaker = "circuit-breaker";

std::int64_t Milliseconds(Duration span) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
}

std::int64_t Count(std::size_t number) { return static_cast<std::int64_t>(number); }

std::string_view FormOf(std::string_view name, const Route& route) {
  if (name.substr(0, 6) == "hotel/") return "group";
  return route.direct ? "direct" : "virtual";
}

std::string_view EndName(decide::AttemptEnd::Kind kind) {
  using Kind = decide::AttemptEnd::Kind;
  switch (kind) {
    case Kind::kAnswer:
      return "answer";
    case Kind::kEmptyCharged:
      return "empty answer, served";
    case Kind::kHttpError:
      return "http error";
    case Kind::kHiddenError:
      return "error under a 200";
    case Kind::kBadAnswer:
      return "no completion";
    case Kind::kEmptyAnswer:
      return "empty answer";
    case Kind::kEmptyStream:
      return "empty stream";
    case Kind::kTooLarge:
      return "too large";
    case Kind::kTransport:
      return "transport";
    case Kind::kStreamCut:
      return "stream cut";
    case Kind::kStreamError:
      return "error in the stream";
    case Kind::kNoContent:
      return "no content";
    case Kind::kPassedOn:
      return "passed on";
  }
  return "";
}

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSuccess:
      return "success";
    case Verdict::kAlive:
      return "alive";
    case Verdict::kFailure:
      return "failure";
    case Verdict::kOpenNow:
      return "open_now";
    case Verdict::kNeutral:
      return "neutral";
    case Verdict::kAbandoned:
      return "abandoned";
  }
  return "";
}

}  // namespace

/// A line about a candidate, or about none.
class CallState::DebugLine {
 public:
  DebugLine(const CallState& call, std::string_view source, std::string_view message)
      : call_(call) {
    note_.debug = true;
    note_.source = source;
    note_.message = message;
    Text("request", call.request_id());
  }
  ~DebugLine() { call_.deps_.events->OnNote(note_); }
  DebugLine(const DebugLine&) = delete;
  DebugLine& operator=(const DebugLine&) = delete;

  DebugLine& Text(const char* name, std::string_view value) {
    note_.attributes.emplace_back(name, std::string(value));
    return *this;
  }
  DebugLine& Number(const char* name, std::int64_t value) {
    note_.attributes.emplace_back(name, value);
    return *this;
  }
  DebugLine& Flag(const char* name, bool value) {
    note_.attributes.emplace_back(name, value);
    return *this;
  }
  DebugLine& About(const Candidate& candidate) {
    return Text("provider", candidate.provider->routing_name).Text("model", candidate.model);
  }

 private:
  const CallState& call_;
  LogNote note_;
};

bool CallState::Explains(std::string_view source) const {
  return deps_.events != nullptr && deps_.events->WantsDebug(source);
}

void CallState::ExplainRoute() const {
  if (!Explains(kResolve)) return;
  DebugLine line(*this, kResolve, route_.refusal ? "name leads nowhere" : "name resolved");
  line.Text("name", peek_->model).Text("endpoint", EndpointName(request_.endpoint));
  if (route_.refusal) {
    line.Text("code", route_.refusal->code);
  } else {
    line.Text("form", FormOf(peek_->model, route_));
  }
  line.Number("candidates", Count(route_.candidates.size()))
      .Number("breaker_skips", Count(route_.skipped.size()))
      .Number("unfit", Count(route_.unfit.size()))
      .Number("generation", static_cast<std::int64_t>(snapshot_->generation()));
  std::string order;
  for (const Candidate& candidate : route_.candidates) {
    if (!order.empty()) order += ", ";
    order += candidate.provider->routing_name + "/" + candidate.model;
  }
  if (!order.empty()) line.Text("order", order);
}

void CallState::ExplainStart(const Attempt& attempt, Duration connect_timeout) const {
  if (!Explains(kProxy)) return;
  const bool first = attempt.tries() == 1;
  DebugLine line(*this, kProxy, first ? "attempt started" : "try repeated");
  line.About(attempt.candidate())
      .Number("attempt", attempt.index() + 1)
      .Number("try", attempt.tries())
      .Flag("probe", attempt.permit.probe())
      .Number("connect_timeout_ms", Milliseconds(connect_timeout))
      .Number("body_bytes", Count(request_.body->size()));
}

void CallState::ExplainEnd(const Attempt& attempt, const decide::AttemptEnd& end) const {
  if (!Explains(kProxy)) return;
  DebugLine line(*this, kProxy, "try ended");
  line.About(attempt.candidate())
      .Number("attempt", attempt.index() + 1)
      .Number("try", attempt.tries())
      .Text("outcome", EndName(end.kind));
  if (end.status != 0) line.Number("status", end.status);
  if (end.kind == decide::AttemptEnd::Kind::kTransport) {
    line.Text("transport", TransportErrorName(end.transport));
  }
  if (end.refusal.read) {
    line.Text("rate_limit_class", RefusalClassName(*end.refusal.read))
        .Flag("recent_success", end.refusal.recent_success)
        .Number("wait_ms", Milliseconds(end.refusal.wait));
  }
  if (end.retry_after) line.Number("retry_after_ms", Milliseconds(*end.retry_after));
}

void CallState::ExplainRetryWait(int attempt) const {
  if (!Explains(kProxy) || finished()) return;
  const auto at = machine_->next_try(attempt);
  if (!at) return;
  const Attempt& waiting = *attempts_[static_cast<std::size_t>(attempt)];
  DebugLine line(*this, kProxy, "waiting before the next try");
  line.About(waiting.candidate())
      .Number("attempt", attempt + 1)
      .Number("try", waiting.tries() + 1)
      .Number("wait_ms", Milliseconds(*at - deps_.loop->Now()));
}

void CallState::ExplainSlotWait(std::size_t candidates) const {
  if (!Explains(kProxy)) return;
  DebugLine line(*this, kProxy, "waiting for a slot");
  line.Number("candidates", Count(candidates));
}

void CallState::ExplainRefusal(const Candidate& candidate, Refusal refusal,
                               TimePoint retry_at) const {
  if (!Explains(kBreaker)) return;
  DebugLine line(*this, kBreaker, "permit refused");
  line.About(candidate)
      .Text("reason", RefusalName(refusal))
      .Number("retry_in_ms", Milliseconds(retry_at - deps_.loop->Now()));
}

void CallState::ExplainVerdict(const Attempt& attempt, const CircuitReport& report) const {
  if (!Explains(kBreaker)) return;
  DebugLine line(*this, kBreaker, "verdict");
  line.About(attempt.candidate())
      .Number("attempt", attempt.index() + 1)
      .Text("verdict", VerdictName(report.verdict))
      .Text("effect", BreakerEffectName(attempt.record.breaker));
  if (!report.cause.empty()) line.Text("cause", report.cause);
  if (report.status != 0) line.Number("status", report.status);
  if (report.pin) {
    line.Number("pin_ms", Milliseconds(report.pin->duration)).Flag("account", report.pin->account);
  }
}

void CallState::ExplainFinish() const {
  if (!Explains(kProxy)) return;
  DebugLine line(*this, kProxy, "request ended");
  line.Number("status", record_.status);
  if (!record_.provider.empty()) line.Text("provider", record_.provider);
  if (record_.error_kind != ErrorKind::kNone) {
    line.Text("error_kind", ErrorKindName(record_.error_kind));
  }
  line.Number("attempts", contacted_).Number("duration_ms", Milliseconds(record_.duration));
}

}  // namespace hotel::route
