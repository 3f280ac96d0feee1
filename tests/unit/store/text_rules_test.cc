// What stored text may consist of.
#include "libhotel/store/text_rules.h"

#include <string>
#include <string_view>

#include "tests/support/catch.h"

namespace hotel::store {
namespace {

std::string Repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

constexpr std::string_view kHotel = "\xF0\x9F\x8F\xA8";  // one character, four bytes

TEST_CASE("seed 000 the lengths of names and labels count characters") {
  CHECK(CheckCharacters("name", Repeated(kHotel, 128), 1, 128).ok());
  CHECK(CheckCharacters("name", Repeated("\xC3\xA9", 128), 1, 128).ok());
  CHECK(CheckCharacters("name", Repeated("a", 128), 1, 128).ok());
  for (const std::string& text : {std::string(), Repeated(kHotel, 129), Repeated("\xC3\xA9", 129),
                                  Repeated("a", 129), Repeated("a", 100000)}) {
    CHECK(CheckCharacters("name", text, 1, 128).message() == "name must have 1 to 128 characters");
  }
  CHECK(CheckCharacters("label", "", 0, 5).ok());
  CHECK(CheckCharacters("label", Repeated(kHotel, 6), 0, 5).message() ==
        "label must not be longer than 5 characters");
  // Bytes that begin nothing are not text, however few characters they make.
  CHECK(CheckCharacters("name", Repeated("\x80", 400), 1, 128).code() ==
        absl::StatusCode::kInvalidArgument);
  CHECK(CheckCharacters("name", "a\xC3", 1, 128).message() == "name must be UTF-8");
  CHECK(CheckCharacters("name", "a\nb", 1, 128).message() ==
        "name must not hold control characters");
  CHECK(CheckCharacters("name", "a\nb", 1, 128, Lines::kMany).ok());
}

TEST_CASE("the lengths of addresses and paths count bytes") {
  CHECK(CheckText("path", Repeated("\xC3\xA9", 5), 1, 10).ok());
  CHECK(CheckText("path", Repeated("\xC3\xA9", 6), 1, 10).message() ==
        "path must have 1 to 10 bytes");
}

}  // namespace
}  // namespace hotel::store
