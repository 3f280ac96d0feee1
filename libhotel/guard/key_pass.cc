#include "libhotel/guard/key_pass.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "libhotel/base/mutex.h"
#include "libhotel/decide/error_codes.h"
#include "libhotel/decide/key_budget.h"
#include "libhotel/decide/key_meter.h"
#include "libhotel/guard/key_gate.h"
#include "libhotel/guard/limit_headers.h"

namespace hotel {
namespace guard {
namespace {

using base::MutexLock;
using decide::ErrorCode;
using decide::KeyDecision;
using decide::KeyHold;
using decide::KeyLimit;

GateAnswer Refused(int status, ErrorKind kind, ErrorCode code, std::string message) {
  GateAnswer answer;
  answer.error_kind = kind;
  answer.kind = GateAnswer::Kind::kRefuse;
  answer.status = status;
  answer.code = decide::ErrorCodeWord(code);
  answer.message = std::move(message);
  return answer;
}

GateAnswer AnswerOf(const KeyDecision& decision) {
  GateAnswer answer;
  if (decision.kind == KeyDecision::Kind::kEnter) return answer;
  if (decision.kind == KeyDecision::Kind::kWait) {
    answer.kind = GateAnswer::Kind::kWait;
    answer.until = decision.until;
    return answer;
  }
  switch (decision.limit) {
    case KeyLimit::kTokens: {
      answer = Refused(429, ErrorKind::kRateLimit, ErrorCode::kTokenRateLimitExceeded,
                       "token rate limit exceeded");
      // The bucket counts by the second, the limit is one of minutes.
      const double per_minute = decision.rate.burst;
      answer.headers = LimitHeaders(per_minute, decision.rate.burst, decision.available, "key",
                                    decision.retry_after);
      return answer;
    }
    case KeyLimit::kBudget:
      answer = Refused(429, ErrorKind::kBudget, ErrorCode::kBudgetExceeded,
                       "the budget of this virtual key is spent for the running period");
      answer.type = "insufficient_quota";
      answer.headers = {RetryAfter(decision.retry_after)};
      return answer;
    default:
      answer =
          Refused(429, ErrorKind::kRateLimit, ErrorCode::kRateLimitExceeded, "rate limit exceeded");
      answer.headers = LimitHeaders(decision.rate.per_second, decision.rate.burst,
                                    decision.available, "key", decision.retry_after);
      return answer;
  }
}

/// What a request is charged for: every answer that a provider has been paid for, served or not.
KeyUsage Bill(const RequestRecord& record, WallTime wall) {
  KeyUsage bill;
  bill.requests = 1;
  bill.last_used_at = wall;
  for (const AttemptRecord& attempt : record.attempts) {
    if (!attempt.usage) continue;
    bill.prompt = decide::AddCapped(bill.prompt, std::max<std::int64_t>(attempt.usage->prompt, 0));
    bill.completion =
        decide::AddCapped(bill.completion, std::max<std::int64_t>(attempt.usage->completion, 0));
    bill.cached = decide::AddCapped(bill.cached, std::max<std::int64_t>(attempt.usage->cached, 0));
    bill.reasoning =
        decide::AddCapped(bill.reasoning, std::max<std::int64_t>(attempt.usage->reasoning, 0));
  }
  bill.cost = std::max<std::int64_t>(record.cost.value_or(0), 0);
  if (bill.cost > 0) bill.days[decide::DayOf(wall)] = bill.cost;
  return bill;
}

class KeyPass final : public GatePass {
 public:
  KeyPass(std::shared_ptr<const KeySnapshot> keys, const VirtualKey* key,
          std::shared_ptr<KeyAccount> account)
      : keys_(std::move(keys)), key_(key), account_(std::move(account)) {}

  ~KeyPass() override {
    // Nobody settled it, so nobody knows how late it is; what is given back late is given back.
    MutexLock lock(&account_->mutex);
    if (hold_.stage != KeyHold::Stage::kOver) account_->meter.GiveUp(asked_at_, &hold_);
  }

  GateAnswer Ask(const GateQuestion& question) override {
    decide::KeyPolicy policy =
        decide::PolicyOf(key_->spec.limits, question.settings->global.client_limits);
    if (!question.served) {
      policy.tokens = {};
      policy.has_budget = false;
      policy.max_wait = {};
    }
    // Nothing of it would be charged, so that no budget would hold.
    if (policy.has_budget && !question.priced) {
      return Refused(403, ErrorKind::kAuth, ErrorCode::kBudgetNeedsPrice,
                     "this virtual key has a budget, and what goes through /p/ has no price; use "
                     "an endpoint under /v1");
    }
    // Guessed in front of the lock: it reads the request.
    if (policy.enabled && policy.tokens.limits()) Guess(question.prompt_tokens, &guess_.prompt);
    if (policy.has_budget) Guess(question.cost, &guess_.cost);
    asked_at_ = question.now;
    MutexLock lock(&account_->mutex);
    return AnswerOf(account_->meter.Ask(policy, guess_, question.now, question.wall, &hold_));
  }

  void Settle(const RequestRecord& record, TimePoint now, WallTime wall) override {
    MutexLock lock(&account_->mutex);
    if (hold_.stage == KeyHold::Stage::kEntered) {
      account_->meter.Settle(Bill(record, wall), now, &hold_);
    } else if (hold_.stage != KeyHold::Stage::kOver) {
      account_->meter.GiveUp(now, &hold_);
    }
  }

 private:
  /// Once, however often the pass asks, unless it comes to nothing.
  static void Guess(const std::function<std::int64_t()>& how, std::int64_t* guess) {
    if (*guess == 0 && how) *guess = std::max<std::int64_t>(how(), 0);
  }

  const std::shared_ptr<const KeySnapshot> keys_;  // holds key_
  const VirtualKey* const key_;
  const std::shared_ptr<KeyAccount> account_;
  decide::KeyGuess guess_;
  TimePoint asked_at_{};
  KeyHold hold_;
};

class ClosedPass final : public GatePass {
 public:
  GateAnswer Ask(const GateQuestion&) override {
    return Refused(401, ErrorKind::kAuth, ErrorCode::kInvalidVirtualKey, "invalid virtual key");
  }
  void Settle(const RequestRecord&, TimePoint, WallTime) override {}
};

}  // namespace

std::unique_ptr<GatePass> MakeKeyPass(std::shared_ptr<const KeySnapshot> keys,
                                      const VirtualKey* key, std::shared_ptr<KeyAccount> account) {
  return std::make_unique<KeyPass>(std::move(keys), key, std::move(account));
}

std::unique_ptr<GatePass> MakeClosedPass() { return std::make_unique<ClosedPass>(); }

}  // namespace guard

WallTime BudgetPeriodEnd(BudgetPeriod period, WallTime now) noexcept {
  return now + std::chrono::duration_cast<WallTime::duration>(decide::TimeToPeriodEnd(period, now));
}

}  // namespace hotel
