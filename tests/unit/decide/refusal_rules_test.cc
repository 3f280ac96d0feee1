// The rules behind the readings, and the confusions that must not happen (decisions 8).
#include <chrono>
#include <string>

#include "hotel/rate_limit.h"

#include "tests/support/catch.h"
#include "tests/unit/decide/refusal_read.h"

namespace hotel::decide {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST_CASE("rule 1: a stated wait above the ceiling is exhausted, even of a minute's budget") {
  const auto reading = Read(Error("Limit of tokens per minute reached. Try again in 1m30s."));
  CHECK(reading.refusal_class == kExhausted);
  CHECK(reading.wait == seconds(90));
  CHECK(Read(Error("Rate limited. Try again in 60 seconds.")).refusal_class == kSaturated);
}

TEST_CASE("rule 1: the ceiling is the caller's") {
  const HeaderList headers = {{"retry-after", "45"}};
  const UpstreamRefusal refusal{429, &headers, "", {}, ""};
  CHECK(StandardClassifier().Read(refusal, seconds(45)).refusal_class == kSaturated);
  CHECK(StandardClassifier().Read(refusal, seconds(44)).refusal_class == kExhausted);
}

TEST_CASE("rule 1: a long wait in the text outranks a short Retry-After") {
  const auto reading =
      Read(Error("Rate limited, please try again in 8 hours"), {{"retry-after", "5"}});
  CHECK(reading.refusal_class == kExhausted);
  CHECK(reading.wait == hours(8));
}

TEST_CASE("rule 2: a short Retry-After or prose does not make a spent account busy") {
  for (const char* message :
       {"Insufficient balance", "You have run out of credits", "Your account is in arrears",
        "Weekly usage limit reached", "Monthly limit exceeded for your subscription",
        "You have reached your billing hard limit", "Budget has been exceeded"}) {
    CAPTURE(message);
    const auto header = Read(Error(message), {{"retry-after", "3"}});
    CHECK(header.refusal_class == kExhausted);
    CHECK_FALSE(header.wait);
    const auto prose = Read(Error(std::string(message) + ". Please retry in 10 seconds."));
    CHECK(prose.refusal_class == kExhausted);
    CHECK_FALSE(prose.wait);
  }
}

TEST_CASE("rule 2: a retry detail above the ceiling stays exhausted") {
  const auto reading =
      Read(R"({"error":{"message":"Daily quota exceeded","details":[{"retryDelay":"3700s"}]}})");
  CHECK(reading.refusal_class == kExhausted);
  CHECK(reading.wait == seconds(3700));
}

TEST_CASE("rule 3: one word apart, minute and day") {
  const char* const forms[] = {"Too many tokens per %, please wait before trying again.",
                               "requests per % (limit 10) exceeded",
                               "limited to 1000 calls / %",
                               "generate_requests_per_model_per_% quota exceeded",
                               "GenerateRequestsPer%PerProject limit reached",
                               "Limit of 3 per 1 % reached"};
  for (const std::string form : forms) {
    const auto with = [&form](const char* unit) {
      std::string text = form;
      return Error(text.replace(text.find('%'), 1, unit));
    };
    const bool camel = form.find("Per%Per") != std::string::npos;
    CAPTURE(form);
    CHECK(Read(with(camel ? "Minute" : "minute")).refusal_class == kSaturated);
    CHECK(Read(with(camel ? "Second" : "second")).refusal_class == kSaturated);
    CHECK(Read(with(camel ? "Hour" : "hour")).refusal_class == kExhausted);
    CHECK(Read(with(camel ? "Day" : "day")).refusal_class == kExhausted);
    CHECK(Read(with(camel ? "Month" : "month")).refusal_class == kExhausted);
  }
}

TEST_CASE("rule 3: words that restate the status are unknown") {
  for (const char* message :
       {"Too Many Requests", "Rate limit exceeded", "You have sent too many requests",
        "rate_limit_exceeded", "Request was throttled.", "429", "API rate limit exceeded",
        "Resource has been exhausted (e.g. check quota)."}) {
    CAPTURE(message);
    CHECK(Read(Error(message, "rate_limit_error")).refusal_class == kUnknown);
  }
  CHECK(Read("<html><head><title>429 Too Many Requests</title></head></html>").refusal_class ==
        kUnknown);
}

TEST_CASE("rule 3: text and code that contradict each other are unknown") {
  CHECK(Read(Error("Concurrency limit reached", "insufficient_quota", "insufficient_quota"))
            .refusal_class == kUnknown);
  CHECK(Read(Error("Insufficient balance", "overloaded_error")).refusal_class == kUnknown);
  SECTION("unless the text dates it") {
    CHECK(Read(Error("Server busy, retry in 2 hours", "insufficient_quota")).refusal_class ==
          kExhausted);
  }
}

TEST_CASE("rule 4: only the reset of a spent dimension counts") {
  const HeaderList headers = {{"x-ratelimit-remaining-requests", "0"},
                              {"x-ratelimit-reset-requests", "9s"},
                              {"x-ratelimit-remaining-tokens", "5000"},
                              {"x-ratelimit-reset-tokens", "2h0m0s"}};
  const auto reading = Read(Error("Rate limit reached"), headers);
  CHECK(reading.refusal_class == kSaturated);
  CHECK(reading.wait == seconds(9));
  SECTION("or of the one the body names") {
    const HeaderList room = {{"x-ratelimit-remaining-tokens", "100"},
                             {"x-ratelimit-reset-tokens", "20s"},
                             {"x-ratelimit-remaining-requests", "5"},
                             {"x-ratelimit-reset-requests", "1h"}};
    CHECK(Read(Error("Limit reached", "tokens"), room).wait == seconds(20));
    CHECK_FALSE(Read(Error("Limit reached"), room).wait);
  }
  SECTION("F093 with several spent, the longest") {
    const HeaderList two = {{"x-ratelimit-remaining-requests", "0"},
                            {"x-ratelimit-reset-requests", "9s"},
                            {"x-ratelimit-remaining-tokens", "0"},
                            {"x-ratelimit-reset-tokens", "31s"}};
    CHECK(Read("", two).wait == seconds(31));
  }
}

TEST_CASE("rule 5: upsell is not exhaustion") {
  for (const char* upsell :
       {"Please add a payment method to increase your rate limit.",
        "Upgrade to the Dev Tier for more.", "Need more tokens? Buy credits in the console.",
        "Contact sales to discuss your billing options.",
        "You can purchase credits to raise your monthly quota.",
        "Visit the billing page to add more."}) {
    CAPTURE(upsell);
    const auto reading = Read(Error(std::string("20 requests per minute reached. ") + upsell));
    CHECK(reading.refusal_class == kSaturated);
    CHECK_FALSE(reading.needs_payment);
  }
}

TEST_CASE("rule 6: the account or one model") {
  CHECK(Read(Error("Insufficient balance")).account_wide);
  CHECK(Read(Error("Your weekly usage limit is reached")).account_wide);
  CHECK(Read(Error("Your account is suspended")).account_wide);
  CHECK(Read(Error("Daily limit reached for this API key")).account_wide);
  CHECK_FALSE(Read(Error("Daily limit reached for this model")).account_wide);
  CHECK_FALSE(Read(Error("Too many tokens per day")).account_wide);
  CHECK_FALSE(Read(Error("Rate limit exceeded: free-models-per-day")).account_wide);
}

TEST_CASE("rule 6: what comes back by itself needs no payment") {
  CHECK_FALSE(Read(Error("You have used all your monthly included credits")).needs_payment);
  CHECK_FALSE(Read(Error("Monthly quota exceeded")).needs_payment);
  CHECK(Read(Error("Monthly spending limit reached")).needs_payment);
  CHECK(Read(Error("Your current subscription plan does not include this model")).needs_payment);
}

TEST_CASE("rule 7: dates without a zone and dates in the past give no wait") {
  const auto wait = [](std::string_view when) {
    return Read(Error("Weekly limit reached. It will reset at " + std::string(when))).wait;
  };
  CHECK_FALSE(wait("2026-09-02 05:38:28"));
  CHECK_FALSE(wait("2020-01-01T00:00:00Z"));
  CHECK_FALSE(wait("05:38"));
  CHECK(wait("2026-09-01T12:00:00Z") == hours(2));
  CHECK(wait("2026-09-01 20:00:00 +0800 CST") == hours(2));
  CHECK(wait("2026-09-01 12:00 UTC") == hours(2));
  CHECK(wait("2026-09-01T14:00:00+02:00") == hours(2));
}

TEST_CASE("rule 7: a limit of zero is exhausted and to be paid") {
  for (const char* body :
       {R"({"error":{"message":"images per min: Limit 0, Used 0, Requested 1"}})",
        R"({"error":{"message":"per minute quota","metadata":{"quota_limit_value":"0"}}})",
        R"({"error":{"message":"Quota exceeded for metric requests, limit: 0, model: m"}})"}) {
    CAPTURE(body);
    const auto reading = Read(body);
    CHECK(reading.refusal_class == kExhausted);
    CHECK(reading.needs_payment);
  }
}

TEST_CASE("rule 8: a request that is itself too large is unknown") {
  const auto reading = Read(
      Error("Request too large on tokens per min (TPM): Limit 30000, Requested 30601.", "tokens"));
  CHECK(reading.refusal_class == kUnknown);
  CHECK_FALSE(reading.wait);
  CHECK(Read(Error("tokens per min: Limit 30000, Used 100, Requested 30601")).refusal_class ==
        kUnknown);
  CHECK(Read(Error("tokens per min: Limit 30000, Used 9000, Requested 25000")).refusal_class ==
        kSaturated);
}

TEST_CASE("decisions 8: a busy provider is not read as spent") {
  for (const char* message :
       {"Engine overloaded", "No capacity available for this model", "Concurrency limit exhausted",
        "Too many parallel requests for your plan", "Service tier capacity exceeded",
        "Request queue is full", "Model busy, retry later", "We are experiencing high demand",
        "QPS limit reached", "Your quota of 10 RPM is exhausted",
        "Insufficient quota: requests per minute", "Usage limit of 20k tokens per minute reached",
        "You are out of requests for this minute: 3 per minute"}) {
    CAPTURE(message);
    CHECK(Read(Error(message)).refusal_class == kSaturated);
  }
}

TEST_CASE("decisions 8: a spent account is not read as busy") {
  for (const char* message :
       {"Your monthly capacity is used up", "Daily concurrency credits exhausted",
        "You have used your weekly capacity", "Balance depleted, all workers stopped",
        "Quota exhausted, service busy"}) {
    CAPTURE(message);
    CHECK(Read(Error(message)).refusal_class != kSaturated);
  }
}

TEST_CASE("F091 a limit that names a reset is a window") {
  CHECK(Read("Weekly usage limit reached. Resets in 6hr 29min.").wait == seconds(23340));
  CHECK(Read("Limit reached, reset after 2m 13s").wait == seconds(133));
  CHECK(Read("Limit reached, available in 90 seconds").wait == seconds(90));
  const auto undated = Read("Usage limit reached, try again at 05:38");
  CHECK(undated.refusal_class == kExhausted);
  CHECK(undated.WaitOrDefault() == minutes(30));
}

TEST_CASE("F099 the same vendor's overload and account window") {
  CHECK(Read(R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})")
            .refusal_class == kSaturated);
  const HeaderList headers = {{"anthropic-ratelimit-unified-status", "rejected"},
                              {"anthropic-ratelimit-unified-reset", "1788264000"}};
  const auto spent =
      Read(R"({"type":"error","error":{"type":"rate_limit_error","message":"Error"}})", headers);
  CHECK(spent.refusal_class == kExhausted);
  CHECK(spent.wait == hours(2));
  CHECK(spent.account_wide);
}

TEST_CASE("other statuses are read when asked") {
  CHECK(ReadAs(402, "").refusal_class == kExhausted);
  CHECK(ReadAs(402, "").needs_payment);
  CHECK(ReadAs(529, "").refusal_class == kSaturated);
  CHECK(ReadAs(503, "").refusal_class == kUnknown);
  CHECK(ReadAs(500, Error("insufficient balance (1008)")).refusal_class == kExhausted);
}

TEST_CASE("facts e: nothing remaining is literally 0") {
  CHECK(StatesNothingRemaining({{"X-RateLimit-Remaining-Requests", "0"}}));
  CHECK(StatesNothingRemaining({{"x-ratelimit-remaining-tokens", " 0 "}}));
  CHECK(StatesNothingRemaining({{"x-ratelimit-remaining", "0"}}));
  CHECK_FALSE(StatesNothingRemaining({{"x-ratelimit-remaining", "00"}}));
  CHECK_FALSE(StatesNothingRemaining({{"x-ratelimit-remaining", "10"}}));
  CHECK_FALSE(StatesNothingRemaining({{"x-ratelimit-remaining-day", "0"}}));
  CHECK_FALSE(StatesNothingRemaining({}));
}

}  // namespace hotel::decide
