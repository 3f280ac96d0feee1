#include "libhotel/net/response_head.h"

#include <string>
#include <vector>

#include "libhotel/net/curl_options.h"
#include "tests/support/catch.h"

namespace hotel::net {
namespace {

using Progress = ResponseHead::Progress;

constexpr ResponseHead::Limits kLimits{1000, 5};

Progress FeedAll(ResponseHead* head, const std::vector<std::string>& lines) {
  Progress progress = Progress::kMore;
  for (const std::string& line : lines) {
    progress = head->Feed(line + "\r\n");
    if (progress != Progress::kMore) break;
  }
  return progress;
}

TEST_CASE("a head is its status and its fields in order") {
  ResponseHead head(kLimits);
  CHECK_FALSE(head.started());
  REQUIRE(FeedAll(&head, {"HTTP/1.1 429 Too Many", "Retry-After:  20 ", "X-Empty:", "B : c", ""}) ==
          Progress::kFinal);
  CHECK(head.started());
  CHECK(head.status() == 429);
  const HeaderList headers = head.TakeHeaders();
  REQUIRE(headers.size() == 3);
  CHECK(headers[0].name == "Retry-After");
  CHECK(headers[0].value == "20");
  CHECK(headers[1].value.empty());
  CHECK(headers[2].name == "B");
}

TEST_CASE("folded lines join the field before them") {
  ResponseHead head(kLimits);
  REQUIRE(FeedAll(&head, {"HTTP/1.1 200 OK", "A: one", "  two", "\tthree", "C:", " d", ""}) ==
          Progress::kFinal);
  const HeaderList headers = head.TakeHeaders();
  REQUIRE(headers.size() == 2);
  CHECK(headers[0].value == "one two three");
  CHECK(headers[1].value == "d");
}

TEST_CASE("heads of interim answers are swallowed") {
  ResponseHead head(kLimits);
  REQUIRE(FeedAll(&head, {"HTTP/1.1 100 Continue", "", "HTTP/1.1 103 Early Hints", "Link: x", "",
                          "HTTP/1.1 200", "A: b", ""}) == Progress::kFinal);
  CHECK(head.status() == 200);
  CHECK(head.TakeHeaders().size() == 1);
}

TEST_CASE("what is not HTTP is a protocol error") {
  const std::string line = GENERATE(
      "HELLO", "HTTP/1.1 abc", "HTTP/1.1 99", "HTTP/1.1 099 X", "HTTP/1.1 600 X", "HTTP/1.1 999 X",
      "HTTP/1.1 000 X", "HTTP/1.1 2000 X", "HTTP/1.1 20", "HTTP/2 200 OK", "HTTP/2 200",
      "HTTP/2 20x ", "HTTP/1.1  200 OK", "HTTP/1.x 200 OK", "http/1.1 200 OK", "", "ICY 200 OK");
  CAPTURE(line);
  ResponseHead head(kLimits);
  CHECK(head.Feed(line + "\r\n") == Progress::kProtocol);
}

TEST_CASE("broken fields are a protocol error") {
  const std::string line =
      GENERATE(as<std::string>(), "no colon", ": no name", "na me: x", " folded before any field",
               std::string("A: b\0c", 6), "A: b\rc", "A: \x1b[2J", "Content-Length: -1",
               "Content-Length: 1x", "Content-Length: 5, 5",
               "Content-Length:", "Transfer-Encoding: gzip", "Transfer-Encoding: gzip, chunked");
  CAPTURE(line);
  ResponseHead head(kLimits);
  CHECK(FeedAll(&head, {"HTTP/1.1 200 OK", line, ""}) == Progress::kProtocol);
}

TEST_CASE("two different lengths are a protocol error, equal ones are not") {
  ResponseHead different(kLimits);
  CHECK(FeedAll(&different, {"HTTP/1.1 200 OK", "Content-Length: 5", "content-length: 6", ""}) ==
        Progress::kProtocol);
  ResponseHead equal(kLimits);
  CHECK(FeedAll(&equal, {"HTTP/1.1 200 OK", "Content-Length: 5", "content-length: 5", ""}) ==
        Progress::kFinal);
}

TEST_CASE("101 without having asked for an upgrade is a protocol error") {
  ResponseHead head(kLimits);
  CHECK(FeedAll(&head, {"HTTP/1.1 101 Switching Protocols", "Upgrade: h2c", ""}) ==
        Progress::kProtocol);
}

TEST_CASE("a head is bounded in fields and bytes") {
  ResponseHead fields(kLimits);
  CHECK(FeedAll(&fields, {"HTTP/1.1 200 OK", "A: 1", "A: 2", "A: 3", "A: 4", "A: 5", ""}) ==
        Progress::kFinal);
  ResponseHead more(kLimits);
  CHECK(FeedAll(&more, {"HTTP/1.1 200 OK", "A: 1", "A: 2", "A: 3", "A: 4", "A: 5", "A: 6"}) ==
        Progress::kTooLarge);
  ResponseHead bytes(kLimits);
  CHECK(FeedAll(&bytes, {"HTTP/1.1 200 OK", "A: " + std::string(1000, 'x')}) ==
        Progress::kTooLarge);
  ResponseHead folded(kLimits);
  std::vector<std::string> lines{"HTTP/1.1 200 OK", "A: b"};
  lines.insert(lines.end(), 500, "  c");
  CHECK(FeedAll(&folded, lines) == Progress::kTooLarge);
}

TEST_CASE("endless interim heads count against the same bound") {
  ResponseHead head(kLimits);
  std::vector<std::string> lines;
  for (int i = 0; i < 100; ++i) {
    lines.push_back("HTTP/1.1 102 Processing");
    lines.push_back("");
  }
  CHECK(FeedAll(&head, lines) == Progress::kTooLarge);
}

TEST_CASE("the head that libcurl makes of an HTTP/2 answer is one") {
  ResponseHead head({1000, 5});
  REQUIRE(FeedAll(&head, {"HTTP/2 429 ", "retry-after: 3", ""}) == Progress::kFinal);
  CHECK(head.status() == 429);
}

TEST_CASE("HTTP/2 is offered from libcurl 8.4 on") {
  CHECK_FALSE(Http2IsSafe(0x075801));
  CHECK_FALSE(Http2IsSafe(0x0803ff));
  CHECK(Http2IsSafe(0x080400));
  CHECK(Http2IsSafe(0x080e01));
}

}  // namespace
}  // namespace hotel::net
