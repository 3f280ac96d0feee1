// What a virtual key may have, in virtual time (facts o; decisions 7 and 10).
#include "libhotel/decide/key_meter.h"

#include <chrono>
#include <string>
#include <vector>

#include "libhotel/base/time_text.h"
#include "libhotel/decide/cost_guess.h"
#include "libhotel/decide/key_budget.h"
#include "libhotel/decide/token_cost.h"
#include "tests/support/catch.h"

namespace hotel::decide {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Kind = KeyDecision::Kind;

constexpr std::int64_t kDollar = KeyBudget::kDollar;

WallTime At(const std::string& text) { return *base::ParseTime(text); }

struct World {
  KeyMeter meter{KeyUsage{}};
  KeyPolicy policy;
  TimePoint now{std::chrono::hours(5)};
  WallTime wall = At("2026-09-01T10:00:00Z");

  KeyDecision Ask(KeyHold* hold, std::int64_t prompt = 0, std::int64_t cost = 0) {
    return meter.Ask(policy, {prompt, cost}, now, wall, hold);
  }
  KeyUsage Used(std::int64_t tokens, std::int64_t cost = 0) const {
    KeyUsage used;
    used.requests = 1;
    used.prompt = tokens;
    used.cost = cost;
    if (cost > 0) used.days[DayOf(wall)] = cost;
    return used;
  }
  /// A request from its arrival to its end; what became of it.
  KeyLimit Serve(std::int64_t tokens, std::int64_t cost = 0) {
    KeyHold hold;
    const KeyDecision decision = Ask(&hold);
    if (decision.kind == Kind::kEnter) meter.Settle(Used(tokens, cost), now, &hold);
    return decision.limit;
  }
  void Budget(std::int64_t amount, BudgetPeriod period) {
    policy.has_budget = true;
    policy.budget = {amount, period};
  }
};

}  // namespace

TEST_CASE("decisions 10 nothing is limited until something is set") {
  const KeyPolicy policy = PolicyOf({}, {});
  CHECK_FALSE(policy.requests.limits());
  CHECK_FALSE(policy.tokens.limits());
  World w;
  w.policy = policy;
  for (int i = 0; i < 1000; ++i) CHECK(w.Serve(100000, kDollar) == KeyLimit::kNone);
}

TEST_CASE("facts o a key's own limits go before the global ones, 0 is unlimited") {
  ClientLimitSettings global;
  global.rps = 10;
  global.tpm = 600;
  KeyLimits own;
  CHECK(PolicyOf(own, global).requests.per_second == Approx(10));
  CHECK(PolicyOf(own, global).requests.burst == Approx(20));
  CHECK(PolicyOf(own, global).tokens.per_second == Approx(10));
  own.rps = 0;
  own.burst = 5;
  own.tpm = 60;
  CHECK_FALSE(PolicyOf(own, global).requests.limits());
  CHECK(PolicyOf(own, global).tokens.per_second == Approx(1));
}

TEST_CASE("facts o a request above the rate waits for its turn, one behind the other") {
  World w;
  w.policy.requests = {10, 1};
  w.policy.max_wait = milliseconds(200);
  std::vector<KeyHold> holds(4);
  CHECK(w.Ask(&holds[0]).kind == Kind::kEnter);
  const KeyDecision second = w.Ask(&holds[1]);
  CHECK(second.kind == Kind::kWait);
  CHECK(second.until == w.now + milliseconds(100));
  CHECK(w.Ask(&holds[2]).until == w.now + milliseconds(200));
  const KeyDecision refused = w.Ask(&holds[3]);
  CHECK(refused.limit == KeyLimit::kRequests);
  CHECK(refused.retry_after == milliseconds(300));
  // Too early is told again, not counted again.
  w.now += milliseconds(50);
  CHECK(w.Ask(&holds[1]).until == second.until);
  w.now = second.until;
  CHECK(w.Ask(&holds[1]).kind == Kind::kEnter);
  // Who leaves the line gives its turn back.
  w.meter.GiveUp(w.now, &holds[2]);
  KeyHold next;
  CHECK(w.Ask(&next).until == w.now + milliseconds(100));
}

TEST_CASE("facts o tokens are debited at the end and set aside from the start") {
  World w;
  w.policy.tokens = {10, 600};
  // One after the other, the bucket is overdrawn by one request.
  KeyHold first;
  CHECK(w.Ask(&first, 500).kind == Kind::kEnter);
  // 500 of 600 are set aside; one more fits in, and then none.
  KeyHold second;
  CHECK(w.Ask(&second, 500).kind == Kind::kEnter);
  KeyHold third;
  CHECK(w.Ask(&third, 1).limit == KeyLimit::kTokens);
  // What was set aside and not used comes back.
  w.meter.Settle(w.Used(100), w.now, &first);
  w.meter.GiveUp(w.now, &second);
  KeyHold fourth;
  CHECK(w.Ask(&fourth, 1).kind == Kind::kEnter);
  w.meter.Settle(w.Used(900), w.now, &fourth);
  KeyHold fifth;
  const KeyDecision refused = w.Ask(&fifth, 1);
  CHECK(refused.limit == KeyLimit::kTokens);
  CHECK(refused.retry_after == Duration(seconds(40)) + milliseconds(100));
  w.now += refused.retry_after;
  KeyHold sixth;
  CHECK(w.Ask(&sixth, 1).kind == Kind::kEnter);
}

TEST_CASE("facts o buckets are forgotten after ten idle minutes and when limits are off") {
  World w;
  w.policy.tokens = {1, 60};
  CHECK(w.Serve(100000) == KeyLimit::kNone);
  CHECK(w.Serve(1) == KeyLimit::kTokens);
  w.now += minutes(9);
  CHECK(w.Serve(1) == KeyLimit::kTokens);
  w.now += minutes(10);
  CHECK(w.Serve(100000) == KeyLimit::kNone);
  CHECK(w.Serve(1) == KeyLimit::kTokens);
  w.policy.enabled = false;
  CHECK(w.Serve(1) == KeyLimit::kNone);
  w.policy.enabled = true;
  CHECK(w.Serve(1) == KeyLimit::kNone);
}

TEST_CASE("a running request keeps its bucket from being forgotten") {
  World w;
  w.policy.tokens = {1, 60};
  KeyHold running;
  CHECK(w.Ask(&running, 100000).kind == Kind::kEnter);
  w.now += minutes(30);
  CHECK(w.Serve(1) == KeyLimit::kTokens);
  w.meter.Settle(w.Used(0), w.now, &running);
  CHECK(w.Serve(1) == KeyLimit::kNone);
}

TEST_CASE("decisions 7 a spent budget refuses until its period is over") {
  World w;
  w.Budget(3 * kDollar, BudgetPeriod::kDay);
  for (int i = 0; i < 3; ++i) CHECK(w.Serve(1, kDollar) == KeyLimit::kNone);
  KeyHold hold;
  const KeyDecision refused = w.Ask(&hold);
  CHECK(refused.limit == KeyLimit::kBudget);
  CHECK(refused.retry_after == std::chrono::hours(14));
  w.wall = At("2026-09-02T00:00:00Z");
  CHECK(w.Serve(1, kDollar) == KeyLimit::kNone);
  // The week began on Monday, 31 August; the month with the first request.
  w.Budget(4 * kDollar, BudgetPeriod::kWeek);
  CHECK(w.Serve(1) == KeyLimit::kBudget);
  w.wall = At("2026-09-07T00:00:00Z");
  CHECK(w.Serve(1) == KeyLimit::kNone);
  w.Budget(4 * kDollar, BudgetPeriod::kMonth);
  CHECK(w.Serve(1) == KeyLimit::kBudget);
  w.wall = At("2026-10-01T00:00:00Z");
  CHECK(w.Serve(1) == KeyLimit::kNone);
}

TEST_CASE("F193 another amount or period of the budget forgets nothing") {
  World w;
  w.Budget(kDollar, BudgetPeriod::kDay);
  CHECK(w.Serve(1, kDollar) == KeyLimit::kNone);
  for (const BudgetPeriod period :
       {BudgetPeriod::kWeek, BudgetPeriod::kMonth, BudgetPeriod::kDay}) {
    w.Budget(kDollar, period);
    CHECK(w.Serve(1) == KeyLimit::kBudget);
  }
  w.Budget(0, BudgetPeriod::kDay);
  CHECK(w.Serve(1) == KeyLimit::kBudget);
  w.Budget(2 * kDollar, BudgetPeriod::kDay);
  CHECK(w.Serve(1) == KeyLimit::kNone);
}

TEST_CASE("decisions 7 requests that run together cannot spend the same money") {
  World w;
  w.Budget(5 * kDollar, BudgetPeriod::kMonth);
  CHECK(w.Serve(1, kDollar) == KeyLimit::kNone);  // so much they usually cost
  std::vector<KeyHold> holds(10);
  std::vector<KeyHold*> inside;
  for (KeyHold& hold : holds) {
    const KeyDecision decision = w.Ask(&hold);
    if (decision.kind == Kind::kEnter) {
      inside.push_back(&hold);
    } else {
      CHECK(decision.limit == KeyLimit::kBudget);
      CHECK(decision.retry_after == seconds(1));  // it may come free again
    }
  }
  CHECK(inside.size() == 4);
  w.meter.GiveUp(w.now, inside.back());
  inside.pop_back();
  KeyHold another;
  CHECK(w.Ask(&another).kind == Kind::kEnter);
  inside.push_back(&another);
  for (KeyHold* hold : inside) w.meter.Settle(w.Used(1, kDollar), w.now, hold);
  CHECK(w.meter.SpentIn(BudgetPeriod::kMonth, w.wall) == 5 * kDollar);
  CHECK(w.Serve(1) == KeyLimit::kBudget);
}

TEST_CASE("decisions 7 dear requests behind cheap ones count with what they may cost") {
  World w;
  w.Budget(kDollar, BudgetPeriod::kMonth);
  for (int i = 0; i < 30; ++i) CHECK(w.Serve(1, kDollar / 1000) == KeyLimit::kNone);
  std::vector<KeyHold> holds(60);
  int inside = 0;
  for (KeyHold& hold : holds) inside += w.Ask(&hold, 0, kDollar * 6 / 5).kind == Kind::kEnter;
  // Nothing ran, so the first one got in although it may cost more than there is.
  REQUIRE(inside == 1);
  // What it has not used comes back.
  w.meter.Settle(w.Used(1, kDollar / 2), w.now, &holds.front());
  inside = 0;
  for (KeyHold& hold : holds) {
    hold = {};
    inside += w.Ask(&hold, 0, kDollar / 10).kind == Kind::kEnter;
  }
  CHECK(inside == 5);  // of 0.47 $; one of them may go beyond
}

TEST_CASE("decisions 7 a rest of a budget can be spent however small it is") {
  World w;
  w.Budget(kDollar, BudgetPeriod::kMonth);
  CHECK(w.Serve(1, kDollar - 1) == KeyLimit::kNone);
  KeyHold hold;
  CHECK(w.Ask(&hold, 0, 100 * kDollar).kind == Kind::kEnter);
  // Until it is over there is nothing for others, not even for those that may cost nothing.
  KeyHold other;
  const KeyDecision refused = w.Ask(&other);
  CHECK(refused.limit == KeyLimit::kBudget);
  CHECK(refused.retry_after == seconds(1));
  w.meter.Settle(w.Used(1, 0), w.now, &hold);
  CHECK(w.Serve(1, 1) == KeyLimit::kNone);
  CHECK(w.Serve(1) == KeyLimit::kBudget);
}

TEST_CASE("a request is guessed to cost as much as it may") {
  Model model;
  CHECK(GuessCost({1000, true, 500, 1}, model) == 0);  // no price, no guess
  model.prices.input = 3;
  model.prices.output = 15;
  CHECK(GuessCost({1000, true, 500, 1}, model) == 3'000'000 + 7'500'000);
  CHECK(GuessCost({1000, true, 500, 4}, model) == 3'000'000 + 4 * 7'500'000);
  // Nothing said: an answer of a usual length, unless there is no text to write.
  CHECK(GuessCost({1000, true, 0, 1}, model) == 3'000'000 + kUnstatedOutput * 15'000);
  CHECK(GuessCost({1000, false, 0, 1}, model) == 3'000'000);
  // No model writes more than it can.
  model.max_output_tokens = 100;
  CHECK(GuessCost({1000, true, 0, 1}, model) == 3'000'000 + 1'500'000);
  CHECK(GuessCost({1000, true, 1'000'000'000, 1}, model) == 3'000'000 + 1'500'000);
  // Absurd numbers stay numbers.
  model.max_output_tokens = 0;
  CHECK(GuessCost({0, true, 1'000'000'000, 1'000'000'000}, model) == 15'000'000'000'000'000);
}

TEST_CASE("what was used is handed out once and can be put back") {
  World w;
  w.Serve(7, 11);
  w.Serve(3, 0);
  const KeyUsage news = w.meter.TakeNews();
  CHECK(news.requests == 2);
  CHECK(news.tokens() == 10);
  CHECK(news.days.begin()->second == 11);
  CHECK(w.meter.TakeNews().requests == 0);
  w.Serve(1);
  w.meter.PutBack(news);
  CHECK(w.meter.TakeNews().tokens() == 11);
  CHECK(w.meter.used().tokens() == 11);
}

TEST_CASE("periods of budgets are those of the calendar in UTC") {
  const auto day = [](const std::string& date) { return DayOf(At(date + "T23:59:59.999Z")); };
  using P = BudgetPeriod;
  CHECK(PeriodStart(P::kDay, day("2026-02-28")) == day("2026-02-28"));
  CHECK(PeriodStart(P::kWeek, day("2026-09-06")) == day("2026-08-31"));  // a Sunday
  CHECK(PeriodEnd(P::kWeek, day("2026-08-31")) == day("2026-09-07"));
  CHECK(PeriodStart(P::kMonth, day("2028-02-29")) == day("2028-02-01"));
  CHECK(PeriodEnd(P::kMonth, day("2028-02-29")) == day("2028-03-01"));
  CHECK(PeriodEnd(P::kMonth, day("2026-12-31")) == day("2027-01-01"));
  CHECK(TimeToPeriodEnd(P::kDay, At("2026-09-01T00:00:00Z")) == std::chrono::hours(24));
  CHECK(TimeToPeriodEnd(P::kDay, At("2026-09-01T23:59:59.999Z")) == milliseconds(1));
}

TEST_CASE("usage keeps the days of the longest period and no more") {
  KeyUsage usage;
  for (int day = 0; day < 400; ++day) {
    KeyUsage more;
    more.days[day] = 1;
    AddUsage(more, &usage);
  }
  CHECK(usage.days.size() == kKeptDays + 1);
  CHECK(SpentSince(usage.days, 399 - 30) == 31);
}

TEST_CASE("tokens cost what their model asks for them") {
  ModelPrices prices;
  TokenUsage usage;
  usage.prompt = 1000;
  usage.cached = 400;
  usage.completion = 200;
  CHECK_FALSE(CostOf(usage, prices).has_value());
  prices.input = 3;
  CHECK(*CostOf(usage, prices) == 3'000'000);  // an unknown price of output adds nothing
  prices.output = 15;
  CHECK(*CostOf(usage, prices) == 6'000'000);
  prices.cached_input = 0.3;
  CHECK(*CostOf(usage, prices) == 1'800'000 + 120'000 + 3'000'000);
  // Rounded once, at the end.
  usage = {};
  usage.prompt = 3;
  prices.input = 0.00015;
  CHECK(*CostOf(usage, prices) == 0);
  usage.prompt = 4;
  CHECK(*CostOf(usage, prices) == 1);
  // What a provider says may be nonsense.
  usage.prompt = -5;
  usage.cached = 100;
  usage.completion = -1;
  CHECK(*CostOf(usage, prices) == 0);
}

}  // namespace hotel::decide
