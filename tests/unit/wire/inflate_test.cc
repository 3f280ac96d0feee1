#include "libhotel/wire/inflate.h"

#include <string>
#include <string_view>

#include <zlib.h>

#include "tests/support/catch.h"

namespace hotel::wire {
namespace {

constexpr int kGzip = 15 + 16;
constexpr int kZlib = 15;
constexpr int kRaw = -15;
constexpr std::size_t kLimit = std::size_t{1} << 20;

std::string Compress(std::string_view text, int window) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) ==
          Z_OK);
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

// Text that does not shrink to nothing.
std::string Text(std::size_t size) {
  std::string text;
  unsigned state = 7;
  while (text.size() < size) {
    state = state * 1664525u + 1013904223u;
    text.push_back(static_cast<char>('a' + (state >> 24) % 26));
  }
  return text;
}

TEST_CASE("F147 gzip and deflate, in both of its forms, are read") {
  for (const std::size_t size : {1, 100, 16384, 16385, 300'000}) {
    const std::string text = Text(size);
    CHECK(Inflate("gzip", Compress(text, kGzip), kLimit) == text);
    CHECK(Inflate("X-GZIP", Compress(text, kGzip), kLimit) == text);
    CHECK(Inflate(" deflate ", Compress(text, kZlib), kLimit) == text);
    CHECK(Inflate("Deflate", Compress(text, kRaw), kLimit) == text);
  }
}

TEST_CASE("F147 other codings are not touched") {
  for (const std::string_view coding : {"", "identity", "br", "zstd", "gzip, gzip", "compress"}) {
    INFO(coding);
    CHECK_FALSE(CanInflate(coding));
    CHECK(Inflate(coding, Compress("x", kGzip), kLimit) == std::nullopt);
  }
  CHECK(CanInflate("GZip"));
  CHECK(CanInflate("x-gzip"));
  CHECK(CanInflate(" deflate"));
}

TEST_CASE("F149 a bomb of zeros is read up to the limit and no further") {
  const std::string bomb = Compress(std::string(std::size_t{10} << 20, '\0'), kGzip);
  REQUIRE(bomb.size() < std::size_t{16} * 1024);
  for (const std::size_t limit : {0, 1, 16 * 1024, 70'000}) {
    const std::optional<std::string> out = Inflate("gzip", bomb, limit);
    REQUIRE(out.has_value());
    CHECK(*out == std::string(limit, '\0'));
    // The memory is bounded too, not only what is handed out.
    CHECK(out->capacity() <= 2 * limit + 16 * 1024);
  }
}

TEST_CASE("F149 what came before a body breaks is kept") {
  const std::string text = Text(100'000);
  const std::string whole = Compress(text, kGzip);
  const std::optional<std::string> cut =
      Inflate("gzip", std::string_view(whole).substr(0, whole.size() / 2), kLimit);
  REQUIRE(cut.has_value());
  CHECK(cut->size() > 10'000);
  CHECK(text.compare(0, cut->size(), *cut) == 0);

  // The checksum at the end is wrong: the text is whole.
  std::string wrong = whole;
  wrong[wrong.size() - 6] ^= 1;
  CHECK(Inflate("gzip", wrong, kLimit) == text);
}

TEST_CASE("F149 what is not compressed at all is not decoded") {
  CHECK(Inflate("gzip", R"({"error":"plain"})", kLimit) == std::nullopt);
  CHECK(Inflate("deflate", "\xff\xff\xff\xff", kLimit) == std::nullopt);
  CHECK(Inflate("gzip", Compress("x", kGzip).substr(0, 5), kLimit) == std::nullopt);
  CHECK(Inflate("gzip", Compress("x", kZlib), kLimit) == std::nullopt);
}

TEST_CASE("F149 nothing decodes to nothing") {
  CHECK(Inflate("gzip", "", kLimit) == "");
  CHECK(Inflate("gzip", Compress("", kGzip), kLimit) == "");
  CHECK(Inflate("deflate", Compress("", kZlib), kLimit) == "");
}

TEST_CASE("F147 gzip members that follow each other are one body") {
  const std::string two = Compress("one ", kGzip) + Compress("two", kGzip);
  CHECK(Inflate("gzip", two, kLimit) == "one two");
  CHECK(Inflate("gzip", Compress("one", kGzip) + "trailing rubbish", kLimit) == "one");
  std::string many;
  for (int i = 0; i < 5000; ++i) many += Compress("", kGzip);
  CHECK(Inflate("gzip", many, kLimit) == "");
}

}  // namespace
}  // namespace hotel::wire
