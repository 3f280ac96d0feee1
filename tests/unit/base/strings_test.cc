#include "libhotel/base/strings.h"

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.h"

namespace {

using namespace hotel::base;

TEST_CASE("Lower touches ASCII letters only") {
  CHECK(Lower("GLM-4.6 \xC3\x84") == "glm-4.6 \xC3\x84");
}

TEST_CASE("Trim takes white space off both ends") {
  CHECK(Trim(" \t\r\n a b \n") == "a b");
  CHECK(Trim(" \n").empty());
  CHECK(Trim("").empty());
}

TEST_CASE("EqualsIgnoreCase needs equal lengths") {
  CHECK(EqualsIgnoreCase("Content-Type", "content-type"));
  CHECK_FALSE(EqualsIgnoreCase("a", "ab"));
  CHECK_FALSE(EqualsIgnoreCase("a", "b"));
}

TEST_CASE("Split keeps empty pieces") {
  CHECK(Split("a,,b,", ',') == std::vector<std::string_view>{"a", "", "b", ""});
  CHECK(Split("", ',') == std::vector<std::string_view>{""});
}

TEST_CASE("Utf8Length tells well-formed sequences from others") {
  CHECK(Utf8Length("a") == 1);
  CHECK(Utf8Length("\xC3\xA9") == 2);
  CHECK(Utf8Length("\xE2\x82\xAC") == 3);
  CHECK(Utf8Length("\xF0\x9F\x98\x80") == 4);
  for (const std::string_view bad :
       {"", "\x80", "\xC3", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xE2\x82",
        "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC3("}) {
    CHECK(Utf8Length(bad) == 0);
  }
}

TEST_CASE("TruncateUtf8 never cuts inside a character") {
  const std::string text = "a\xC3\xA9\xE2\x82\xAC";  // 1 + 2 + 3 bytes
  CHECK(TruncateUtf8(text, 6) == text);
  CHECK(TruncateUtf8(text, 5) == "a\xC3\xA9");
  CHECK(TruncateUtf8(text, 3) == "a\xC3\xA9");
  CHECK(TruncateUtf8(text, 2) == "a");
  CHECK(TruncateUtf8(text, 0).empty());
}

}  // namespace
