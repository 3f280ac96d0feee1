// Lower case of names (seed 000, "Exact Base Name Matching").
#include "libhotel/base/lower_case.h"

#include <cstdint>
#include <string>

#include "libhotel/base/strings.h"
#include "libhotel/base/utf8.h"
#include "tests/support/catch.h"

namespace hotel::base {
namespace {

std::string Utf8Of(std::int32_t point) {
  std::string text;
  const auto follow = [&](int shift) {
    text.push_back(static_cast<char>(0x80 | (point >> shift & 0x3F)));
  };
  if (point < 0x800) {
    text.push_back(static_cast<char>(0xC0 | point >> 6));
  } else if (point < 0x10000) {
    text.push_back(static_cast<char>(0xE0 | point >> 12));
    follow(6);
  } else {
    text.push_back(static_cast<char>(0xF0 | point >> 18));
    follow(12);
    follow(6);
  }
  follow(0);
  return text;
}

TEST_CASE("lower case: ASCII") {
  CHECK(LowerCase("") == "");
  CHECK(LowerCase("GLM-4.6 [Z]@") == "glm-4.6 [z]@");
}

TEST_CASE("lower case: letters of other alphabets") {
  CHECK(LowerCase("ÜBER-Größe") == "über-größe");
  CHECK(LowerCase("МОДЕЛЬ-Ж") == "модель-ж");
  CHECK(LowerCase("ΣΟΦΙΑ") == "σοφια");
  CHECK(LowerCase("ŁÓDŹ Ÿ Ǆ") == "łódź ÿ ǆ");
  CHECK(LowerCase("ＧＬＭ") == "ｇｌｍ");
  CHECK(LowerCase("𐐀") == "𐐨");
}

TEST_CASE("lower case: what has none stays") {
  const std::string text = "通义千问 モデル ß ı Łł½ 🏨";
  CHECK(LowerCase(text) == "通义千问 モデル ß ı łł½ 🏨");
}

TEST_CASE("lower case: lengths may change") {
  CHECK(LowerCase("İ") == "i");
  CHECK(LowerCase("K") == "k");  // KELVIN SIGN
  CHECK(LowerCase("Ⱥ") == "ⱥ");  // two bytes to three
}

TEST_CASE("lower case: bytes that are no UTF-8 stay") {
  CHECK(LowerCase("A\xFF\xC3") == "a\xFF\xC3");
  CHECK(LowerCase("\xED\xA0\x80Ü\x80") == "\xED\xA0\x80ü\x80");
}

TEST_CASE("lower case: what is lower case stays so, and what is UTF-8 stays UTF-8") {
  for (std::int32_t point = 0x80; point < 0x1F000; ++point) {
    if (point >= 0xD800 && point < 0xE000) continue;
    const std::string text = Utf8Of(point);
    std::string appended;
    AppendUtf8(static_cast<std::uint32_t>(point), &appended);
    if (appended != text || CodePointOf(text) != static_cast<std::uint32_t>(point)) {
      FAIL("U+" << std::hex << point);
    }
    const std::string lower = LowerCase(text);
    const bool whole = Utf8Length(lower) == lower.size();
    if (!whole || LowerCase(lower) != lower) FAIL("U+" << std::hex << point);
  }
}

}  // namespace
}  // namespace hotel::base
