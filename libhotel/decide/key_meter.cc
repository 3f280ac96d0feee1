#include "libhotel/decide/key_meter.h"

#include <algorithm>
#include <utility>

#include "libhotel/decide/key_budget.h"

namespace hotel::decide {
namespace {

constexpr double kMinute = 60;
/// What a request costs on average follows the last ones by this part.
constexpr std::int64_t kMemory = 8;
/// When running requests have set aside what is left of a budget, it may be free again this soon.
constexpr Duration kSoon = std::chrono::seconds(1);

KeyDecision Refused(KeyLimit limit, Duration retry_after) {
  KeyDecision decision;
  decision.kind = KeyDecision::Kind::kRefuse;
  decision.limit = limit;
  decision.retry_after = retry_after;
  return decision;
}

}  // namespace

KeyPolicy PolicyOf(const KeyLimits& limits, const ClientLimitSettings& global) noexcept {
  KeyPolicy policy;
  policy.enabled = global.enabled;
  policy.requests = {static_cast<double>(limits.rps.value_or(global.rps)),
                     static_cast<double>(limits.burst.value_or(global.burst))};
  const auto tpm = static_cast<double>(limits.tpm.value_or(global.tpm));
  policy.tokens = {tpm / kMinute, tpm};
  policy.max_wait = std::chrono::milliseconds(global.max_wait_ms);
  policy.has_budget = limits.has_budget;
  policy.budget = limits.budget;
  return policy;
}

KeyMeter::KeyMeter(KeyUsage used) : used_(std::move(used)) {
  if (used_.requests > 0) usually_ = used_.cost / used_.requests;
}

KeyDecision KeyMeter::Ask(const KeyPolicy& policy, const KeyGuess& guess, TimePoint now,
                          WallTime wall, KeyHold* hold) {
  if (!policy.enabled || (inside_ == 0 && now - asked_at_ >= kIdle)) {
    requests_ = {};
    tokens_ = {};
  }
  asked_at_ = now;
  if (hold->stage == KeyHold::Stage::kArrived) {
    const KeyDecision decision = AskRequests(policy, now, hold);
    if (decision.kind != KeyDecision::Kind::kEnter) return decision;
  } else if (now < hold->turn) {
    KeyDecision decision;
    decision.kind = KeyDecision::Kind::kWait;
    decision.until = hold->turn;
    return decision;
  }
  return Admit(policy, guess, now, wall, hold);
}

KeyDecision KeyMeter::AskRequests(const KeyPolicy& policy, TimePoint now, KeyHold* hold) {
  if (!policy.enabled || !policy.requests.limits()) return {};
  const double available = requests_.Available(policy.requests, now);
  const Duration wait = requests_.WaitFor(1, policy.requests, now);
  if (wait > policy.max_wait) {
    KeyDecision decision = Refused(KeyLimit::kRequests, wait);
    decision.rate = policy.requests;
    decision.available = std::max(0.0, available);
    return decision;
  }
  // Taken before its time: whoever comes later waits behind this one.
  requests_.Take(1, now);
  hold->request = true;
  ++inside_;
  if (wait <= Duration::zero()) return {};
  hold->stage = KeyHold::Stage::kQueued;
  hold->turn = now + wait;
  KeyDecision decision;
  decision.kind = KeyDecision::Kind::kWait;
  decision.until = hold->turn;
  return decision;
}

KeyDecision KeyMeter::Admit(const KeyPolicy& policy, const KeyGuess& guess, TimePoint now,
                            WallTime wall, KeyHold* hold) {
  const bool metered = policy.enabled && policy.tokens.limits();
  if (metered) {
    const double available = tokens_.Available(policy.tokens, now);
    if (available <= 0) {
      // Up to the first whole token.
      KeyDecision decision =
          Refused(KeyLimit::kTokens,
                  tokens_.WaitFor(std::min(1.0, policy.tokens.burst), policy.tokens, now));
      decision.rate = policy.tokens;
      TurnAway(hold);
      return decision;
    }
  }
  if (policy.has_budget) {
    const std::int64_t spent = SpentIn(policy.budget.period, wall);
    const bool gone = spent >= policy.budget.amount;
    if (gone || AddCapped(spent, aside_) >= policy.budget.amount) {
      TurnAway(hold);
      return Refused(KeyLimit::kBudget, gone ? TimeToPeriodEnd(policy.budget.period, wall) : kSoon);
    }
  }
  if (!hold->request) ++inside_;
  hold->metered = metered;
  if (metered) {
    hold->tokens = static_cast<double>(std::max<std::int64_t>(guess.prompt, 0));
    tokens_.Take(hold->tokens, now);
  }
  hold->cost = std::max(usually_, guess.cost);
  aside_ = AddCapped(aside_, hold->cost);
  hold->stage = KeyHold::Stage::kEntered;
  return {};
}

/// The request it took stays taken: who is refused asks no more often than who is served.
void KeyMeter::TurnAway(KeyHold* hold) {
  if (hold->request) --inside_;
  *hold = {};
  hold->stage = KeyHold::Stage::kOver;
}

void KeyMeter::Settle(const KeyUsage& used, TimePoint now, KeyHold* hold) {
  if (hold->metered) tokens_.Take(static_cast<double>(used.tokens()) - hold->tokens, now);
  aside_ -= hold->cost;
  if (used.cost > 0) {
    usually_ = usually_ == 0 ? used.cost : usually_ + (used.cost - usually_) / kMemory;
  }
  AddUsage(used, &used_);
  AddUsage(used, &news_);
  --inside_;
  *hold = {};
  hold->stage = KeyHold::Stage::kOver;
}

void KeyMeter::GiveUp(TimePoint now, KeyHold* hold) {
  if (hold->stage == KeyHold::Stage::kEntered) {
    if (hold->metered) tokens_.GiveBack(hold->tokens, now);
    aside_ -= hold->cost;
    --inside_;
  } else if (hold->request) {
    requests_.GiveBack(1, now);
    --inside_;
  }
  *hold = {};
  hold->stage = KeyHold::Stage::kOver;
}

std::int64_t KeyMeter::SpentIn(BudgetPeriod period, WallTime wall) const noexcept {
  return SpentSince(used_.days, PeriodStart(period, DayOf(wall)));
}

void KeyMeter::PutBack(const KeyUsage& news) { AddUsage(news, &news_); }

}  // namespace hotel::decide
