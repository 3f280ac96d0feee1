#include "libhotel/wire/sse.h"

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "libhotel/base/random.h"
#include "tests/support/catch.h"

namespace hotel::wire {
namespace {

using Status = SseSplitter::Status;

struct Seen {
  std::string name;
  std::string data;
  bool has_data = false;
  std::uint64_t end = 0;
  bool operator==(const Seen& other) const {
    return name == other.name && data == other.data && has_data == other.has_data &&
           end == other.end;
  }
};

struct Run {
  std::vector<Seen> events;
  Status status = Status::kOk;
  std::uint64_t block_start = 0;
};

// Feeds `chunks` and ends the stream.
Run Split(const std::vector<std::string>& chunks, std::size_t limit = std::size_t{32} << 20) {
  Run run;
  SseSplitter splitter(limit);
  const auto take = [&](const SseEvent& event) {
    run.events.push_back(
        {std::string(event.name), std::string(event.data), event.has_data, event.end_offset});
    return true;
  };
  for (const std::string& chunk : chunks) run.status = splitter.Feed(chunk, take);
  run.block_start = splitter.block_start();
  run.status = splitter.Finish(take);
  return run;
}

std::vector<std::string> Data(const Run& run) {
  std::vector<std::string> data;
  for (const Seen& event : run.events) data.push_back(event.has_data ? event.data : "<none>");
  return data;
}

using Strings = std::vector<std::string>;

TEST_CASE("SSE: LF, CRLF and CR end lines") {
  CHECK(Data(Split({"data: a\n\ndata: b\n\n"})) == Strings{"a", "b"});
  CHECK(Data(Split({"data: a\r\n\r\ndata: b\r\n\r\n"})) == Strings{"a", "b"});
  CHECK(Data(Split({"data: a\r\rdata: b\r\r"})) == Strings{"a", "b"});
  CHECK(Data(Split({"data: a\r\n\ndata: b\n\r\n"})) == Strings{"a", "b"});
}

TEST_CASE("SSE: a CRLF cut in two is one line end and lies inside the event it ends") {
  const Run run = Split({"data: a\r", "\n\r", "\ndata: b\r\n\r", "\n"});
  CHECK(Data(run) == Strings{"a", "b"});
  REQUIRE(run.events.size() == 2);
  CHECK(run.events[0].end == 11);
  CHECK(run.events[1].end == 22);
}

TEST_CASE("SSE: a stream of bare CRs does not wait for the next byte") {
  SseSplitter splitter;
  int events = 0;
  const auto count = [&](const SseEvent&) {
    ++events;
    return true;
  };
  splitter.Feed("data: a\r\r", count);
  CHECK(events == 1);
  splitter.Feed("data: b\r", count);
  splitter.Feed("\r", count);
  CHECK(events == 2);
}

TEST_CASE("SSE: offsets reach behind the blank line") {
  const Run run = Split({"data: a\n\n: ping\n\n\n\ndata: b"});
  REQUIRE(run.events.size() == 3);
  CHECK(run.events[0].end == 9);
  CHECK(run.events[1].end == 17);
  CHECK(run.block_start == 19);
  CHECK(run.events[2].end == 26);
}

TEST_CASE("SSE: a BOM is skipped at the start of the stream only") {
  CHECK(Data(Split({"\xEF\xBB\xBF"
                    "data: a\n\n"})) == Strings{"a"});
  CHECK(Data(Split({"\xEF", "\xBB", "\xBF", "data: a\n\n"})) == Strings{"a"});
  CHECK(Data(Split({"\xEF\xBB\xBF"
                    "data: a\n\n\xEF\xBB\xBF"
                    "data: b\n\n"})) == Strings{"a", "<none>"});
  // What only looks like one is the start of a line.
  CHECK(Data(Split({"\xEF", "\xBB", "data: a\n\ndata: b\n\n"})) == Strings{"<none>", "b"});
  CHECK(Data(Split({"\xEF\xBB"})) == Strings{"<none>"});
}

TEST_CASE("F053 one space behind the colon is optional, more belong to the data") {
  CHECK(Data(Split({"data:{}\n\n"})) == Strings{"{}"});
  CHECK(Data(Split({"data: {}\n\n"})) == Strings{"{}"});
  CHECK(Data(Split({"data:  {}\n\n"})) == Strings{" {}"});
  CHECK(Data(Split({"data:\t{}\n\n"})) == Strings{"\t{}"});
}

TEST_CASE("F053 `data :` and other spellings are no data field") {
  for (const char* line : {"data : x", " data: x", "Data: x", "DATA: x", "datax: x", "dat: x"}) {
    INFO(line);
    CHECK(Data(Split({std::string(line) + "\n\n"})) == Strings{"<none>"});
  }
}

TEST_CASE("F051 blocks without data dispatch without data") {
  for (const char* block : {"retry: 3000", "id: 7", "event: ping", "data:", "data", ": comment",
                            "data: ", "unknown: x"}) {
    INFO(block);
    CHECK(Data(Split({std::string(block) + "\n\ndata: x\n\n"})) == Strings{"<none>", "x"});
  }
}

TEST_CASE("SSE: blank lines alone dispatch nothing") {
  CHECK(Split({"\n\n\r\n\r\r\n\n"}).events.empty());
}

TEST_CASE("F081 data lines of one event are joined, fields may follow them") {
  const Run run = Split({"data: {\"a\":\ndata:1,\ndata:\ndata: \"b\":2}\nid: 1\nevent: x\n\n"});
  REQUIRE(run.events.size() == 1);
  CHECK(run.events[0].data == "{\"a\":\n1,\n\n\"b\":2}");
  CHECK(run.events[0].name == "x");
}

TEST_CASE("SSE: the last event field names the event, and only that event") {
  const Run run = Split({"event: a\nevent: b\ndata: 1\n\ndata: 2\n\nevent: c\nevent\ndata: 3\n\n"});
  REQUIRE(run.events.size() == 3);
  CHECK(run.events[0].name == "b");
  CHECK(run.events[1].name.empty());
  CHECK(run.events[2].name.empty());
}

TEST_CASE("F059 an event without its blank line is dispatched at the end") {
  CHECK(Data(Split({"data: [DONE]"})) == Strings{"[DONE]"});
  CHECK(Data(Split({"data: [DONE]\n"})) == Strings{"[DONE]"});
  CHECK(Data(Split({"data: [DONE]\r\n\r"})) == Strings{"[DONE]"});
  CHECK(Data(Split({"data: [DO", "NE]"})) == Strings{"[DONE]"});
  CHECK(Split({"data: x\n\n"}).events.size() == 1);
  CHECK(Split({}).events.empty());
}

TEST_CASE("F077 a field name cut by empty and short chunks is one") {
  CHECK(Data(Split({"", "da", "ta", ": x\n", "", "\n"})) == Strings{"x"});
}

TEST_CASE("F055 bytes pass undamaged through any cut") {
  const std::string text = "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 e\xcc\x81 \xff\xfe";
  const std::string stream = "data: " + text + "\n\n";
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    CHECK(Data(Split({stream.substr(0, cut), stream.substr(cut)})) == Strings{text});
  }
}

TEST_CASE("SSE: a NUL is a byte like any other") {
  const std::string text("a\0b", 3);
  CHECK(Data(Split({"data: " + text + "\n\n"})) == Strings{text});
}

TEST_CASE("SSE: the callback can stop, what follows is not looked at") {
  SseSplitter splitter;
  Strings seen;
  const auto first_only = [&](const SseEvent& event) {
    seen.emplace_back(event.data);
    return false;
  };
  CHECK(splitter.Feed("data: a\r\n\r\ndata: b\r\n\r\n", first_only) == Status::kStopped);
  CHECK(seen == Strings{"a"});
  CHECK(splitter.offset() == 11);
  CHECK(splitter.Feed("data: c\n\n", first_only) == Status::kStopped);
  CHECK(splitter.Finish(first_only) == Status::kStopped);
  CHECK(seen.size() == 1);
}

TEST_CASE("SSE: the limit counts the bytes of one event, however they arrive") {
  const std::string fits = "data: " + std::string(94, 'x') + "\n";
  const std::string over = "data: " + std::string(95, 'x') + "\n";
  REQUIRE(fits.size() == 101);
  // The block's text may take 101 bytes in front of its blank line.
  CHECK(Split({fits + "\n" + fits + "\n"}, 101).events.size() == 2);
  CHECK(Split({fits + "\n" + over + "\n"}, 101).status == Status::kTooLarge);
  Strings bytes;
  for (const char c : fits + "\n" + over + "\n") bytes.emplace_back(1, c);
  const Run run = Split(bytes, 101);
  CHECK(run.status == Status::kTooLarge);
  CHECK(run.events.size() == 1);
  // Many short lines are bounded as one long line is.
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += ": xxxx\n";
  CHECK(Split({lines + "\n"}, 101).status == Status::kTooLarge);
}

TEST_CASE("SSE: an event whole in the chunk is not copied") {
  const std::string chunk = "event: e\ndata: " + std::string(1000, 'x') + "\n\n";
  SseSplitter splitter;
  const auto inside = [&](std::string_view view) {
    return view.data() >= chunk.data() && view.data() + view.size() <= chunk.data() + chunk.size();
  };
  bool in_place = false;
  splitter.Feed(chunk, [&](const SseEvent& event) {
    in_place = inside(event.data) && inside(event.name);
    return true;
  });
  CHECK(in_place);
}

// A random stream out of the pieces that matter.
std::string RandomStream(std::uint64_t* seed) {
  static const std::vector<std::string> kPieces = {"\n",
                                                   "\n",
                                                   "\r\n",
                                                   "\r",
                                                   "\n\n",
                                                   "\r\n\r\n",
                                                   "\r\r",
                                                   "data: x",
                                                   "data:y",
                                                   "data",
                                                   "data:",
                                                   "event: e",
                                                   "event",
                                                   ": c",
                                                   "id: 1",
                                                   "\xEF\xBB\xBF",
                                                   "\xEF",
                                                   "\xBB",
                                                   "\xF0\x9F\x98\x80",
                                                   "data : z",
                                                   "{\"a\":1}",
                                                   " ",
                                                   ":"};
  std::string stream;
  if (base::RandomBelow(seed, 3) == 0) stream = "\xEF\xBB\xBF";
  const std::uint64_t pieces = 1 + base::RandomBelow(seed, 40);
  for (std::uint64_t i = 0; i < pieces; ++i) {
    stream += kPieces[base::RandomBelow(seed, kPieces.size())];
  }
  return stream;
}

TEST_CASE("SSE: any chunking gives the same events at the same offsets") {
  std::uint64_t seed = 42;
  for (int round = 0; round < 4000; ++round) {
    const std::string stream = RandomStream(&seed);
    const std::size_t limit = round % 4 == 0 ? 24 : std::size_t{1} << 20;
    const Run whole = Split({stream}, limit);
    for (int way = 0; way < 4; ++way) {
      Strings chunks;
      for (std::size_t pos = 0; pos < stream.size();) {
        const std::size_t size = way == 0 ? 1 : 1 + base::RandomBelow(&seed, 6);
        chunks.push_back(stream.substr(pos, size));
        pos += size;
      }
      const Run cut = Split(chunks, limit);
      INFO("stream: " << Catch::StringMaker<std::string>::convert(stream));
      REQUIRE(cut.events == whole.events);
      REQUIRE(cut.status == whole.status);
      REQUIRE(cut.block_start == whole.block_start);
    }
  }
}

/// Seconds of this process since `start`: others may be busy.
double Since(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

double TimeOf(std::size_t event_bytes, std::size_t chunk_bytes) {
  const std::string stream = "data: " + std::string(event_bytes, 'x') + "\n\n";
  const std::clock_t start = std::clock();
  SseSplitter splitter;
  std::size_t got = 0;
  for (std::size_t pos = 0; pos < stream.size(); pos += chunk_bytes) {
    splitter.Feed(std::string_view(stream).substr(pos, chunk_bytes), [&](const SseEvent& event) {
      got = event.data.size();
      return true;
    });
  }
  CHECK(got == event_bytes);
  return Since(start);
}

TEST_CASE("F057 a 31 MiB event costs linear time in 1-byte and 1-KiB chunks") {
  // Quadratic work would take minutes; the bound leaves room for sanitizers.
  const std::size_t large = std::size_t{31} << 20;
  CHECK(TimeOf(large, 1024) < 10.0);
  CHECK(TimeOf(large, 1) < 30.0);
}

TEST_CASE("SSE: a large chunk of CR lines or without any line end costs linear time") {
  std::string crs;
  for (int i = 0; i < 1'000'000; ++i) crs += "data: x\r\r";
  const std::clock_t start = std::clock();
  SseSplitter splitter;
  int events = 0;
  splitter.Feed(crs, [&](const SseEvent&) {
    ++events;
    return true;
  });
  CHECK(events == 1'000'000);
  CHECK(Since(start) < 10.0);
}

}  // namespace
}  // namespace hotel::wire
