// The YAML layer: lines, aliases, and texts made to hurt a parser.
#include "libhotel/settings/document.h"

#include <algorithm>
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/settings/support.h"

namespace {

using namespace hotel::settings;

NodePtr Parse(std::string_view text) {
  SyntaxError error;
  const NodePtr root = ParseDocument(text, &error);
  INFO(error.message);
  REQUIRE(root != nullptr);
  return root;
}

SyntaxError ErrorOf(std::string_view text) {
  SyntaxError error;
  REQUIRE(ParseDocument(text, &error) == nullptr);
  return error;
}

std::string Repeat(std::string_view text, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

TEST_CASE("Keys and values know their lines, empty values that of their key") {
  const NodePtr root = Parse("# comment\na: 1\nb:\nc:\n  - x\n  - y\nd: >\n  folded\n  text\n");
  REQUIRE(root->members.size() == 4);
  CHECK(root->members[0].line == 2);
  CHECK(root->members[0].value->line == 2);
  CHECK(root->members[1].value->kind == Node::Kind::kNull);
  CHECK(root->members[1].value->line == 3);
  CHECK(root->members[2].value->items[1]->line == 6);
  CHECK(root->members[3].value->line == 7);
  CHECK(root->members[3].value->text == "folded text\n");
}

TEST_CASE("Duplicate keys stay visible") { CHECK(Parse("a: 1\na: 2\n")->members.size() == 2); }

TEST_CASE("An alias stands for a copy of its anchor") {
  const NodePtr root = Parse("a: &x [1, 2]\nb: *x\n");
  CHECK(root->members[1].value == root->members[0].value);
  CHECK(ErrorOf("a: &x [*x]\n").message.find("inside its own anchor") != std::string::npos);
  CHECK(ErrorOf("a: *nobody\n").line == 1);
}

TEST_CASE("A byte order mark and CRLF line ends are fine") {
  const NodePtr root = Parse(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: 2\r\n");
  REQUIRE(root->members.size() == 2);
  CHECK(root->members[0].key == "a");
  CHECK(root->members[1].value->text == "2");
  CHECK(root->members[1].line == 2);
}

TEST_CASE("Broken YAML is an error with its line") {
  for (const char* text : {"a: [1\n", "a: \"x\n", "a: b: c\n", "\ta: 1\n", "a: 'x\n", "}\n",
                           "a: @x\n", "%YAML 9.9\n%YAML 9.9\n---\n"}) {
    INFO(text);
    const SyntaxError error = ErrorOf(text);
    CHECK(error.line >= 1);
    CHECK(error.message.find("is not valid YAML") == 0);
  }
  CHECK(Errors("a: 1\nb: [1\n").find("h.yaml:") == 0);
}

TEST_CASE("A forgotten quote does not swallow the rest of the file") {
  for (const char* quote : {"\"", "'"}) {
    const SyntaxError error = ErrorOf("a: 1\nb: " + std::string(quote) + "x\nc: 2\nd: 3\n");
    CHECK(error.line == 2);
    CHECK(error.message == "is not valid YAML: a quote opened here or below is not closed");
  }
  CHECK(Parse("a: \"x\n  y\"\nb: 'it''s'\n")->members.size() == 2);
  CHECK(Parse("a: 1")->members[0].value->text == "1");
  CHECK(Parse("a: |+\n  x\n\n")->members[0].value->text == "x\n\n");
  CHECK(Parse("...\n")->kind == Node::Kind::kNull);
}

TEST_CASE("Keys must be plain words") {
  CHECK(ErrorOf("? [a]\n: b\n").message == "a key must be a plain word");
  CHECK(ErrorOf("a: 1\n~: 2\n").line == 2);
}

TEST_CASE("A second document is refused") {
  CHECK(ErrorOf("a: 1\n---\nb: 2\n").message == "a second document; write everything into one");
  CHECK(Parse("---\na: 1\n...\n")->members.size() == 1);
}

TEST_CASE("Control characters and broken UTF-8 are refused with their line") {
  CHECK(ErrorOf(std::string("a: 1\nb: \0\n", 10)).line == 2);
  CHECK(ErrorOf("a: 1\nb: \x04 c\n").message.find("control character") != std::string::npos);
  CHECK(ErrorOf("a: \xFF\n").message == "holds a byte that is not UTF-8");
  CHECK(ErrorOf("a: \xC3").line == 1);
  CHECK(Parse("a: \xC3\xA9\n")->members[0].value->text == "\xC3\xA9");
}

TEST_CASE("Deep nesting is refused, not followed") {
  const std::string what = "nested more than 32 levels deep";
  CHECK(ErrorOf(Repeat("[", 1000) + Repeat("]", 1000)).message == what);
  CHECK(ErrorOf(Repeat("{a: ", 1000) + "1" + Repeat("}", 1000)).message == what);
  CHECK(ErrorOf(Repeat("- ", 100000) + "x\n").message == what);
  std::string indented;
  for (std::size_t depth = 0; depth < 500; ++depth) {
    indented += std::string(depth, ' ') + "a:\n";
  }
  CHECK(ErrorOf(indented).message == what);
  CHECK(ErrorOf(Repeat("[", 4000000)).message.find("brackets") != std::string::npos);
  CHECK(ErrorOf(Repeat("{", kMaxFlowOpenings)).line == 1);
}

TEST_CASE("An alias bomb is refused, not expanded") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 0; j < 9; ++j) bomb += ", " + before;
    bomb += "]\n";
  }
  const SyntaxError error = ErrorOf(bomb);
  CHECK(error.message == "too many values, aliases counted as copies");
  CHECK(error.line < 10);
}

TEST_CASE("A file of more than 4 MiB is refused") {
  const std::string text(kMaxConfigBytes + 1, '\n');
  CHECK(Errors(text) == "h.yaml:0: the file is larger than 4 MiB");
  CHECK(Errors(std::string(kMaxConfigBytes, '\n')).empty());
}

TEST_CASE("Errors are bounded in number and in length") {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "unknown_key_" + std::to_string(i) + ": 1\n";
  const ReadResult result = Read(text);
  CHECK(result.errors.size() == kMaxConfigErrors);
  CHECK(result.errors.back().message == "4001 more errors are not shown");
  CHECK(Errors("timeouts: {request_timeout: " + std::string(100000, 'x') + "}\n").size() < 400);
  CHECK(Errors(std::string(1000, 'x') + ": 1\n").size() < 400);
}

TEST_CASE("An error stays on its line, whatever was written") {
  const std::string errors = Errors("\"a\\nb\\e[0m\": 1\nprofile: \"x\\r\\ny\"\n");
  CHECK(std::count(errors.begin(), errors.end(), '\n') == 1);
  CHECK(errors.find('\r') == std::string::npos);
  CHECK(errors.find('\x1b') == std::string::npos);
}

TEST_CASE("A reference to a variable may stand unquoted inside braces and brackets") {
  const NodePtr root = Parse("- {name: dev, key: ${DEV_KEY}}\n- [${A:-x}, \"${B}\"]\n- $${C}\n");
  REQUIRE(root->items.size() == 3);
  CHECK(root->items[0]->members[1].value->text == "${DEV_KEY}");
  CHECK(root->items[1]->items[0]->text == "${A:-x}");
  CHECK(root->items[1]->items[1]->text == "${B}");
  CHECK(root->items[2]->text == "$${C}");
}

TEST_CASE("What is no reference stays YAML, and a text may use any character itself") {
  CHECK(ErrorOf("a: {b: ${not a name}}\n").line == 1);
  CHECK(ErrorOf("a: {b: ${OPEN\nc: d}\n").line >= 1);
  CHECK(Parse("a: \xEE\x80\x80 ${X}\n")->members[0].value->text == "\xEE\x80\x80 ${X}");
}

}  // namespace
