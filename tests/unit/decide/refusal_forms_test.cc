// Forms: what wraps the words, and how headers write a wait.
#include <chrono>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "hotel/rate_limit.h"

#include "libhotel/decide/refusal_instants.h"
#include "libhotel/decide/refusal_phrases.h"
#include "tests/support/catch.h"
#include "tests/unit/decide/refusal_read.h"

namespace hotel::decide {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST_CASE("F087 the same words in any wrapping are read alike") {
  for (const char* body :
       {"Usage limit reached for 5 hour", "USAGE LIMIT REACHED FOR 5 HOUR",
        R"({"error":{"message":"Usage limit reached for 5 hour"}})",
        R"({"detail":{"errors":[{"info":{"text":"Usage limit reached for 5 hour"}}]}})",
        R"({"error":"{\"error\":{\"message\":\"Usage limit reached for 5 hour\"}}"})",
        R"({"error":"{\"a\":\"{\\\"message\\\":\\\"Usage limit reached for 5 hour\\\"}\"}"})",
        "{'error': {'message': 'Usage limit reached for 5 hour', 'code': None}}",
        "<html><body><p>Usage limit reached for 5 hour</p></body></html>",
        "event: error\ndata: {\"error\":{\"message\":\"Usage limit reached for 5 hour\"}}\n\n",
        R"({"error":{"message":"\u0055sage limit reached for 5 hour"}})",
        R"({"error":{"message":"Usage limit reached for 5 hour)"}) {
    CAPTURE(body);
    const auto reading = Read(body);
    CHECK(reading.refusal_class == kExhausted);
    CHECK(reading.account_wide);
  }
}

TEST_CASE("capitals of Latin and Cyrillic letters are read like small ones") {
  CHECK(Read("\xD0\x9D\xD0\x95\xD0\x94\xD0\x9E\xD0\xA1\xD0\xA2\xD0\x90\xD0\xA2\xD0\x9E\xD0\xA7"
             "\xD0\x9D\xD0\x9E \xD0\xA1\xD0\xA0\xD0\x95\xD0\x94\xD0\xA1\xD0\xA2\xD0\x92")
            .needs_payment);
  CHECK(Read("Недостаточно средств").needs_payment);
  CHECK(Read("Überlastet").refusal_class == kSaturated);
  CHECK(Read("CRÉDITS ÉPUISÉS").needs_payment);
  // The multiplication sign has no case; the bytes around a cut letter stay.
  CHECK(Read("5 \xC3\x97 insufficient balance \xD0").needs_payment);
}

TEST_CASE("what follows a unit makes it a wait in scripts without spaces") {
  for (const char* body : {"请 30 秒后重试", "請 30 秒後再試", "30초 후 다시 시도하세요",
                           "30초후 다시", "30秒後に再試行してください"}) {
    CAPTURE(body);
    const auto reading = Read(body);
    CHECK(reading.refusal_class == kSaturated);
    CHECK(reading.wait == seconds(30));
  }
  const auto hours_later = Read("한도를 초과했습니다. 3시간 후 다시 시도하세요.");
  CHECK(hours_later.refusal_class == kExhausted);
  CHECK(hours_later.wait == hours(3));
  CHECK_FALSE(hours_later.account_wide);
}

TEST_CASE("a limit that is only named does not contradict a balance that is spent") {
  CHECK(Read("No credits left. Limits are 60 requests per minute.").needs_payment);
  CHECK(Read("No credits left. Rate limit of 60 requests per minute exceeded.").refusal_class ==
        kUnknown);
  CHECK(Read("Too many concurrent requests. No credits left.").refusal_class == kUnknown);
}

TEST_CASE("names of fields are no prose, in any quotes and with any characters") {
  CHECK(Read(R"({"insufficient balance":"x"})").refusal_class == kExhausted);  // no name: a space
  CHECK(Read(R"({"insufficient_balance":"x"})").refusal_class == kUnknown);
  CHECK(Read(R"({"insufficient_balance" : 1})").refusal_class == kUnknown);
  CHECK(Read(R"({'insufficient_balance': None})").refusal_class == kUnknown);
  CHECK(Read(R"({"insufficient.balance":"x"})").refusal_class == kUnknown);
  CHECK(Read(R"({"message":"no","model":"overloaded-7b"})").refusal_class == kUnknown);
}

TEST_CASE("only the first 16 KiB of a body are read") {
  const std::string words = Error("Insufficient balance");
  CHECK(Read(words + std::string(100'000, ' ')).refusal_class == kExhausted);
  CHECK(Read(std::string(kRefusalBodyLimit, ' ') + words).refusal_class == kUnknown);
}

TEST_CASE("a body cut anywhere never turns spent into busy or busy into spent") {
  const std::string spent =
      R"({"error":{"code":429,"message":"You exceeded your daily quota of tokens, insufficient balance","type":"insufficient_quota"}})";
  const std::string busy =
      R"({"error":{"message":"Concurrency limit reached: the server is overloaded, 20 requests per minute","type":"rate_limit_error"}})";
  for (std::size_t length = 0; length <= spent.size(); ++length) {
    CAPTURE(length);
    CHECK(Read(spent.substr(0, length)).refusal_class != kSaturated);
  }
  for (std::size_t length = 0; length <= busy.size(); ++length) {
    CAPTURE(length);
    CHECK(Read(busy.substr(0, length)).refusal_class != kExhausted);
  }
}

TEST_CASE("links say nothing") {
  CHECK(Read(Error("Error. See https://x.example/monthly-usage-limit-reached/insufficient-balance"))
            .refusal_class == kUnknown);
}

TEST_CASE("facts c: Retry-After in its forms") {
  const auto wait = [](std::string_view value) {
    return Read("", {{"Retry-After", std::string(value)}}).wait;
  };
  CHECK(wait("7") == seconds(7));
  CHECK(wait("2.5") == milliseconds(2500));
  CHECK(wait("Tue, 01 Sep 2026 10:00:30 GMT") == seconds(30));
  CHECK(wait("Tuesday, 01-Sep-26 10:00:30 GMT") == seconds(30));
  CHECK(wait("Tue Sep  1 10:00:30 2026") == seconds(30));
  CHECK(wait("30s") == seconds(30));
  for (const char* none : {"0", "-1", "soon", "", "Tue, 01 Sep 2026 09:59:30 GMT", "1e400",
                           "99999999999999999999", "Tue, 99 Sep 2026 10:00:30 GMT"}) {
    CAPTURE(none);
    CHECK_FALSE(wait(none));
  }
}

TEST_CASE("decisions 8: retry-after-ms comes before Retry-After") {
  CHECK(Read("", {{"retry-after", "2"}, {"retry-after-ms", "1574"}}).wait == milliseconds(1574));
}

TEST_CASE("facts c: resets as seconds, Unix seconds, Unix milliseconds and Go durations") {
  const auto wait = [](std::string_view value) {
    return Read("", {{"X-RateLimit-Reset", std::string(value)}}).wait;
  };
  CHECK(wait("30") == seconds(30));
  CHECK(wait("1788256841") == seconds(41));
  CHECK(wait("1788256841000") == seconds(41));
  CHECK(wait("1m12.5s") == milliseconds(72500));
  CHECK(wait("500ms") == milliseconds(500));
  CHECK(wait("2026-09-01T12:00:20+02:00") == seconds(20));
  for (const char* none : {"0", "1788256700", "-5s", "x", "1m2", "5 parsecs"}) {
    CAPTURE(none);
    CHECK_FALSE(wait(none));
  }
}

TEST_CASE("decisions 8: anthropic-ratelimit resets of the spent dimension") {
  const HeaderList headers = {{"anthropic-ratelimit-requests-remaining", "49"},
                              {"anthropic-ratelimit-requests-reset", "2026-09-01T11:00:00Z"},
                              {"anthropic-ratelimit-input-tokens-remaining", "0"},
                              {"anthropic-ratelimit-input-tokens-reset", "2026-09-01T10:00:32Z"}};
  CHECK(Read("", headers).wait == seconds(32));
}

TEST_CASE("decisions 8: resets_in_seconds and resets_at") {
  CHECK(Read(R"({"resets_in_seconds":7139})").wait == seconds(7139));
  CHECK(Read(R"({"resets_at":1788264000})").wait == hours(2));
  CHECK(Read(R"({"resets_at":1788264000,"resets_in_seconds":90})").wait == seconds(90));
  CHECK(Read(R"({"retry_after_ms":1500})").wait == milliseconds(1500));
  CHECK(Read(R"({"retry_after":5})").wait == seconds(5));
}

TEST_CASE("waits in words") {
  const auto wait = [](std::string_view text) { return Read(text).wait; };
  CHECK(wait("Please wait 8 hours 24 minutes and try again") == minutes(504));
  CHECK(wait("It will reset in 11 hours 51 minutes.") == minutes(711));
  CHECK(wait("Your rate limit resets in ~5s.") == seconds(5));
  CHECK(wait("Please wait 23 seconds before retrying.") == seconds(23));
  CHECK(wait("Quota will be replenished in 22.14:18:12.") == seconds(1952292));
  CHECK(wait("请在 30 秒后重试") == seconds(30));
  CHECK(wait("Bitte in 30 Sekunden erneut versuchen") == seconds(30));
  for (const char* window : {"policy ip over ratelimit,limit:5,time:1 minute",
                             "Rate limit of 10 per 60s exceeded", "60 requests in 1 minute"}) {
    CAPTURE(window);
    CHECK_FALSE(wait(window));
  }
}

TEST_CASE("hostile numbers state no wait") {
  for (const char* text :
       {"retry in 1e309 seconds", "retry in 99999999999999999999999999999999999999999999 s",
        "retry in 0 seconds", "retry in 0.0000000000001 s", "retry in 31 days",
        R"({"retryDelay":"-5s"})", R"({"retryDelay":""})", R"({"resets_at":99999999999999999999})",
        R"({"retry_after":null})"}) {
    CAPTURE(text);
    CHECK_FALSE(Read(text).wait);
  }
}

TEST_CASE("dates that do not exist are none") {
  CHECK_FALSE(ParseZonedTime("2026-02-30T00:00:00Z"));
  CHECK_FALSE(ParseZonedTime("2026-01-01T25:00:00Z"));
  CHECK_FALSE(ParseZonedTime("2026-01-01T10:00:00"));
  CHECK_FALSE(ParseHttpDate("Sun, 31 Feb 2026 10:00:00 GMT"));
  CHECK_FALSE(ParseHttpDate("Sun, 01 Feb 2026 10:00:00 PST"));
  CHECK(ParseZonedTime("2026-01-01T10:00:00-02:00") == base::ParseTime("2026-01-01T12:00:00Z"));
}

TEST_CASE("every row of the table has a key of its own, a provenance and a default wait") {
  std::set<std::string_view> keys;
  for (const RefusalPhrase& phrase : RefusalPhrases()) {
    CAPTURE(phrase.key);
    CHECK(keys.insert(phrase.key).second);
    CHECK_FALSE(phrase.provenance.empty());
    CHECK_FALSE(phrase.providers.empty());
    CHECK(phrase.refusal_class != kUnknown);
    CHECK(phrase.default_wait >= kSaturatedWait);
    CHECK((phrase.refusal_class == kExhausted || !phrase.needs_payment));
  }
}

TEST_CASE("docs/refusals.md is generated from the table") {
  std::ifstream file(HOTEL_SOURCE_DIR "/docs/refusals.md");
  std::ostringstream text;
  text << file.rdbuf();
  CHECK(text.str() == RefusalPhrasesMarkdown());
}

}  // namespace hotel::decide
