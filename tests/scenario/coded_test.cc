// Answers in a content coding nobody asked for (F147, F149).
#include <string>

#include <zlib.h>

#include "tests/scenario/endpoints.h"
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

/// As a server that compresses writes it: `window` 15+16 is gzip, 15 zlib, -15 raw deflate.
std::string Coded(const std::string& text, int window = 15 + 16) {
  z_stream z{};
  REQUIRE(deflateInit2(&z, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&z, static_cast<uLong>(text.size())) + 64, '\0');
  std::string in = text;
  z.next_in = reinterpret_cast<Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

Script Answer(int status, const std::string& coding, const std::string& bytes,
              HeaderList headers = {}) {
  headers.push_back({"content-type", "application/json"});
  headers.push_back({"content-encoding", coding});
  return Script().Head(status, std::move(headers)).Bytes(bytes).End();
}

const std::string kGood =
    R"({"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},)"
    R"("finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}})";

TEST_CASE("F147 a coded answer reaches the client as it came, its tokens are read") {
  const std::string coded = Coded(kGood);
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Answer(200, "gzip", coded));
  const Client client = h.Ask();
  CHECK(client.status() == 200);
  CHECK(client.body() == coded);
  CHECK(client.header("content-encoding") == "gzip");
  CHECK(h.Calls("u2") == 0);
  REQUIRE(h.record().usage.has_value());
  CHECK(h.record().usage->prompt == 7);
  CHECK(h.record().usage->completion == 2);
  CHECK_FALSE(h.record().usage->estimated);
  CHECK(h.Circuit("u1") == "closed 0");
}

TEST_CASE("F147 what cannot be decoded is no evidence of an empty answer") {
  for (const std::string coding : {"br", "zstd"}) {
    const std::string bytes = "\x0b\x02\x80hello\x03";
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", Answer(200, coding, bytes));
    const Client client = h.Ask();
    CHECK(client.body() == bytes);
    CHECK(client.header("content-encoding") == coding);
    CHECK(h.Circuit("u1") == "closed 0");
    REQUIRE(h.record().usage.has_value());
    CHECK(h.record().usage->estimated);  // no silent zero
    CHECK(h.record().usage->prompt > 0);
  }
}

TEST_CASE("F151 bytes that are not in the coding they claim, or are no answer in it, fail over") {
  const std::string coded = Coded(kGood);
  for (const std::string& bytes :
       {coded.substr(0, coded.size() / 2), std::string("zzz"), std::string(), Coded(""),
        Coded("<html></html>"), Coded(coded)}) {
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", Answer(200, "gzip", bytes)).On("u2", Script::Chat("Hi"));
    CHECK(h.Ask().header("x-hotel-provider") == "u2");
    CHECK(h.Circuit("u1") == "closed 1");
  }
}

TEST_CASE("F043 F147 an error hidden in a coded 200 is that error") {
  Harness h;
  h.Demo({"u1", "u2"});
  h.On("u1", Answer(200, "gzip", Coded(R"({"error":{"code":503,"message":"overloaded"}})")));
  h.On("u2", Script::Chat("Hi"));
  CHECK(h.Ask().header("x-hotel-provider") == "u2");
  CHECK(h.Trail() == Lines{"0 u1 200 charge provider_error", "1 u2 200 success -"});
  CHECK(h.record().attempts[0].detail.find("overloaded") != std::string::npos);
}

TEST_CASE("F149 a coded 429 is read: spent opens") {
  const std::string words = R"({"error":"you have reached your session usage limit, upgrade"})";
  const std::pair<std::string, int> codings[] = {{"gzip", 31}, {"deflate", 15}, {"deflate", -15}};
  for (const auto& [coding, window] : codings) {
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", Answer(429, coding, Coded(words, window)));
    h.On("u2", Script::Chat("Hi"));
    CHECK(h.Ask().header("x-hotel-provider") == "u2");
    CHECK(h.record().attempts[0].rate_limit == "exhausted");
    CHECK(h.Circuit("u1") == "open 5");
  }
}

TEST_CASE("F149 a coded refusal of the payload is readable for the client") {
  const std::string words =
      R"({"error":{"message":"no such tool","type":"invalid_request_error"}})";
  Harness h;
  h.Demo({"u1"}).On("u1", Answer(400, "gzip", Coded(words)));
  const Client client = h.Ask();
  CHECK(client.status() == 400);
  CHECK(client.body() == words);
  CHECK(client.header("content-encoding").empty());
  CHECK(h.record().attempts[0].detail.find("no such tool") != std::string::npos);
  Harness other;
  other.Demo({"u1"}).On("u1", Answer(400, "br", "\x0b\x02\x80hello\x03"));
  const Client unread = other.Ask();
  CHECK(unread.status() == 400);
  CHECK(unread.header("content-encoding").empty());
  CHECK(unread.body().rfind(R"({"error":{"message":)", 0) == 0);
}

TEST_CASE("F149 a bomb is bounded: its status decides") {
  const std::string bomb = Coded(std::string(std::size_t{40} << 20, '\0'));
  REQUIRE(bomb.size() < (std::size_t{64} << 10));
  for (const int status : {500, 400, 429}) {
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", Answer(status, "gzip", bomb)).On("u2", Script::Chat("Hi"));
    const Client client = h.Ask();
    CHECK(client.status() == (status == 400 ? 400 : 200));
    CHECK(client.body().size() < (std::size_t{2} << 20));
  }
  Harness good;
  good.Demo({"u1"}).On("u1", Answer(200, "gzip", bomb));
  CHECK(good.Ask().body() == bomb);
}

TEST_CASE("a coded stream is relayed unread; a cut lets its end be missed") {
  const std::string coded = Coded(Bytes({Text("Good"), Fin(), Done()}));
  Script script;
  script.Head(200, {{"content-type", "text/event-stream"}, {"content-encoding", "gzip"}})
      .Bytes(coded);
  Harness h;
  h.Demo({"u1"}).On("u1", Script(script).End()).On("u1", Cut(script));
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.body() == coded);
  CHECK(client.header("content-encoding") == "gzip");
  CHECK(client.header("content-type") == "text/event-stream");
  CHECK(h.record().usage->estimated);
  const Client cut = h.Ask("hotel/demo", true);
  CHECK_FALSE(cut.sink->end.complete);
  CHECK(cut.sink->end.cut);
  CHECK(h.Circuit("u1") == "closed 1");
}

}  // namespace
}  // namespace hotel::scenario
