#include "libhotel/decide/attempt_machine.h"

#include <algorithm>
#include <utility>

#include "libhotel/decide/push.h"
#include "libhotel/decide/spans.h"
#include "libhotel/decide/verdict.h"

namespace hotel::decide {
namespace {

void KeepEarlier(std::optional<TimePoint>* kept, TimePoint other) noexcept {
  if (!kept->has_value() || other < **kept) *kept = other;
}

}  // namespace

AttemptMachine::AttemptMachine(Plan plan)
    : plan_(std::move(plan)),
      random_(plan_.seed),
      racing_(plan_.streaming && plan_.races && !plan_.direct && plan_.candidates.size() > 1 &&
              plan_.settings->hedging.enabled),
      open_circuits_(plan_.skipped_open),
      pinned_circuits_(plan_.skipped_pinned),
      earliest_retry_(plan_.earliest_retry) {
  const TimeoutSettings& timeouts = plan_.settings->timeouts;
  if (timeouts.deadline_factor > 0) {
    overall_deadline_ =
        After(plan_.arrival, Times(AttemptLimit(timeouts), timeouts.deadline_factor));
  }
}

void AttemptMachine::Handle(const Event& event, TimePoint now, Actions* out) {
  if (finished_) return;
  std::visit([&](const auto& e) { On(e, now, out); }, event);
}

std::optional<TimePoint> AttemptMachine::next_wake() const {
  if (phase_ != Phase::kWorking || paused_at_) return std::nullopt;
  std::optional<TimePoint> wake = overall_deadline_;
  const auto consider = [&](const std::optional<TimePoint>& at) {
    if (at) KeepEarlier(&wake, *at);
  };
  for (const Live& live : live_) {
    if (live.phase == Live::Phase::kAsked) continue;
    consider(NextDeadline(live).at);
    if (live.phase == Live::Phase::kBetweenTries) consider(live.try_start);
  }
  consider(backoff_until_);
  consider(hedge_at_);
  if (live_.empty()) consider(repeat_at_);  // an open question comes first
  if (awaiting_) consider(slots_until_);
  return wake;
}

// --- events ---------------------------------------------------------------------------------

void AttemptMachine::On(const Begin&, TimePoint now, Actions* out) {
  if (phase_ != Phase::kIdle) return;
  phase_ = Phase::kWorking;
  Next(now, out);
}

void AttemptMachine::On(const Admitted& event, TimePoint now, Actions* out) {
  Live* live = Asked(event.attempt);
  if (live == nullptr) return;
  if (committed() || OverallPassed(now)) {
    Abandon(*live, committed() ? ErrorKind::kHedgeSuperseded : ErrorKind::kFailoverTimeout, out);
    Remove(event.attempt);
    if (!committed()) OverallTimedOut(now, out);
    return;
  }
  live->start = now;
  live->probe = event.probe;
  ++started_;
  ++contacted_;
  if (first_contact_ < 0) first_contact_ = live->index;
  last_timeout_.reset();
  if (live->candidate == slot_for_) {
    // What comes of this one is the answer: whoever waited for a slot does not begin anew.
    slot_taken_ = true;
    repeat_at_.reset();
  }
  if (racing_ && cursor_ < static_cast<int>(plan_.candidates.size())) {
    hedge_at_ = After(now, std::max(plan_.settings->hedging.delay, kMinHedgeDelay));
  }
  StartTry(*live, now, out);
}

void AttemptMachine::On(const Refused& event, TimePoint now, Actions* out) {
  const Live* live = Asked(event.attempt);
  if (live == nullptr) return;
  const int candidate = live->candidate;
  Remove(event.attempt);
  switch (event.why) {
    case Refused::Why::kBusy:
      NoteBusy(candidate);
      break;
    case Refused::Why::kCapacity:
      ++no_capacity_;
      break;
    case Refused::Why::kCircuit:
      ++open_circuits_;
      if (event.pinned) ++pinned_circuits_;
      KeepEarlier(&earliest_retry_, event.retry_at);
      break;
  }
  if (committed()) return;
  // Its circuit opened while it was waited for.
  if (event.why != Refused::Why::kBusy) {
    busy_.erase(std::remove(busy_.begin(), busy_.end(), candidate), busy_.end());
  }
  slot_for_ = -1;
  Next(now, out);
}

void AttemptMachine::On(const HeadSeen& event, TimePoint, Actions*) {
  Live* live = Running(event.attempt);
  if (live == nullptr) return;
  live->head_seen = true;
  live->head_status = event.status;
}

void AttemptMachine::On(const FirstEvent& event, TimePoint now, Actions*) {
  Live* live = Running(event.attempt);
  if (live != nullptr && !live->first_event) live->first_event = now;
}

void AttemptMachine::On(const FirstOutput& event, TimePoint now, Actions* out) {
  Live* live = Running(event.attempt);
  if (live == nullptr || committed()) return;
  live->head_seen = true;
  if (!live->first_event) live->first_event = now;
  committed_ = last_contact_ = live->index;
  last_progress_ = now;
  StopOthers(event.attempt, ErrorKind::kHedgeSuperseded, out);
  Push(out, Commit{event.attempt});
  live = Running(event.attempt);
  const CircuitBreakerSettings& breaker = settings(*live).circuit_breaker;
  // A refusal on its way to the client is judged when its words are there (kPassedOn).
  const bool refused = live->head_status >= 300;
  if (breaker.stream_verdict == CircuitBreakerSettings::StreamVerdict::kStart && !refused) {
    AttemptEnd good;
    good.status = live->head_status;
    Push(out, SettleCircuit{live->index, Judge(*live, good, now)});
    live->settled = true;
  }
}

void AttemptMachine::On(const Ended& event, TimePoint now, Actions* out) {
  Live* live = Running(event.attempt);
  if (live == nullptr) return;
  const AttemptEnd end = Normalized(event.end, committed());
  if (TryAgainLater(*live, end, now)) return;
  const Live over = *live;
  Remove(event.attempt);
  Settle(over, end, now, out);
}

void AttemptMachine::On(const Unsendable& event, TimePoint now, Actions* out) {
  Live* live = Running(event.attempt);
  if (live == nullptr || committed()) return;
  const Live over = *live;
  Remove(event.attempt);
  // Once a try went out, the attempt ended the way that one did.
  if (over.repeats > 0) return Settle(over, over.last_try, now, out);
  Abandon(over, ErrorKind::kInternal, out);
  --contacted_;
  if (first_contact_ == over.index) first_contact_ = -1;
  unsendable_ = true;
  Next(now, out);
}

void AttemptMachine::On(const SlotFree& event, TimePoint now, Actions* out) {
  const bool waited = std::find(busy_.begin(), busy_.end(), event.candidate) != busy_.end();
  if (!awaiting_ || !waited || !live_.empty()) return;
  if (OverallPassed(now)) return FinalAnswer(now, out);
  slot_for_ = event.candidate;
  Ask(event.candidate, out);
}

void AttemptMachine::On(const ClientGone&, TimePoint now, Actions* out) {
  ChargeOverdue(now, out);
  StopOthers(-1, ErrorKind::kClientDisconnect, out);
  Finish finish;
  finish.how = Finish::How::kClientGone;
  finish.kind = ErrorKind::kClientDisconnect;
  Done(finish, out);
}

void AttemptMachine::On(const Shutdown&, TimePoint, Actions* out) {
  StopOthers(-1, ErrorKind::kInternal, out);
  Finish finish;
  finish.how = committed() ? Finish::How::kServedBroken : Finish::How::kGatewayError;
  finish.reason = Finish::Reason::kShutdown;
  finish.kind = ErrorKind::kInternal;
  Done(finish, out);
}

// Deadlines stand still while the client holds up its own stream; whoever serves the client bounds
// that.
void AttemptMachine::On(const ClientPaused& event, TimePoint now, Actions*) {
  if (!committed() || event.paused == paused_at_.has_value()) return;
  if (event.paused) {
    paused_at_ = now;
    return;
  }
  const Duration held = now - *paused_at_;
  paused_at_.reset();
  if (Live* live = Running(committed_)) {
    live->start = After(live->start, held);
    if (live->first_event) live->first_event = After(*live->first_event, held);
  }
  // What still came in while it was held up counts from now on.
  last_progress_ = std::min(After(last_progress_, held), now);
  if (overall_deadline_) overall_deadline_ = After(*overall_deadline_, held);
}

void AttemptMachine::On(const Wake&, TimePoint now, Actions* out) {
  if (phase_ != Phase::kWorking || paused_at_) return;
  if (awaiting_ && OverallPassed(now)) return FinalAnswer(now, out);
  if (OverallPassed(now)) return OverallTimedOut(now, out);
  // What ends or begins an attempt changes the list: each is looked at by its index.
  std::vector<int> indices;
  for (const Live& live : live_) indices.push_back(live.index);
  for (const int index : indices) {
    Live* live = Find(index);
    if (live == nullptr || live->phase == Live::Phase::kAsked || finished_) continue;
    const Deadline deadline = NextDeadline(*live);
    if (now >= deadline.at) {
      const Live over = *live;
      Remove(index);
      TimedOut(over, deadline.kind, now, out);
    } else if (live->phase == Live::Phase::kBetweenTries && now >= live->try_start) {
      StartTry(*live, now, out);
    }
  }
  if (!finished_) MoveOn(now, out);
}

// --- what is alive ----------------------------------------------------------------------------

const AttemptMachine::Live* AttemptMachine::Find(int attempt) const noexcept {
  for (const Live& live : live_) {
    if (live.index == attempt) return &live;
  }
  return nullptr;
}

AttemptMachine::Live* AttemptMachine::Find(int attempt) noexcept {
  return const_cast<Live*>(std::as_const(*this).Find(attempt));
}

AttemptMachine::Live* AttemptMachine::Running(int attempt) noexcept {
  Live* live = Find(attempt);
  return live != nullptr && live->phase == Live::Phase::kRunning ? live : nullptr;
}

AttemptMachine::Live* AttemptMachine::Asked(int attempt) noexcept {
  Live* live = Find(attempt);
  return live != nullptr && live->phase == Live::Phase::kAsked ? live : nullptr;
}

void AttemptMachine::Remove(int attempt) {
  live_.erase(std::remove_if(live_.begin(), live_.end(),
                             [&](const Live& live) { return live.index == attempt; }),
              live_.end());
}

const EngineSettings& AttemptMachine::settings(const Live& live) const noexcept {
  return *plan_.candidates[static_cast<std::size_t>(live.candidate)].settings;
}

bool AttemptMachine::OverallPassed(TimePoint now) const noexcept {
  return overall_deadline_.has_value() && now >= *overall_deadline_;
}

}  // namespace hotel::decide
