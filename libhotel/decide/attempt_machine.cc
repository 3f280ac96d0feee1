#include "libhotel/decide/attempt_machine.h"

#include <algorithm>
#include <utility>

#include "libhotel/decide/retry.h"
#include "libhotel/decide/spans.h"
#include "libhotel/decide/verdict.h"

namespace hotel::decide {
namespace {

Duration AttemptLimit(const TimeoutSettings& timeouts, bool streaming) noexcept {
  return Times(timeouts.request_timeout, streaming ? timeouts.long_factor : 1);
}

// In place: moving a whole Action makes GCC 12 suspect the alternatives that are not there.
template <typename T>
void Push(std::vector<Action>* out, T action) {
  out->emplace_back(std::in_place_type<T>, std::move(action));
}

void KeepEarlier(std::optional<TimePoint>* kept, TimePoint other) noexcept {
  if (!kept->has_value() || other < **kept) *kept = other;
}

}  // namespace

AttemptMachine::AttemptMachine(Plan plan)
    : plan_(std::move(plan)),
      random_(plan_.seed),
      open_circuits_(plan_.skipped_open),
      earliest_retry_(plan_.earliest_retry) {
  const TimeoutSettings& timeouts = plan_.settings->timeouts;
  if (timeouts.deadline_factor > 0) {
    overall_deadline_ = After(
        plan_.arrival, Times(AttemptLimit(timeouts, plan_.streaming), timeouts.deadline_factor));
  }
}

void AttemptMachine::Handle(const Event& event, TimePoint now, Actions* out) {
  if (finished_) return;
  std::visit([&](const auto& e) { On(e, now, out); }, event);
}

std::optional<TimePoint> AttemptMachine::next_wake() const {
  if (paused_at_) return std::nullopt;
  switch (phase_) {
    case Phase::kIdle:
    case Phase::kFinished:
      return std::nullopt;
    case Phase::kAdmission:
      return overall_deadline_;
    case Phase::kBackoff:
      return overall_deadline_ ? std::min(*overall_deadline_, backoff_until_) : backoff_until_;
    case Phase::kBetweenTries:
      return std::min(NextDeadline().at, attempt_.try_start);
    case Phase::kRunning:
      break;
  }
  return NextDeadline().at;
}

// --- events ---------------------------------------------------------------------------------

void AttemptMachine::On(const Begin&, TimePoint now, Actions* out) {
  if (phase_ == Phase::kIdle) Next(now, out);
}

void AttemptMachine::On(const Admitted& event, TimePoint now, Actions* out) {
  if (phase_ != Phase::kAdmission || event.attempt != attempt_.index) return;
  if (OverallPassed(now)) {
    Abandon(ErrorKind::kFailoverTimeout, out);
    last_timeout_ = TimeoutKind::kOverall;
    return Done(FailureAnswer(TimeoutKind::kOverall), out);
  }
  attempt_.start = now;
  attempt_.probe = event.probe;
  ++started_;
  ++contacted_;
  last_timeout_.reset();
  StartTry(now, out);
}

void AttemptMachine::On(const Refused& event, TimePoint now, Actions* out) {
  if (phase_ != Phase::kAdmission || event.attempt != attempt_.index) return;
  ++open_circuits_;
  KeepEarlier(&earliest_retry_, event.retry_at);
  Next(now, out);
}

void AttemptMachine::On(const HeadSeen& event, TimePoint, Actions*) {
  if (!Running(event.attempt)) return;
  attempt_.head_seen = true;
  attempt_.head_status = event.status;
}

void AttemptMachine::On(const FirstOutput& event, TimePoint, Actions* out) {
  if (!Running(event.attempt) || !plan_.streaming || committed_) return;
  attempt_.head_seen = true;
  committed_ = true;
  last_contact_ = attempt_.index;
  Push(out, Commit{attempt_.index});
}

void AttemptMachine::On(const Ended& event, TimePoint now, Actions* out) {
  if (!Running(event.attempt)) return;
  const AttemptEnd end = Normalized(event.end, committed_);
  if (!TryAgainLater(end, now)) Settle(end, now, out);
}

// The end of the last try is the end of the attempt.
void AttemptMachine::Settle(const AttemptEnd& end, TimePoint now, Actions* out) {
  last_contact_ = attempt_.index;
  Report(JudgeEnd(end, settings().circuit_breaker), KindOf(end), out);
  if (committed_) return EndedBehindCommit(end, out);
  if (end.kind == AttemptEnd::Kind::kAnswer || end.kind == AttemptEnd::Kind::kEmptyCharged) {
    committed_ = true;
    Push(out, Commit{attempt_.index});
    return EndedBehindCommit(end, out);
  }
  last_failure_ = FailureAnswer(end);
  if (!FailsOver(end, settings().failover)) return NobodyLeft(out);
  pause_due_ = true;
  Next(now, out);
}

void AttemptMachine::On(const Unsendable& event, TimePoint now, Actions* out) {
  if (!Running(event.attempt) || committed_) return;
  // Once a try went out, the attempt ended the way that one did.
  if (attempt_.repeats > 0) return Settle(attempt_.last_try, now, out);
  Abandon(ErrorKind::kInternal, out);
  --contacted_;
  unsendable_ = true;
  Next(now, out);
}

void AttemptMachine::On(const ClientGone&, TimePoint, Actions* out) {
  if (Live()) {
    last_contact_ = attempt_.index;
    Push(out, CancelAttempt{attempt_.index});
    Abandon(ErrorKind::kClientDisconnect, out);
  }
  Finish finish;
  finish.how = Finish::How::kClientGone;
  finish.kind = ErrorKind::kClientDisconnect;
  Done(finish, out);
}

void AttemptMachine::On(const Shutdown&, TimePoint, Actions* out) {
  if (Live()) {
    last_contact_ = attempt_.index;
    Push(out, CancelAttempt{attempt_.index});
    Abandon(ErrorKind::kInternal, out);
  }
  Finish finish;
  finish.how = committed_ ? Finish::How::kServedBroken : Finish::How::kGatewayError;
  finish.reason = Finish::Reason::kShutdown;
  finish.kind = ErrorKind::kInternal;
  Done(finish, out);
}

// Deadlines stand still while the client holds up its own stream; whoever serves the client bounds
// that.
void AttemptMachine::On(const ClientPaused& event, TimePoint now, Actions*) {
  if (!committed_ || event.paused == paused_at_.has_value()) return;
  if (event.paused) {
    paused_at_ = now;
    return;
  }
  const Duration held = now - *paused_at_;
  paused_at_.reset();
  attempt_.start = After(attempt_.start, held);
  if (overall_deadline_) overall_deadline_ = After(*overall_deadline_, held);
}

void AttemptMachine::On(const Wake&, TimePoint now, Actions* out) {
  if (phase_ == Phase::kIdle || paused_at_) return;
  if (OverallPassed(now)) return TimedOut(TimeoutKind::kOverall, now, out);
  if (phase_ == Phase::kBackoff && now >= backoff_until_) return Ask(out);
  if (!Live()) return;
  const Deadline deadline = NextDeadline();
  if (now >= deadline.at) return TimedOut(deadline.kind, now, out);
  if (phase_ == Phase::kBetweenTries && now >= attempt_.try_start) StartTry(now, out);
}

// --- decisions ------------------------------------------------------------------------------

bool AttemptMachine::Running(int attempt) const noexcept {
  return phase_ == Phase::kRunning && attempt == attempt_.index;
}

bool AttemptMachine::Live() const noexcept {
  return phase_ == Phase::kRunning || phase_ == Phase::kBetweenTries;
}

bool AttemptMachine::OverallPassed(TimePoint now) const noexcept {
  return overall_deadline_.has_value() && now >= *overall_deadline_;
}

const EngineSettings& AttemptMachine::settings() const noexcept {
  return *plan_.candidates[static_cast<std::size_t>(candidate_)].settings;
}

// The first deadline of the live attempt. Of several at one instant the wider one wins when it
// is the request's, the more telling one otherwise.
AttemptMachine::Deadline AttemptMachine::NextDeadline() const {
  const TimeoutSettings& timeouts = settings().timeouts;
  Deadline first{After(attempt_.start, AttemptLimit(timeouts, plan_.streaming)),
                 TimeoutKind::kAttempt};
  const auto consider = [&](TimePoint at, TimeoutKind kind) {
    if (at <= first.at) first = Deadline{at, kind};
  };
  if (phase_ == Phase::kRunning && !committed_ && plan_.streaming &&
      timeouts.ttft_timeout > Duration::zero()) {
    consider(After(attempt_.try_start, timeouts.ttft_timeout), TimeoutKind::kFirstOutput);
  }
  if (phase_ == Phase::kRunning && !attempt_.head_seen &&
      timeouts.upstream_header_timeout > Duration::zero()) {
    consider(After(attempt_.try_start, timeouts.upstream_header_timeout), TimeoutKind::kHead);
  }
  if (overall_deadline_) consider(*overall_deadline_, TimeoutKind::kOverall);
  return first;
}

void AttemptMachine::Next(TimePoint now, Actions* out) {
  ++candidate_;
  if (candidate_ >= static_cast<int>(plan_.candidates.size())) return NobodyLeft(out);
  if (OverallPassed(now)) {
    last_timeout_ = TimeoutKind::kOverall;
    return Done(FailureAnswer(TimeoutKind::kOverall), out);
  }
  if (pause_due_) {
    pause_due_ = false;
    const Duration pause = FailoverBackoff(plan_.settings->failover, contacted_, &random_);
    if (pause > Duration::zero()) {
      backoff_until_ = After(now, pause);
      phase_ = Phase::kBackoff;
      return;
    }
  }
  Ask(out);
}

void AttemptMachine::Ask(Actions* out) {
  phase_ = Phase::kAdmission;
  attempt_ = Attempt{};
  attempt_.index = started_;
  Push(out, AskAdmission{attempt_.index, candidate_});
}

void AttemptMachine::StartTry(TimePoint now, Actions* out) {
  phase_ = Phase::kRunning;
  attempt_.try_start = now;
  attempt_.head_seen = false;
  attempt_.head_status = 0;
  const Duration left = NextDeadline().at - now;
  Push(out, StartAttempt{attempt_.index, candidate_,
                         std::min(settings().timeouts.connect_timeout, left)});
}

// Also without a pause the next try is for the next Wake: the exchange that has ended is still on
// the stack.
bool AttemptMachine::TryAgainLater(const AttemptEnd& end, TimePoint now) {
  const RetrySettings& retry = settings().retry;
  if (committed_ || attempt_.probe || attempt_.repeats >= retry.max_retries ||
      !Repeatable(end, plan_.streaming, retry)) {
    return false;
  }
  phase_ = Phase::kBetweenTries;
  attempt_.try_start = After(now, RetryBackoff(retry, attempt_.repeats + 1, &random_));
  if (attempt_.try_start >= NextDeadline().at) {
    phase_ = Phase::kRunning;
    return false;
  }
  ++attempt_.repeats;
  attempt_.last_try = end;
  return true;
}

// The answer follows the last contacted attempt (seed 000, "How it works", step 6).
void AttemptMachine::NobodyLeft(Actions* out) {
  if (last_failure_) return Done(*last_failure_, out);
  Finish finish;
  finish.how = Finish::How::kGatewayError;
  if (open_circuits_ > 0 && plan_.settings->failover.exhaustion_status_429) {
    finish.reason = Finish::Reason::kAllCircuitsOpen;
    finish.kind = ErrorKind::kProviderSaturated;
    finish.retry_at = earliest_retry_;
  } else if (open_circuits_ == 0 && unsendable_) {
    finish.reason = Finish::Reason::kUnsendable;
    finish.kind = ErrorKind::kInternal;
  } else {
    finish.reason = Finish::Reason::kNoProvider;
    finish.kind = ErrorKind::kProviderError;
  }
  Done(finish, out);
}

void AttemptMachine::EndedBehindCommit(const AttemptEnd& end, Actions* out) {
  Finish finish;
  finish.kind = KindOf(end);
  switch (end.kind) {
    case AttemptEnd::Kind::kAnswer:
    case AttemptEnd::Kind::kEmptyCharged:
      finish.how = Finish::How::kServed;
      break;
    case AttemptEnd::Kind::kStreamError:
      finish.how = Finish::How::kServedError;
      finish.status = end.status;
      break;
    default:
      finish.how = Finish::How::kServedBroken;
      finish.reason = Finish::Reason::kStreamIncomplete;
      break;
  }
  Done(finish, out);
}

void AttemptMachine::TimedOut(TimeoutKind kind, TimePoint now, Actions* out) {
  last_timeout_ = kind;
  Finish failure = FailureAnswer(kind);
  if (Live()) {
    last_contact_ = attempt_.index;
    Push(out, CancelAttempt{attempt_.index});
    Report(JudgeTimeout(kind, committed_, attempt_.head_status), KindOf(kind), out);
    if (committed_) {
      failure.how = Finish::How::kServedBroken;
    } else if (kind != TimeoutKind::kOverall) {
      last_failure_ = failure;
      pause_due_ = true;
      return Next(now, out);
    }
  }
  Done(failure, out);
}

void AttemptMachine::Abandon(ErrorKind kind, Actions* out) {
  Report(CircuitReport{Verdict::kAbandoned, "", attempt_.head_status}, kind, out);
}

void AttemptMachine::Report(CircuitReport report, ErrorKind kind, Actions* out) {
  Push(out, ReportVerdict{attempt_.index, std::move(report), kind});
}

void AttemptMachine::Done(Finish finish, Actions* out) {
  phase_ = Phase::kFinished;
  finished_ = true;
  finish.attempt = last_contact_;
  finish.contacted = contacted_;
  Push(out, std::move(finish));
}

}  // namespace hotel::decide
