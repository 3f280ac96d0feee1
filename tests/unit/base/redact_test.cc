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

TEST_CASE("Whether there is a key in it can be asked beforehand") {
  for (const std::string_view text : {"sk-abcdefgh12345", "acme/sk-abcdefgh12345",
                                      "hotel/x Bearer abcdef123", "key: gsk_0123456789"}) {
    INFO(text);
    CHECK(HoldsKey(text));
    CHECK(RedactKeys(text) != text);
  }
  for (const std::string_view text :
       {"", "hotel/glm-4.6", "acme/z-ai/glm-4.6", "risk-assessment-model", "sk-learn", "basic"}) {
    INFO(text);
    CHECK_FALSE(HoldsKey(text));
    CHECK(RedactKeys(text) == text);
  }
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

TEST_CASE("F175 a secret whose characters are escaped more than they must be is masked") {
  const std::string secret = "sec/ret+key==Zq9876543210abcdef";
  CHECK(Redact(R"({"m":"bad key sec/ret\u002Bkey\u003d\u003dZq9876543210abcdef!"})", secret) ==
        R"({"m":"bad key [REDACTED]!"})");
  CHECK(Redact(R"(x sec\/ret\u002bkey%3D=Zq9876543210abcdef y)", secret) == "x [REDACTED] y");
  CHECK(Redact(R"(x sec\\/ret\\u002bkey==Zq9876543210abcdef y)", secret) == "x [REDACTED] y");
  std::string all;
  for (const char c : secret) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    all += "\\u00";
    all += kDigits[static_cast<std::size_t>(c) >> 4];
    all += kDigits[static_cast<std::size_t>(c) & 15];
  }
  CHECK(Redact("<" + all + ">", secret) == "<[REDACTED]>");
  CHECK(Redact(R"(sec/ret\u002Ckey)", secret) == R"(sec/ret\u002Ckey)");
}

TEST_CASE("Looking for a secret in a wall of backslashes takes no time") {
  const std::string wall(1 << 20, '\\');
  CHECK(Redact(wall, "sk\\uff").size() <= wall.size() + 16);
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
