#include "libhotel/decide/verdict.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "fmt/format.h"
#include "libhotel/base/random.h"
#include "libhotel/decide/spans.h"
#include "libhotel/decide/terminal.h"

namespace hotel::decide {
namespace {

using Kind = AttemptEnd::Kind;

constexpr std::string_view kSuccess = "success";
constexpr std::string_view kRequestFailed = "upstream request failed";
constexpr std::string_view kFailedAfterHead = "response failed after headers";
constexpr std::string_view kProbeFailed = "TTFT probe failed";
constexpr std::string_view kStalled = "stream stalled";
constexpr std::string_view kSlow = "slow";
constexpr std::string_view kNoContent = "response completed without delivering content";
constexpr std::string_view kNoContentStream = "stream failed without delivering content";
constexpr std::string_view kNothingSaid = "answer without content";
constexpr std::string_view kUnreadable = "upstream body could not be translated";
constexpr std::string_view kHiddenError = "response carried an error instead of an answer";

enum class List { kNone, kNeutral, kOpen, kFailure };

List ListOf(int status, const CircuitBreakerSettings& settings) noexcept {
  if (settings.neutral_on_statuses.ContainsExactly(status)) return List::kNeutral;
  if (settings.open_on_statuses.ContainsExactly(status)) return List::kOpen;
  if (settings.failure_on_statuses.ContainsExactly(status)) return List::kFailure;
  if (settings.neutral_on_statuses.Contains(status)) return List::kNeutral;
  if (settings.open_on_statuses.Contains(status)) return List::kOpen;
  if (settings.failure_on_statuses.Contains(status)) return List::kFailure;
  return List::kNone;
}

CircuitReport Make(Verdict verdict, std::string_view cause, int status) {
  return CircuitReport{verdict, std::string(cause), status};
}

std::string StatusCause(int status, std::string_view qualifier) {
  return fmt::format("upstream status {} ({})", status, qualifier);
}

CircuitReport OpenNow(std::string cause, int status, std::optional<PinHint> pin) {
  CircuitReport report{Verdict::kOpenNow, std::move(cause), status};
  report.pin = pin;
  return report;
}

// Step 3: how long the answer holds; nullopt = it does not say, and the cooldown is enough.
std::optional<PinHint> PinOf(const AttemptEnd& end) noexcept {
  if (end.refusal.exhausted()) return PinHint{end.refusal.wait, end.refusal.account_wide};
  if (end.status == 402) return PinHint{kUntilPaidPin, false};
  if (end.refusal.stated) return PinHint{end.refusal.wait, false};
  if (end.retry_after) return PinHint{*end.retry_after, false};
  return std::nullopt;
}

// Step 4: what a 429 that was read says about the circuit; nullopt = go on with its status.
std::optional<CircuitReport> JudgeRefusal(const AttemptEnd& end,
                                          const CircuitBreakerSettings& settings) {
  const RefusalFacts& refusal = end.refusal;
  if (refusal.saturated()) {
    return Make(Verdict::kNeutral, StatusCause(end.status, "saturated"), end.status);
  }
  if (!refusal.exhausted()) return std::nullopt;
  if (!settings.open_on_exhaustion) {
    return Make(Verdict::kFailure, StatusCause(end.status, "exhausted, not opened by setting"),
                end.status);
  }
  return OpenNow(StatusCause(end.status, "exhausted"), end.status,
                 PinHint{refusal.wait, refusal.account_wide});
}

// Steps 2, 3, 4, 6 and 8 of the pipeline for an answer with an error status, real or hidden.
CircuitReport JudgeStatus(const AttemptEnd& end, bool hidden,
                          const CircuitBreakerSettings& settings, bool fails_over) {
  const int status = end.status;
  const std::string plain = fmt::format("upstream status {}", status);
  const List list = ListOf(status, settings);
  if (list == List::kNeutral) return Make(Verdict::kNeutral, plain, status);
  std::string charged = hidden ? std::string(kHiddenError) : plain;
  if (list == List::kOpen) {
    if (settings.open_on_exhaustion) {
      return OpenNow(std::move(charged), status, PinOf(end));
    }
    return Make(Verdict::kFailure,
                StatusCause(status, status == 402 ? "payment required, not opened by setting"
                                                  : "exhausted, not opened by setting"),
                status);
  }
  // Out of both lists, a 429 is like any other refusal of a healthy provider (decisions, 10).
  if (list == List::kFailure || fails_over) {
    if (const auto report = JudgeRefusal(end, settings)) return *report;
  }
  if (end.refusal.read == RefusalClass::kUnknown) charged = StatusCause(status, "unrecognised");
  switch (list) {
    case List::kNeutral:
    case List::kOpen:
      break;
    case List::kFailure:
      return Make(Verdict::kFailure, charged, status);
    case List::kNone:
      break;
  }
  // A redirect is no answer at all: nothing alive was proven (decisions, 10).
  if (IsRedirect(status)) return Make(Verdict::kFailure, charged, status);
  return Make(Verdict::kAlive, StatusCause(status, "alive"), status);
}

Finish GatewayAnswer(Finish::Reason reason, ErrorKind kind) noexcept {
  Finish finish;
  finish.how = Finish::How::kGatewayError;
  finish.reason = reason;
  finish.kind = kind;
  return finish;
}

}  // namespace

AttemptEnd Normalized(AttemptEnd end, bool committed) noexcept {
  if (end.kind == Kind::kStreamError && !committed) end.kind = Kind::kHiddenError;
  if (end.kind == Kind::kHttpError) {
    if (end.status >= 200 && end.status <= 299) {
      end.kind = Kind::kBadAnswer;
    } else if (end.status < 200 || end.status > 599) {
      end.kind = Kind::kTransport;
      end.transport = TransportError::kProtocol;
      end.phase = TransportPhase::kHead;
      end.status = 0;
    }
  }
  if (end.kind == Kind::kHiddenError || end.kind == Kind::kStreamError) {
    if (end.status < 400 || end.status > 599) end.status = 502;
  }
  return end;
}

namespace {

CircuitReport JudgeKind(const AttemptEnd& end, const CircuitBreakerSettings& settings,
                        bool fails_over) {
  switch (end.kind) {
    case Kind::kAnswer:
      return Make(Verdict::kSuccess, kSuccess, end.status);
    case Kind::kEmptyCharged:
    case Kind::kEmptyAnswer:
      return Make(Verdict::kFailure, kNoContent, end.status);
    case Kind::kEmptyStream:
      return Make(Verdict::kFailure, kNoContentStream, end.status);
    case Kind::kHttpError:
      return JudgeStatus(end, /*hidden=*/false, settings, fails_over);
    case Kind::kHiddenError:
    case Kind::kStreamError:
      return JudgeStatus(end, /*hidden=*/true, settings, fails_over);
    case Kind::kPassedOn:
      if (end.status < 300) return Make(Verdict::kSuccess, kSuccess, end.status);
      if (IsRedirect(end.status)) {  // 304: nothing has changed
        return Make(Verdict::kAlive, StatusCause(end.status, "alive"), end.status);
      }
      return JudgeStatus(end, /*hidden=*/false, settings, fails_over);
    case Kind::kNoContent:
      return Make(Verdict::kNeutral, kNothingSaid, end.status);
    case Kind::kBadAnswer:
      return Make(Verdict::kFailure, kUnreadable, end.status);
    case Kind::kTooLarge:
      return Make(Verdict::kNeutral, kFailedAfterHead, end.status);
    case Kind::kStreamCut:
      return Make(Verdict::kFailure, kFailedAfterHead, end.status);
    case Kind::kTransport:
      if (end.transport == TransportError::kLocal) return Make(Verdict::kAbandoned, "", 0);
      break;
  }
  return Make(Verdict::kFailure,
              end.phase == TransportPhase::kBody ? kFailedAfterHead : kRequestFailed, end.status);
}

}  // namespace

CircuitReport JudgeEnd(const AttemptEnd& end, const CircuitBreakerSettings& settings, Duration took,
                       bool fails_over) {
  CircuitReport report = JudgeKind(end, settings, fails_over);
  // Every charge of a 429 counts for the streak of openings by 429 alone (facts d).
  report.rate_limited =
      end.status == 429 && end.refusal.read.has_value() &&
      (report.verdict == Verdict::kFailure || report.verdict == Verdict::kOpenNow);
  if (report.verdict == Verdict::kSuccess && settings.slow_call_threshold > Duration::zero() &&
      took > settings.slow_call_threshold) {
    return Make(Verdict::kFailure, kSlow, end.status);
  }
  return report;
}

CircuitReport JudgeTimeout(TimeoutKind kind, bool committed, int status) {
  if (kind == TimeoutKind::kStall) return Make(Verdict::kFailure, kStalled, status);
  if (committed) return Make(Verdict::kFailure, kFailedAfterHead, status);
  return Make(Verdict::kFailure, kind == TimeoutKind::kFirstOutput ? kProbeFailed : kRequestFailed,
              status);
}

bool FailsOver(const AttemptEnd& end, const FailoverSettings& settings) noexcept {
  switch (end.kind) {
    case Kind::kAnswer:
    case Kind::kEmptyCharged:
    case Kind::kTooLarge:
    case Kind::kNoContent:
    case Kind::kPassedOn:
      return false;
    case Kind::kHttpError:
    case Kind::kHiddenError:
    case Kind::kStreamError:
      return IsRedirect(end.status) || settings.retry_on_statuses.Contains(end.status);
    case Kind::kBadAnswer:
    case Kind::kEmptyAnswer:
    case Kind::kEmptyStream:
    case Kind::kStreamCut:
    case Kind::kTransport:
      break;
  }
  return true;
}

bool IsPayloadStatus(int status) noexcept {
  if (status < 400 || status >= 500) return false;
  switch (status) {
    case 401:
    case 402:
    case 403:
    case 404:
    case 407:
    case 429:
    case 499:
      return false;
    default:
      return true;
  }
}

Finish FailureAnswer(const AttemptEnd& end, FailoverSettings::ErrorBody error_body,
                     TimePoint now) noexcept {
  const ErrorKind kind = KindOf(end);
  switch (end.kind) {
    case Kind::kTooLarge:
      return GatewayAnswer(Finish::Reason::kAnswerTooLarge, kind);
    case Kind::kHttpError:
    case Kind::kHiddenError:
    case Kind::kStreamError: {
      if (IsRedirect(end.status)) return GatewayAnswer(Finish::Reason::kAllFailed, kind);
      Finish finish = GatewayAnswer(Finish::Reason::kUpstreamStatus, kind);
      if (IsPayloadStatus(end.status) || error_body == FailoverSettings::ErrorBody::kProvider) {
        finish.how = Finish::How::kProviderError;
      }
      finish.status = end.status;
      // A hint the provider gave survives (F095); a busy one that gave none has its default.
      if (end.refusal.saturated()) {
        finish.retry_at = After(now, end.refusal.busy_wait());
      } else if (end.refusal.stated) {
        finish.retry_at = After(now, end.refusal.wait);
      } else if (end.retry_after && (end.status == 429 || end.status == 503)) {
        finish.retry_at = After(now, *end.retry_after);
      }
      return finish;
    }
    default:
      return GatewayAnswer(Finish::Reason::kAllFailed, kind);
  }
}

Finish FailureAnswer(TimeoutKind kind) noexcept {
  switch (kind) {
    case TimeoutKind::kOverall:
      return GatewayAnswer(Finish::Reason::kDeadline, KindOf(kind));
    case TimeoutKind::kAttempt:
      return GatewayAnswer(Finish::Reason::kAttemptTimeout, KindOf(kind));
    case TimeoutKind::kStall:
      return GatewayAnswer(Finish::Reason::kStreamIncomplete, KindOf(kind));
    case TimeoutKind::kHead:
    case TimeoutKind::kFirstOutput:
      break;
  }
  return GatewayAnswer(Finish::Reason::kAllFailed, KindOf(kind));
}

ErrorKind KindOf(const AttemptEnd& end) noexcept {
  switch (end.kind) {
    case Kind::kAnswer:
    case Kind::kEmptyCharged:
    case Kind::kNoContent:
      return ErrorKind::kNone;
    case Kind::kPassedOn:
      if (end.status < 400) return ErrorKind::kNone;
      [[fallthrough]];
    case Kind::kHttpError:
    case Kind::kHiddenError:
    case Kind::kStreamError:
      if (end.status != 429) return KindOfStatus(end.status);
      if (end.refusal.saturated()) return ErrorKind::kProviderSaturated;
      if (!end.refusal.exhausted()) return ErrorKind::kProviderError;
      return end.refusal.needs_payment ? ErrorKind::kProviderNotEntitled
                                       : ErrorKind::kProviderQuotaExhausted;
    case Kind::kTransport:
      return end.transport == TransportError::kLocal ? ErrorKind::kInternal
                                                     : ErrorKind::kProviderError;
    default:
      return ErrorKind::kProviderError;
  }
}

ErrorKind KindOf(TimeoutKind kind) noexcept {
  return kind == TimeoutKind::kOverall ? ErrorKind::kFailoverTimeout : ErrorKind::kProviderTimeout;
}

Duration FailoverBackoff(const FailoverSettings& settings, int contacted,
                         std::uint64_t* random) noexcept {
  const Duration initial = settings.backoff_initial;
  if (initial <= Duration::zero() || contacted < 1) return Duration::zero();
  const Duration max = settings.backoff_max;
  Duration pause = std::min(initial, max);
  // Stops at the ceiling instead of shifting, so that no count of candidates overflows.
  for (int i = 1; i < contacted && pause < max; ++i) {
    pause = pause > max / 2 ? max : pause * 2;
  }
  const auto jitter = base::RandomBelow(random, static_cast<std::uint64_t>(initial.count()));
  return Plus(pause, Duration(static_cast<Duration::rep>(jitter)));
}

}  // namespace hotel::decide
