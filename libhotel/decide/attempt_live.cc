// One attempt of a request: its tries, its clocks, its verdict.
#include <algorithm>
#include <utility>

#include "libhotel/decide/attempt_machine.h"
#include "libhotel/decide/push.h"
#include "libhotel/decide/retry.h"
#include "libhotel/decide/spans.h"
#include "libhotel/decide/verdict.h"

namespace hotel::decide {
namespace {

using Kind = AttemptEnd::Kind;

// Behind this many frames a stream has shown that it works, and longer pauses are let pass (facts
// f).
constexpr std::uint64_t kTrustedFrames = 50;

// A 2xx read to its end, whatever was in it.
bool IsClean(const AttemptEnd& end) noexcept {
  return end.kind == Kind::kAnswer || end.kind == Kind::kEmptyCharged ||
         end.kind == Kind::kEmptyAnswer || end.kind == Kind::kBadAnswer ||
         end.kind == Kind::kNoContent ||
         (end.kind == Kind::kPassedOn && end.status >= 200 && end.status <= 299);
}

// What the client gets as its answer.
bool IsServed(const AttemptEnd& end) noexcept {
  return end.kind == Kind::kAnswer || end.kind == Kind::kEmptyCharged ||
         end.kind == Kind::kNoContent || end.kind == Kind::kPassedOn;
}

}  // namespace

// The time of one attempt.
Duration AttemptMachine::AttemptLimit(const TimeoutSettings& timeouts) const noexcept {
  const bool is_long = plan_.streaming || plan_.long_running;
  return Times(timeouts.request_timeout, is_long ? timeouts.long_factor : 1);
}

// The first deadline of a live attempt. Of several at one instant the wider one wins when it is the
// request's, the more telling one otherwise.
AttemptMachine::Deadline AttemptMachine::NextDeadline(const Live& live) const {
  const TimeoutSettings& timeouts = settings(live).timeouts;
  Deadline first{After(live.start, AttemptLimit(timeouts)), TimeoutKind::kAttempt};
  const auto consider = [&](TimePoint from, Duration span, TimeoutKind kind) {
    if (span <= Duration::zero()) return;
    const TimePoint at = After(from, span);
    if (at <= first.at) first = Deadline{at, kind};
  };
  if (live.phase == Live::Phase::kRunning && committed_ == live.index) {
    consider(last_progress_,
             Times(timeouts.stream_stall_timeout,
                   frames_ > kTrustedFrames ? timeouts.stream_stall_factor : 1),
             TimeoutKind::kStall);
  } else if (live.phase == Live::Phase::kRunning) {
    if (plan_.streaming) {
      consider(live.try_start, timeouts.ttft_timeout, TimeoutKind::kFirstOutput);
    }
    if (!live.head_seen) {
      consider(live.try_start, timeouts.upstream_header_timeout, TimeoutKind::kHead);
    }
  }
  if (overall_deadline_ && *overall_deadline_ <= first.at) {
    first = Deadline{*overall_deadline_, TimeoutKind::kOverall};
  }
  return first;
}

// --- one attempt ------------------------------------------------------------------------------

void AttemptMachine::StartTry(Live& live, TimePoint now, Actions* out) {
  live.phase = Live::Phase::kRunning;
  live.try_start = now;
  live.head_seen = false;
  live.head_status = 0;
  live.first_event.reset();
  const Duration left = NextDeadline(live).at - now;
  Push(out, StartAttempt{live.index, live.candidate,
                         std::min(settings(live).timeouts.connect_timeout, left)});
}

bool AttemptMachine::HasFurtherTry(const Live& live, const AttemptEnd& end) const noexcept {
  const RetrySettings& retry = settings(live).retry;
  if (committed() || live.probe || live.repeats >= retry.max_retries) return false;
  const bool unsent = end.kind == Kind::kTransport && end.phase == TransportPhase::kNotSent;
  if (!plan_.replay_safe && !unsent) return false;
  return Repeatable(end, plan_.streaming, retry);
}

std::optional<TimePoint> AttemptMachine::next_try(int attempt) const noexcept {
  const Live* const live = finished_ ? nullptr : Find(attempt);
  if (live == nullptr || live->phase != Live::Phase::kBetweenTries) return std::nullopt;
  return live->try_start;
}

bool AttemptMachine::MayRepeat(int attempt, int status) const noexcept {
  const Live* live = Find(attempt);
  AttemptEnd refusal;
  refusal.kind = Kind::kHttpError;
  refusal.status = status;
  return live != nullptr && HasFurtherTry(*live, refusal);
}

// Also without a pause the next try is for the next Wake: the exchange that has ended is still on
// the stack.
bool AttemptMachine::TryAgainLater(Live& live, const AttemptEnd& end, TimePoint now) {
  if (!HasFurtherTry(live, end)) return false;
  const auto wait = RetryWait(settings(live).retry, live.repeats + 1, end.retry_after, &random_);
  if (!wait) return false;
  live.phase = Live::Phase::kBetweenTries;
  live.try_start = After(now, *wait);
  if (live.try_start >= NextDeadline(live).at) {
    live.phase = Live::Phase::kRunning;
    return false;
  }
  ++live.repeats;
  live.last_try = end;
  return true;
}

CircuitReport AttemptMachine::Judge(const Live& live, const AttemptEnd& end, TimePoint now) const {
  const CircuitBreakerSettings& breaker = settings(live).circuit_breaker;
  return JudgeEnd(end, breaker, live.first_event.value_or(now) - live.start,
                  FailsOver(end, settings(live).failover));
}

// What a clock says about an attempt. Only the terminator is missing: the answer is whole
// (decisions, section 5).
CircuitReport AttemptMachine::JudgeClock(const Live& live, TimeoutKind kind, TimePoint now) const {
  if (!committed() || !whole_) return JudgeTimeout(kind, committed(), live.head_status);
  AttemptEnd whole;
  whole.status = live.head_status;
  return Judge(live, whole, now);
}

// The end of the last try is the end of the attempt.
void AttemptMachine::Settle(Live live, const AttemptEnd& end, TimePoint now, Actions* out) {
  last_contact_ = live.index;
  ReportVerdict verdict{live.index, Judge(live, end, now), KindOf(end)};
  verdict.settled = live.settled;
  verdict.clean = IsClean(end);
  verdict.hedged = racing_;
  if (end.refusal.saturated() && verdict.report.verdict == Verdict::kNeutral) {
    verdict.cut = end.refusal.busy_wait();
    busy_wait_ = std::min(busy_wait_.value_or(*verdict.cut), *verdict.cut);
  }
  Push(out, std::move(verdict));
  if (committed_ == live.index) return EndedBehindCommit(end, out);
  if (IsServed(end)) {
    StopOthers(live.index, ErrorKind::kHedgeSuperseded, out);
    committed_ = live.index;
    Push(out, Commit{live.index});
    return EndedBehindCommit(end, out);
  }
  last_failure_ = FailureAnswer(end, plan_.settings->failover.error_body, now);
  last_end_ = LastEnd{live.candidate, live.probe, end};
  if (!GoesOn(live, end)) {
    StopOthers(live.index, ErrorKind::kHedgeSuperseded, out);
    return Done(*last_failure_, out);
  }
  pause_due_ = true;
  Next(now, out);
}

void AttemptMachine::EndedBehindCommit(const AttemptEnd& end, Actions* out) {
  Finish finish;
  finish.kind = KindOf(end);
  switch (end.kind) {
    case Kind::kAnswer:
    case Kind::kEmptyCharged:
    case Kind::kNoContent:
    case Kind::kPassedOn:
      finish.how = Finish::How::kServed;
      finish.status = end.status;
      break;
    case Kind::kStreamError:
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

void AttemptMachine::TimedOut(const Live& live, TimeoutKind kind, TimePoint now, Actions* out) {
  last_timeout_ = kind;
  if (StopOverdue(live, kind, now, out)) return EndedBehindCommit(AttemptEnd{}, out);
  Finish failure = FailureAnswer(kind);
  if (committed()) {
    failure.how = Finish::How::kServedBroken;
    return Done(failure, out);
  }
  last_failure_ = failure;
  last_end_.reset();
  pause_due_ = true;
  Next(now, out);
}

void AttemptMachine::OverallTimedOut(TimePoint now, Actions* out) {
  last_timeout_ = TimeoutKind::kOverall;
  for (const Live& live : std::exchange(live_, {})) {
    if (live.phase == Live::Phase::kAsked) continue;
    if (StopOverdue(live, TimeoutKind::kOverall, now, out)) {
      return EndedBehindCommit(AttemptEnd{}, out);
    }
  }
  Finish failure = FailureAnswer(TimeoutKind::kOverall);
  if (committed()) failure.how = Finish::How::kServedBroken;
  Done(failure, out);
}

// True when what it has delivered is a whole answer.
bool AttemptMachine::StopOverdue(const Live& live, TimeoutKind kind, TimePoint now, Actions* out) {
  const bool whole = committed() && whole_;
  last_contact_ = live.index;
  Push(out, CancelAttempt{live.index});
  Report(live, JudgeClock(live, kind, now), whole ? ErrorKind::kNone : KindOf(kind), out);
  return whole;
}

// Whoever was over a limit before the client left is charged all the same (decisions, section 10).
void AttemptMachine::ChargeOverdue(TimePoint now, Actions* out) {
  if (paused_at_) return;
  for (const Live& live : std::exchange(live_, {})) {
    const bool overdue = live.phase != Live::Phase::kAsked && NextDeadline(live).at <= now;
    if (!overdue) {
      live_.push_back(live);
      continue;
    }
    StopOverdue(live, NextDeadline(live).kind, now, out);
  }
}

void AttemptMachine::Abandon(const Live& live, ErrorKind kind, Actions* out) {
  Report(live, CircuitReport{Verdict::kAbandoned, "", live.head_status}, kind, out);
}

// All but `winner`; a question stays open, its permit is given back when it is answered.
void AttemptMachine::StopOthers(int winner, ErrorKind kind, Actions* out) {
  hedge_at_.reset();
  for (const Live& live : std::exchange(live_, {})) {
    if (live.index == winner || live.phase == Live::Phase::kAsked) {
      live_.push_back(live);
      continue;
    }
    if (winner < 0) last_contact_ = live.index;
    Push(out, CancelAttempt{live.index});
    Abandon(live, kind, out);
  }
}

void AttemptMachine::Report(const Live& live, CircuitReport report, ErrorKind kind, Actions* out) {
  ReportVerdict verdict{live.index, std::move(report), kind};
  verdict.settled = live.settled;
  verdict.hedged = racing_;
  Push(out, std::move(verdict));
}

}  // namespace hotel::decide
