#include "libhotel/base/redact.h"

#include <string>

#include "tests/support/catch.h"

namespace {

using namespace hotel::base;

TEST_CASE("Key-shaped words are masked wherever they stand") {
  CHECK(RedactKeys("Incorrect API key provided: sk-proj-abc123DEF456.") ==
        "Incorrect API key provided: [REDACTED]");
  CHECK(RedactKeys(R"({"key":"gsk_abcdefgh1234"})") == R"({"key":"[REDACTED]"})");
  CHECK(RedactKeys("?key=AIzaSyA1234567890abcdefg&x=1") == "?key=[REDACTED]&x=1");
  CHECK(RedactKeys("sk-ant-api03-aaaa and sk-or-v1-bbbb") == "[REDACTED] and [REDACTED]");
}

TEST_CASE("Credentials behind an authorization scheme are masked") {
  CHECK(RedactKeys("Authorization: Bearer abcdef123456") == "Authorization: Bearer [REDACTED]");
  CHECK(RedactKeys("bearer\t x.y.z-12345") == "bearer\t [REDACTED]");
  CHECK(RedactKeys("Basic dXNlcjpwYXNzd29yZA==") == "Basic [REDACTED]");
}

TEST_CASE("Ordinary words stay") {
  for (const char* text : {"Rate limit exceeded for sk-lab", "a basic question", "Bearer of news",
                           "task-force-one-hundred", "model glm-4.6 is overloaded", "sk-", ""}) {
    CHECK(RedactKeys(text) == text);
  }
}

TEST_CASE("A known secret is masked in every spelling it can come back in") {
  const std::string secret = "p\"a/s\\s w+rd\n";
  for (const std::string& spelling : SecretSpellings(secret)) {
    CHECK(Redact("<" + spelling + ">", secret) == "<[REDACTED]>");
  }
  CHECK(Redact(R"(x p\"a\/s\\s w+rd\u000a y)", secret) == "x [REDACTED] y");
  CHECK(Redact("x p%22a%2Fs%5Cs%20w%2Brd%0A y", secret) == "x [REDACTED] y");
  CHECK(Redact("x p%22a%2fs%5cs%20w%2brd%0a y", secret) == "x [REDACTED] y");
}

TEST_CASE("A secret that occurs twice is masked twice") {
  CHECK(Redact("hunter22hunter22 hunter22", "hunter22") == "[REDACTED][REDACTED] [REDACTED]");
}

TEST_CASE("A very short or empty secret is not searched for") {
  CHECK(Redact("aaa", "a") == "aaa");
  CHECK(Redact("abc", "") == "abc");
}

TEST_CASE("Redacting is linear in hostile text") {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "bearer \"sk-";
  CHECK(RedactKeys(text).size() == text.size());
}

}  // namespace
