// What an attempt must hold: a permit of its circuit and a slot at its provider.
#include <utility>

#include "libhotel/route/call.h"

namespace hotel::route {

std::string_view CallState::SkipDetail(bool provider_wide) {
  return provider_wide ? "provider skipped" : "circuit open";
}

void CallState::Do(const decide::AskAdmission& action) {
  TellFailover();
  EnsureAttempt(action.attempt, action.candidate);
  slot_wait_ = {};
  Attempt& attempt = At(action.attempt);
  const Candidate& candidate = attempt.candidate();
  const TimePoint now = deps_.loop->Now();
  const auto refuse = [&](const decide::Refused& refused) {
    DropSlot();
    attempts_[static_cast<std::size_t>(action.attempt)] = nullptr;
    Drive(refused);
  };
  if (route_.direct && !candidate.settings->circuit_breaker.block_direct) {
    attempt.permit = deps_.breaker->AcquireDirect(candidate.circuit(), now);
  } else {
    Admission admission = deps_.breaker->TryAcquire(candidate.circuit(), now);
    if (!admission.admitted()) {
      ExplainRefusal(candidate, admission.refusal, admission.retry_at);
      const bool capacity = admission.refusal == Refusal::kCapacity;
      AddSkip(candidate,
              capacity ? std::string_view("circuit capacity exhausted")
                       : SkipDetail(admission.refusal == Refusal::kProviderOpen),
              BreakerEffect::kSkipped, ErrorKind::kNone);
      using Why = decide::Refused::Why;
      return refuse({action.attempt, admission.retry_at, capacity ? Why::kCapacity : Why::kCircuit,
                     admission.pinned});
    }
    attempt.permit = std::move(admission.permit);
  }
  if (!AcquireSlot(attempt, action.candidate, now)) {
    return refuse({action.attempt, now, decide::Refused::Why::kBusy});
  }
  Drive(decide::Admitted{action.attempt, attempt.permit.probe()});
}

/// The slot that was waited for, or one that is free.
bool CallState::AcquireSlot(Attempt& attempt, int candidate, TimePoint now) {
  if (deps_.limiter == nullptr) return true;
  attempt.slot = held_slot_.valid()
                     ? std::move(held_slot_)
                     : deps_.limiter->TryAcquire(attempt.candidate().inflight(), now);
  if (attempt.slot.valid()) return true;
  busy_noted_.resize(route_.candidates.size());
  if (!busy_noted_[static_cast<std::size_t>(candidate)]) {
    busy_noted_[static_cast<std::size_t>(candidate)] = true;
    AddSkip(attempt.candidate(), "at in-flight limit", BreakerEffect::kNoop,
            ErrorKind::kProviderSaturated);
  }
  return false;
}

void CallState::Do(const decide::WaitForSlot& action) {
  slot_targets_ = action.candidates;
  std::vector<InflightTarget> targets;
  for (const int candidate : slot_targets_) {
    targets.push_back(route_.candidates[static_cast<std::size_t>(candidate)].inflight());
  }
  // Told on the thread that gives the slot back; the call itself is touched on its loop only.
  const auto on_slot = [loop = deps_.loop, weak = weak_from_this()] {
    loop->Post([weak] {
      if (const auto self = weak.lock()) self->TakeSlot();
    });
  };
  slot_wait_ = deps_.limiter->Wait(targets, deps_.loop->Now(), on_slot, seniority_);
  seniority_ = slot_wait_.seniority();
  ExplainSlotWait(targets.size());
  if (slot_wait_.ready()) TakeSlot();
}

void CallState::TakeSlot() {
  if (!slot_wait_.valid() || finished()) return;
  std::size_t target = 0;
  InflightSlot slot = slot_wait_.Take(&target);
  if (!slot.valid()) return;
  DropSlot();
  held_slot_ = std::move(slot);
  Drive(decide::SlotFree{slot_targets_[target]});
}

void CallState::DropSlot() {
  if (held_slot_.valid()) held_slot_.End(SlotEnd::kUnused, deps_.loop->Now());
}

void CallState::Do(const decide::SettleCircuit& action) {
  Attempt& attempt = At(action.attempt);
  attempt.record.breaker = attempt.permit.Report(action.report, deps_.loop->Now());
  ExplainVerdict(attempt, action.report);
}

void CallState::EndSlot(Attempt& attempt, const decide::ReportVerdict& action, TimePoint now) {
  if (!attempt.slot.valid()) return;
  if (action.cut) return attempt.slot.EndSaturated(*action.cut, now);
  if (attempt.tries() == 0) return attempt.slot.End(SlotEnd::kUnused, now);
  attempt.slot.End(action.clean ? SlotEnd::kClean : SlotEnd::kUnclean, now);
}

}  // namespace hotel::route
