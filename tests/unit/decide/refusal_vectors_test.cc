// The test vectors of facts c, one by one (where the corpus labels differ, they win).
#include <chrono>
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/decide/refusal_read.h"

namespace hotel::decide {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Google's daily quota: the sentence, the prose and the structured detail.
std::string Google(std::string_view prose, std::string_view detail) {
  std::string body =
      R"({"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. Please retry in )";
  body.append(prose).append(R"(.","status":"RESOURCE_EXHAUSTED","details":[{"@type":)");
  body.append(R"("type.googleapis.com/google.rpc.RetryInfo","retryDelay":")").append(detail);
  return body.append("\"}]}}");
}

}  // namespace

TEST_CASE("facts c: concurrent_budget_exceeded is saturated, 2 s") {
  const auto reading =
      Read(R"({"error":{"type":"rate_limit_error","code":"concurrent_budget_exceeded"}})");
  CHECK(reading.refusal_class == kSaturated);
  CHECK_FALSE(reading.wait);
  CHECK(reading.WaitOrDefault() == seconds(2));
}

TEST_CASE("facts c: a session limit is exhausted for 30 min") {
  const auto reading =
      Read(Error("you have reached your session usage limit, upgrade for higher limits"));
  CHECK(reading.refusal_class == kExhausted);
  CHECK(reading.WaitOrDefault() == minutes(30));
  CHECK(reading.phrase == "usage window");
  CHECK_FALSE(reading.needs_payment);
}

TEST_CASE("facts c: a weekly limit is exhausted for 2 h") {
  const auto reading =
      Read(Error("you have reached your weekly usage limit, upgrade for higher limits"));
  CHECK(reading.refusal_class == kExhausted);
  CHECK(reading.WaitOrDefault() == hours(2));
}

TEST_CASE("facts c: Z.ai 1113 is until paid and about the model") {
  const auto reading = Read(
      R"({"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}})");
  CHECK(reading.refusal_class == kExhausted);
  CHECK(reading.needs_payment);
  CHECK_FALSE(reading.account_wide);
  CHECK(reading.WaitOrDefault() == hours(24 * 90));
}

TEST_CASE("facts c: Z.ai 1310 is a window of 2 h") {
  const auto reading = Read(
      R"({"error":{"code":"1310","message":"Weekly/Monthly Limit Exhausted. Your limit will reset at 2026-09-09 05:38:28"}})");
  CHECK(reading.refusal_class == kExhausted);
  CHECK_FALSE(reading.needs_payment);
  CHECK_FALSE(reading.wait);
  CHECK(reading.WaitOrDefault() == hours(2));
}

TEST_CASE("facts c: an exhausted concurrency limit is saturated") {
  const auto reading = Read(Error("Concurrency limit exhausted, retry shortly"));
  CHECK(reading.refusal_class == kSaturated);
  CHECK(reading.WaitOrDefault() == seconds(2));
}

TEST_CASE("facts c: OpenAI's spent quota is until paid and about the account") {
  const auto both = Read(Error("You exceeded your current quota, please check your plan.",
                               "insufficient_quota", "insufficient_quota"));
  const auto code = Read(Error("", "insufficient_quota", "insufficient_quota"));
  for (const auto& reading : {both, code}) {
    CHECK(reading.refusal_class == kExhausted);
    CHECK(reading.needs_payment);
    CHECK(reading.account_wide);
    CHECK(reading.WaitOrDefault() == hours(24 * 90));
  }
}

TEST_CASE("facts c: no credits remaining is about the account") {
  const auto reading = Read(Error("You have no credits remaining on this account.",
                                  "insufficient_quota", "credit_balance_exhausted"));
  CHECK(reading.refusal_class == kExhausted);
  CHECK(reading.account_wide);
}

TEST_CASE("facts c: a credit balance that is too low is until paid") {
  const auto reading = Read(Error("Your credit balance is too low to access the API"));
  CHECK(reading.refusal_class == kExhausted);
  CHECK(reading.needs_payment);
}

TEST_CASE("facts c: MiniMax 1008, 1039 and 1002") {
  for (const std::string code : {"1008", "\"1008\"", " 1008 "}) {
    const auto balance = Read("{\"base_resp\":{\"status_code\" :" + code +
                              ",\"status_msg\":\"balance not enough\"}}");
    CHECK(balance.refusal_class == kExhausted);
    CHECK(balance.needs_payment);
    CHECK(balance.account_wide);
  }
  const auto by_code = Read(R"({"base_resp":{"status_code":1008,"status_msg":""}})");
  CHECK(by_code.phrase == "minimax status_code 1008");
  const auto window = Read(R"({"base_resp":{"status_code":1039,"status_msg":"token limit"}})");
  CHECK(window.refusal_class == kExhausted);
  CHECK(window.WaitOrDefault() == minutes(30));
  CHECK(window.phrase == "minimax status_code 1039");
  const auto rate =
      Read(R"({"base_resp":{"status_code":1002,"status_msg":"rate limit exceeded"}})");
  CHECK(rate.refusal_class == kSaturated);
  CHECK(rate.WaitOrDefault() == seconds(2));
}

TEST_CASE("facts c: tokens per minute with Retry-After 7") {
  const auto reading =
      Read(Error("Rate limit reached on tokens per minute. Please try again in 6.9s."),
           {{"Retry-After", "7"}});
  CHECK(reading.refusal_class == kSaturated);
  CHECK(reading.wait == seconds(7));
}

TEST_CASE("facts c: Retry-After 60 is saturated, 61 exhausted") {
  const auto at = Read("{}", {{"Retry-After", "60"}});
  CHECK(at.refusal_class == kSaturated);
  CHECK(at.wait == seconds(60));
  CHECK(at.phrase.empty());
  const auto above = Read("{}", {{"Retry-After", "61"}});
  CHECK(above.refusal_class == kExhausted);
  CHECK(above.wait == seconds(61));
  CHECK_FALSE(above.needs_payment);
}

TEST_CASE("facts c: a long Retry-After outranks the default of the words") {
  const auto reading =
      Read(Error("session usage limit reached, upgrade"), {{"Retry-After", "7200"}});
  CHECK(reading.refusal_class == kExhausted);
  CHECK(reading.wait == seconds(7200));
}

TEST_CASE("facts c: X-RateLimit-Reset in seconds and as a Go duration") {
  const auto tokens = Read("{}", {{"X-RateLimit-Reset-Tokens", "6m0s"}});
  CHECK(tokens.refusal_class == kExhausted);
  CHECK(tokens.wait == minutes(6));
  const auto requests = Read("{}", {{"X-RateLimit-Reset-Requests", "30"}});
  CHECK(requests.refusal_class == kSaturated);
  CHECK(requests.wait == seconds(30));
}

TEST_CASE("facts c: words that say nothing are unknown") {
  CHECK(Read("{}", {{"Retry-After", "soon"}}).refusal_class == kUnknown);
  CHECK(Read(Error("The frobnicator declined")).refusal_class == kUnknown);
  CHECK(Read("").refusal_class == kUnknown);
  CHECK(Read("").default_wait == Duration(0));
}

TEST_CASE("facts c: a status that is not 429 is not classified") {
  const auto reading = Read(Error("insufficient_quota"), {}, "2026-09-01T10:00:00Z", 500);
  CHECK_FALSE(reading.classified);
  CHECK(reading.refusal_class == kUnknown);
  CHECK(Read("").classified);
}

TEST_CASE("facts c: a daily quota of Google's is dated by its retry detail") {
  const std::string body = Google("2h35m3.27s", "9303s");
  const auto dated = Read(body);
  CHECK(dated.refusal_class == kExhausted);
  CHECK(dated.wait == seconds(9303));
  CHECK_FALSE(dated.needs_payment);
  CHECK_FALSE(dated.account_wide);
  CHECK(dated.phrase == "exceeded your current quota");

  // The labels of the corpus call Google's sentence a window that comes back by itself. They say
  // nothing about a header's wait, which Google does not send and which leaves the words their
  // say about payment; whose the quota is, the labels decide: one model's.
  SECTION("a Retry-After above the ceiling governs and leaves what the words say about payment") {
    const auto reading = Read(body, {{"Retry-After", "3600"}});
    CHECK(reading.refusal_class == kExhausted);
    CHECK(reading.wait == hours(1));
    CHECK(reading.needs_payment);
    CHECK_FALSE(reading.account_wide);
  }
  SECTION("a short Retry-After changes nothing") {
    const auto reading = Read(body, {{"Retry-After", "1"}});
    CHECK(reading.refusal_class == kExhausted);
    CHECK(reading.wait == seconds(9303));
    CHECK_FALSE(reading.needs_payment);
  }
}

TEST_CASE("facts c: a short retry detail turns the quota sentence into saturation") {
  const auto reading = Read(Google("23.4s", "23s"));
  CHECK(reading.refusal_class == kSaturated);
  CHECK(reading.wait == seconds(23));
}

TEST_CASE("facts c: prose does not shorten a spent balance") {
  const auto reading =
      Read(Error("Your credit balance is too low. Please try again in 30 seconds."));
  CHECK(reading.refusal_class == kExhausted);
  CHECK(reading.needs_payment);
  CHECK_FALSE(reading.wait);
}

TEST_CASE("facts c: rate limited, try again in 30 seconds") {
  const auto reading = Read(Error("rate limited, try again in 30 seconds"));
  CHECK(reading.refusal_class == kSaturated);
  CHECK(reading.wait == seconds(30));
}

TEST_CASE("facts c: waits in a body") {
  const auto wait = [](std::string_view body) { return Read(body).wait; };
  CHECK(wait(R"({"retryDelay":"0.5s"})") == milliseconds(500));
  CHECK(wait(Google("2h35m3.27s", "0s")) == milliseconds(9303270));
  CHECK(wait(R"({"retryDelay":"99999999999999999999999s","message":"try again in 10 minutes"})") ==
        minutes(10));
  CHECK(wait("retry in 1 day") == hours(24));
  CHECK(wait("try again in 20ms") == milliseconds(20));
  CHECK(wait("retry after 3 hours or so") == hours(3));
  for (const char* none : {"try again in 3 fortnights", "try again in a moment",
                           "try again in 5 requests", "try again in 99999999999 hours"}) {
    CAPTURE(none);
    CHECK_FALSE(wait(none));
  }
}

}  // namespace hotel::decide
