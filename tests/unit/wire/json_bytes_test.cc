#include "libhotel/wire/json_bytes.h"

#include <string>

#include "tests/support/catch.h"

namespace hotel::wire {
namespace {

TEST_CASE("the first special byte is found wherever it stands") {
  // Longer than two of the widest steps, so that every step and every rest is met.
  for (std::size_t size = 0; size <= 40; ++size) {
    const std::string plain(size, 'x');
    REQUIRE(FindJsonSpecial(plain, 0) == size);
    for (std::size_t at = 0; at < size; ++at) {
      for (const char special : {'"', '\\', '\n', '\0', '\x1f'}) {
        std::string text = plain;
        text[at] = special;
        text.back() = at + 1 == size ? special : '"';  // a later one does not win
        for (std::size_t from = 0; from <= at; ++from) {
          if (FindJsonSpecial(text, from) != at) FAIL("size " << size << ", at " << at);
        }
      }
    }
  }
}

TEST_CASE("every byte is special or plain as RFC 8259 says") {
  for (int value = 0; value < 256; ++value) {
    std::string text(32, 'x');
    text[5] = static_cast<char>(value);
    const bool special = value < 0x20 || value == '"' || value == '\\';
    INFO("byte " << value);
    CHECK(FindJsonSpecial(text, 0) == (special ? 5 : 32));
    CHECK(FindJsonSpecial(text.substr(0, 6), 0) == (special ? 5 : 6));
  }
}

}  // namespace
}  // namespace hotel::wire
