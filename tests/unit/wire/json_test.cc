#include "libhotel/wire/json.h"

#include <string>
#include <string_view>

#include "tests/support/catch.h"

namespace hotel::wire {
namespace {

bool Valid(std::string_view text) {
  JsonCursor cursor(text);
  return cursor.Skip() && cursor.AtEnd();
}

std::string Nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

std::string Plain(std::string_view raw) {
  std::string out;
  JsonUnescape(raw, &out);
  return out;
}

TEST_CASE("RFC 8259: valid texts are read") {
  for (const std::string_view text :
       {"{}", "[]", "0", "-0", "1.5e+10", "12345678901234567890123456789012345678901234567890",
        "1e999999", "\"\"", "\" \\\" \\\\ \\/ \\b\\f\\n\\r\\t \\u00e9 \"", "true", "false", "null",
        " \t\r\n [ 1 , { \"a\" : [ ] , \"b\" : { } } ] \n", "[[],[[]],{\"x\":{\"y\":[1,2]}}]",
        "{\"a\":1,\"a\":2}", "\"\x7f\"", "[\"\xc3\xa9\"]"}) {
    INFO(text);
    CHECK(Valid(text));
  }
}

TEST_CASE("RFC 8259: faults are refused") {
  for (const std::string_view text : {"",
                                      " ",
                                      "{",
                                      "}",
                                      "[1,]",
                                      "[,1]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "{a:1}",
                                      "{'a':1}",
                                      "[1 2]",
                                      "[1}",
                                      "{\"a\":1]",
                                      "01",
                                      "+1",
                                      "1.",
                                      ".5",
                                      "1e",
                                      "1e+",
                                      "-",
                                      "tru",
                                      "nulll",
                                      "NaN",
                                      "Infinity",
                                      "\"",
                                      "\"\\\"",
                                      "\"\\x\"",
                                      "\"\\u12g4\"",
                                      "\"\\u12\"",
                                      "\"\n\"",
                                      "\"\x01\"",
                                      "1 1",
                                      "{} {}",
                                      "[1] x",
                                      "// x\n1",
                                      "\xEF\xBB\xBF{}",
                                      "{\"a\":1}}",
                                      "]",
                                      ",",
                                      ":"}) {
    INFO(text);
    CHECK_FALSE(Valid(text));
  }
}

TEST_CASE("JSON: control characters are found at every position of a long string") {
  for (std::size_t at = 0; at < 70; ++at) {
    for (const char bad : {'\x00', '\x1f', '\n'}) {
      std::string text = "\"" + std::string(70, 'x') + "\"";
      text[at + 1] = bad;
      CHECK_FALSE(Valid(text));
    }
    // Bytes that share bits with the special ones are not special.
    for (const char good : {'\x20', '!', '#', '[', ']', '\x7f', '\x80', '\xa2', '\xdc', '\xff'}) {
      std::string text = "\"" + std::string(70, 'x') + "\"";
      text[at + 1] = good;
      CHECK(Valid(text));
    }
  }
}

TEST_CASE("JSON: 512 levels are read, 513 are too deep, whoever descends") {
  CHECK(Valid(Nested(512)));
  const std::string too_deep = Nested(513);
  JsonCursor deep(too_deep);
  CHECK_FALSE(deep.Skip());
  CHECK(deep.too_deep());

  const std::string text = "{\"a\":" + Nested(511) + "}";
  JsonCursor inside(text);
  CHECK(inside.Object([&](std::string_view) { return inside.Skip(); }));
  const std::string over = "{\"a\":" + Nested(512) + "}";
  JsonCursor outside(over);
  CHECK_FALSE(outside.Object([&](std::string_view) { return outside.Skip(); }));
  CHECK(outside.too_deep());
}

TEST_CASE("JSON: an unclosed text of brackets only is refused without recursion") {
  CHECK_FALSE(Valid(std::string(1'000'000, '[')));
  CHECK_FALSE(Valid(std::string(1'000'000, '{')));
}

TEST_CASE("JSON: escapes resolve to UTF-8") {
  CHECK(Plain("a\\u00e9\\n\\/\\\\\\\"") == "a\xc3\xa9\n/\\\"");
  CHECK(Plain("\\ud83d\\ude00") == "\xf0\x9f\x98\x80");
  CHECK(Plain("\\u20AC") == "\xe2\x82\xac");
  CHECK(Plain("\\u0000").size() == 1);
}

TEST_CASE("F159 a lone surrogate escape is valid JSON and has no UTF-8 form") {
  for (const std::string_view raw :
       {"\\ud800", "\\ude00 x", "\\ud83d", "\\ud83d\\ud83d", "\\ud83dx", "\\ud83d\\n"}) {
    INFO(raw);
    CHECK(Valid("\"" + std::string(raw) + "\""));
    std::string out;
    CHECK_FALSE(JsonUnescape(raw, &out));
    CHECK(out.find("\xEF\xBF\xBD") != std::string::npos);
  }
}

TEST_CASE("JSON: texts compare by meaning") {
  CHECK(JsonTextIs("model", "model"));
  CHECK(JsonTextIs("m\\u006fdel", "model"));
  CHECK(JsonTextIs("\\u006d\\u006f\\u0064\\u0065\\u006c", "model"));
  CHECK_FALSE(JsonTextIs("Model", "model"));
  CHECK_FALSE(JsonTextIs("model\\u0000", "model"));
  CHECK_FALSE(JsonTextIs("mode\\\\l", "model"));
  CHECK_FALSE(JsonTextIs("models", "model"));
  CHECK_FALSE(JsonTextIs("mode", "model"));
  CHECK_FALSE(JsonTextIs("", "model"));
  CHECK_FALSE(JsonTextIs("model", ""));
  CHECK(JsonTextIs("", ""));
  CHECK(JsonTextIs("a\\\\b", "a\\b"));
  CHECK_FALSE(JsonTextIs("a\\b", "a\\b"));
  CHECK(JsonTextIs("\\/\u00e9", "/\xC3\xA9"));
}

TEST_CASE("JSON: numbers that mean zero") {
  for (const std::string_view zero : {"0", "-0", "0.0", "0e5", "-0.000E-7"}) {
    CHECK(JsonNumberIsZero(zero));
  }
  for (const std::string_view other : {"1", "-1", "0.01", "10", "1e0"}) {
    CHECK_FALSE(JsonNumberIsZero(other));
  }
}

TEST_CASE("JsonString: any bytes become a valid token that means them") {
  for (int c = 0; c < 128; ++c) {
    const std::string text = std::string("a") + static_cast<char>(c) + "b";
    const std::string token = JsonString(text);
    CHECK(Valid(token));
    CHECK(Plain(std::string_view(token).substr(1, token.size() - 2)) == text);
  }
  CHECK(JsonString("\xf0\x9f\x98\x80\xc3\xa9") == "\"\xf0\x9f\x98\x80\xc3\xa9\"");
  CHECK(JsonString("a\xffz\xc3") == "\"a\xEF\xBF\xBDz\xEF\xBF\xBD\"");
  CHECK(JsonString("a\"\\\n\x01") == "\"a\\\"\\\\\\n\\u0001\"");
}

}  // namespace
}  // namespace hotel::wire
