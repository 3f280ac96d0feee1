// The parsers of untrusted client bytes, at every cut of their input.
#include <cstdint>
#include <string>
#include <string_view>

#include "libhotel/base/random.h"
#include "server/chunked_body.h"
#include "server/request_head.h"
#include "server/response_head.h"
#include "tests/support/catch.h"

namespace hotel::server {
namespace {

struct Decoded {
  ChunkedBody::State state = ChunkedBody::State::kMore;
  std::string body;
  std::size_t consumed = 0;
};

/// Feeds `wire` cut before `cut`, then byte by byte from `cut` on when `fine`.
Decoded Decode(std::string_view wire, std::size_t limit, std::size_t cut, bool fine) {
  ChunkedBody decoder(limit);
  Decoded out;
  const auto feed = [&](std::string_view piece) {
    std::size_t taken = 0;
    out.state = decoder.Feed(piece, &out.body, &taken);
    out.consumed += taken;
  };
  feed(wire.substr(0, cut));
  for (std::size_t at = cut; at < wire.size() && out.state == ChunkedBody::State::kMore;) {
    const auto piece = wire.substr(at, fine ? 1 : std::string_view::npos);
    feed(piece);
    at += piece.size();
  }
  return out;
}

TEST_CASE("a chunked body survives every cut, and what follows it is left alone") {
  const std::string body = "5\r\nhello\r\n0006;a=\"b\"\r\n world\r\n0\r\nX-Trailer: 1\r\n\r\n";
  const std::string wire = body + "GET / HTTP/1.1\r\n";
  for (std::size_t cut = 0; cut <= wire.size(); ++cut) {
    for (const bool fine : {false, true}) {
      const auto decoded = Decode(wire, 11, cut, fine);
      REQUIRE(decoded.state == ChunkedBody::State::kDone);
      REQUIRE(decoded.body == "hello world");
      REQUIRE(decoded.consumed == body.size());
    }
  }
}

TEST_CASE("a chunked body over the limit is refused at its size line, at every cut") {
  const std::string wire = "5\r\nhello\r\n7\r\n world!\r\n0\r\n\r\n";
  for (std::size_t cut = 0; cut <= wire.size(); ++cut) {
    const auto decoded = Decode(wire, 11, cut, true);
    REQUIRE(decoded.state == ChunkedBody::State::kTooLarge);
    REQUIRE(decoded.body == "hello");
  }
  CHECK(Decode("fffffffffffffff\r\n", 11, 0, true).state == ChunkedBody::State::kTooLarge);
}

TEST_CASE("what is not the chunked coding is refused") {
  // The table keeps views from the first run of this case to the last.
  static const std::string long_extension = "1;" + std::string(300, 'x') + "\r\na\r\n0\r\n\r\n";
  static const std::string long_trailer = "0\r\nX: " + std::string(9000, 'x') + "\r\n\r\n";
  const std::string_view wire = GENERATE_COPY(
      std::string_view("x\r\n"), std::string_view("\r\n"), std::string_view("-1\r\n"),
      std::string_view("+1\r\n"), std::string_view("0x1\r\n"), std::string_view(" 1\r\n"),
      std::string_view("1\na"), std::string_view("1\r\r"), std::string_view("1\r\nab"),
      std::string_view("1\r\na\r\r"), std::string_view("1;x\n"),
      std::string_view("0000000000000001\r\n"), std::string_view("0\r\nA: b\nC: d\r\n\r\n"),
      std::string_view(long_extension), std::string_view(long_trailer));
  CHECK(Decode(wire, 1000, 0, true).state == ChunkedBody::State::kMalformed);
  CHECK(Decode(wire, 1000, 0, false).state == ChunkedBody::State::kMalformed);
}

TEST_CASE("a head is complete at its blank line and not before") {
  const std::string head = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  for (std::size_t cut = 0; cut < head.size(); ++cut) {
    REQUIRE(ScanHead(std::string_view(head).substr(0, cut)).state == HeadScan::State::kMore);
  }
  const auto scan = ScanHead(head + "body\nwith line feeds");
  CHECK(scan.state == HeadScan::State::kComplete);
  CHECK(scan.size == head.size());
  CHECK(ScanHead("GET / HTTP/1.1\nHost").state == HeadScan::State::kMalformed);
}

TEST_CASE("a head gives its fields and framing") {
  RequestHead head;
  REQUIRE_FALSE(
      ParseRequestHead("POST /v1/x?y HTTP/1.1\r\nHost: h\r\nX-A:  b c \t\r\nX-Empty:\r\n"
                       "content-LENGTH: 0012\r\nExpect: 100-Continue\r\n\r\n",
                       HeadLimits(), &head));
  CHECK(head.method == "POST");
  CHECK(head.target == "/v1/x?y");
  CHECK(head.content_length == 12);
  CHECK_FALSE(head.chunked);
  CHECK(head.keep_alive);
  CHECK(head.expects_continue);
  CHECK(head.has_length);
  CHECK(FindHeader(head.headers, "x-a") == "b c");
  CHECK(FindHeader(head.headers, "x-empty").empty());
}

TEST_CASE("persistence follows version and Connection") {
  struct Row {
    const char* version;
    const char* fields;
    bool keep;
  };
  const Row row = GENERATE(Row{"1.1", "", true}, Row{"1.1", "Connection: close\r\n", false},
                           Row{"1.1", "Connection: x, CLOSE\r\n", false}, Row{"1.0", "", false},
                           Row{"1.0", "Connection: Keep-Alive\r\n", true},
                           Row{"1.0", "Connection: keep-alive, close\r\n", false});
  RequestHead head;
  REQUIRE_FALSE(ParseRequestHead(
      std::string("GET / HTTP/") + row.version + "\r\nHost: h\r\n" + row.fields + "\r\n",
      HeadLimits(), &head));
  CHECK(head.keep_alive == row.keep);
}

TEST_CASE("a length that overflows is too large, not small") {
  RequestHead head;
  const auto error =
      ParseRequestHead("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551617\r\n\r\n",
                       HeadLimits(), &head);
  REQUIRE(error);
  CHECK(error->status == 413);
}

TEST_CASE("random damage to a head never gives an unsafe one") {
  const std::string good =
      "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nX-Y: z\r\n\r\n";
  std::uint64_t random = 7;
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    const auto edits = 1 + base::RandomBelow(&random, 3);
    for (std::uint64_t i = 0; i < edits; ++i) {
      bytes[base::RandomBelow(&random, bytes.size())] =
          static_cast<char>(base::RandomBelow(&random, 256));
    }
    RequestHead head;
    if (ParseRequestHead(bytes, HeadLimits(), &head)) continue;
    ++accepted;
    for (const auto& field : head.headers) {
      for (const std::string* text : {&field.name, &field.value}) {
        for (const char c : *text) {
          const auto u = static_cast<unsigned char>(c);
          REQUIRE((u == '\t' || (u >= 0x20 && u != 0x7f)));
        }
      }
    }
    REQUIRE(head.target.find_first_of(" \r\n") == std::string::npos);
  }
  CHECK(accepted > 0);
}

TEST_CASE("an answer's head states its framing once, whatever the fields say") {
  const HeaderList fields = {
      {"content-type", "a/b"},   {"Content-Length", "7"}, {"transfer-encoding", "chunked"},
      {"Connection", "upgrade"}, {"bad name", "1"},       {"x-split", "a\r\nb: c"}};
  std::string out;
  AppendResponseHead(200, fields, true, "Transfer-Encoding: chunked\r\n", &out);
  CHECK(out == "HTTP/1.1 200 OK\r\ncontent-type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n");
  out.clear();
  AppendResponseHead(200, fields, false, "", &out, /*stated_length=*/true);
  CHECK(out ==
        "HTTP/1.1 200 OK\r\ncontent-type: a/b\r\nContent-Length: 7\r\nConnection: close\r\n\r\n");
}

}  // namespace
}  // namespace hotel::server
