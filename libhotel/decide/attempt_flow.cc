// Whose turn it is: the next candidate, the next runner of a race, the last one once more, the
// first slot that comes free, nobody.
#include <algorithm>
#include <utility>

#include "libhotel/base/random.h"
#include "libhotel/decide/attempt_machine.h"
#include "libhotel/decide/push.h"
#include "libhotel/decide/retry.h"
#include "libhotel/decide/spans.h"
#include "libhotel/decide/verdict.h"

namespace hotel::decide {
namespace {

using std::chrono::milliseconds;

// The pause in front of a last candidate's repeat: half a second, and up to as much again.
constexpr Duration kRepeatPause = milliseconds(500);

}  // namespace

void AttemptMachine::Next(TimePoint now, Actions* out) {
  // A question is open: its answer decides how it goes on.
  for (const Live& live : live_) {
    if (live.phase == Live::Phase::kAsked) return;
  }
  if (cursor_ >= static_cast<int>(plan_.candidates.size()) || !MayContactMore()) {
    if (live_.empty()) NobodyLeft(now, out);
    return;
  }
  if (OverallPassed(now)) return OverallTimedOut(now, out);
  if (pause_due_ && !racing_) {
    const Duration pause = FailoverBackoff(plan_.settings->failover, contacted_, &random_);
    pause_due_ = false;
    if (pause > Duration::zero()) {
      backoff_until_ = After(now, pause);
      return;
    }
  }
  Ask(cursor_++, out);
}

// B8, B12: skips do not count.
bool AttemptMachine::MayContactMore() const noexcept {
  const FailoverSettings& failover = plan_.settings->failover;
  if (contacted_ == 0) return true;
  if (!failover.enabled) return false;
  return failover.max_attempts == 0 || contacted_ <= failover.max_attempts;
}

void AttemptMachine::Ask(int candidate, Actions* out) {
  Live live;
  live.index = started_;
  live.candidate = candidate;
  live_.push_back(std::move(live));
  awaiting_ = false;
  hedge_at_.reset();
  Push(out, AskAdmission{started_, candidate});
}

// Time alone.
void AttemptMachine::MoveOn(TimePoint now, Actions* out) {
  if (backoff_until_ && now >= *backoff_until_) {
    backoff_until_.reset();
    return Next(now, out);
  }
  if (hedge_at_ && now >= *hedge_at_) {
    hedge_at_.reset();  // also when nobody more may join
    return Next(now, out);
  }
  if (repeat_at_ && now >= *repeat_at_ && live_.empty()) {
    repeat_at_.reset();
    slot_taken_ = false;  // when it is at its window again, it is waited for again
    return Ask(last_end_->candidate, out);
  }
  if (awaiting_ && now >= *slots_until_) FinalAnswer(now, out);
}

// Under `judge: first` only the first contacted candidate's error is judged (B11).
bool AttemptMachine::GoesOn(const Live& live, const AttemptEnd& end) const noexcept {
  if (plan_.settings->failover.judge == FailoverSettings::Judge::kFirst &&
      live.index != first_contact_ && end.kind != AttemptEnd::Kind::kTooLarge) {
    return true;
  }
  return FailsOver(end, settings(live).failover);
}

// Whether the last contacted candidate is to be asked once more: a transient server error, or a
// provider that is merely busy (facts a, "last candidate"). Once per request, never where status
// retries have done it already or it was a circuit's probe, and only when the deadline leaves room.
bool AttemptMachine::RepeatLast(TimePoint now) {
  if (repeated_ || !last_end_) return false;
  repeated_ = true;
  const AttemptEnd& end = last_end_->end;
  if (end.kind != AttemptEnd::Kind::kHttpError && end.kind != AttemptEnd::Kind::kHiddenError) {
    return false;
  }
  const RetrySettings& own =
      plan_.candidates[static_cast<std::size_t>(last_end_->candidate)].settings->retry;
  if (last_end_->probe || !plan_.replay_safe) return false;
  // A slot that was one too many: the window looked for a wider one. All else that comes of a slot
  // that was waited for is the answer (facts e).
  if (slot_taken_ && !end.refusal.saturated()) return false;
  if (own.max_retries > 0 && Repeatable(end, plan_.streaming, own)) return false;
  const FailoverSettings& failover = plan_.settings->failover;
  Duration wait;
  if (end.refusal.saturated() && failover.wait_saturated) {
    const Duration stated = end.refusal.busy_wait();
    wait = std::min(stated, plan_.settings->rate_limit.saturation_max_wait);
  } else if (end.status != 429 && failover.last_candidate_statuses.Contains(end.status)) {
    const auto extra =
        base::RandomBelow(&random_, static_cast<std::uint64_t>(kRepeatPause.count()));
    wait = kRepeatPause + Duration(static_cast<Duration::rep>(extra));
  } else {
    return false;
  }
  const TimePoint at = After(now, wait);
  if (overall_deadline_ && at >= *overall_deadline_) return false;
  repeat_at_ = at;
  return true;
}

void AttemptMachine::AwaitSlot(TimePoint now, Actions* out) {
  if (!slots_until_) {
    slots_until_ = After(now, plan_.settings->rate_limit.saturation_max_wait);
    // A repeat that is due behind it is waited for as well.
    if (repeat_at_) slots_until_ = std::max(*slots_until_, *repeat_at_);
    if (overall_deadline_) slots_until_ = std::min(*slots_until_, *overall_deadline_);
  }
  if (now >= *slots_until_) return FinalAnswer(now, out);
  awaiting_ = true;
  Push(out, WaitForSlot{busy_});
}

void AttemptMachine::NobodyLeft(TimePoint now, Actions* out) {
  racing_ = false;
  const bool repeats = RepeatLast(now) || repeat_at_.has_value();
  if (!busy_.empty() && !slot_taken_) return AwaitSlot(now, out);
  if (!repeats) FinalAnswer(now, out);
}

// The answer follows the last contacted attempt (seed 000, "How it works", step 6), but where
// somebody is merely busy, "retry shortly" is the truth.
void AttemptMachine::FinalAnswer(TimePoint now, Actions* out) {
  const bool honest = plan_.settings->failover.exhaustion_status_429;
  Finish finish;
  finish.how = Finish::How::kGatewayError;
  finish.kind = ErrorKind::kProviderError;
  if (!busy_.empty() && !slot_taken_ && (honest || !last_failure_)) {
    finish.kind = ErrorKind::kProviderSaturated;
    finish.reason = honest || plan_.direct ? Finish::Reason::kAllBusy : Finish::Reason::kNoProvider;
    finish.retry_at = After(now, busy_wait_.value_or(kSaturatedWait));
    return Done(finish, out);
  }
  if (last_failure_) return Done(*last_failure_, out);
  if (open_circuits_ > 0) {
    finish.retry_at = earliest_retry_;
    finish.kind = pinned_circuits_ == open_circuits_ && no_capacity_ == 0
                      ? ErrorKind::kProviderQuotaExhausted
                      : ErrorKind::kProviderSaturated;
    if (plan_.direct) {
      finish.reason = Finish::Reason::kCircuitOpen;
      finish.kind = ErrorKind::kProviderError;
    } else if (honest) {
      finish.reason = Finish::Reason::kAllCircuitsOpen;
    } else {
      finish.reason = Finish::Reason::kNoProvider;
      finish.kind = ErrorKind::kProviderError;
    }
  } else if (no_capacity_ > 0) {
    finish.reason = Finish::Reason::kCircuitCapacity;
  } else if (unsendable_) {
    finish.reason = Finish::Reason::kUnsendable;
    finish.kind = ErrorKind::kInternal;
  } else {
    finish.reason = Finish::Reason::kNoProvider;
  }
  Done(finish, out);
}

void AttemptMachine::NoteBusy(int candidate) {
  const auto at = std::lower_bound(busy_.begin(), busy_.end(), candidate);
  if (at == busy_.end() || *at != candidate) busy_.insert(at, candidate);
}

void AttemptMachine::Done(Finish finish, Actions* out) {
  phase_ = Phase::kFinished;
  finished_ = true;
  live_.clear();
  finish.attempt = last_contact_;
  finish.contacted = contacted_;
  Push(out, std::move(finish));
}

}  // namespace hotel::decide
