// Content codings. The first byte picks one, the rest is the body; what was packed comes out again.
#include "libhotel/wire/inflate.h"

#include <array>
#include <string>
#include <string_view>

#include <zlib.h>

#include "tests/fuzz/require.h"

namespace {

using hotel::fuzz::Require;
using hotel::wire::CanInflate;
using hotel::wire::Inflate;

constexpr std::array<std::string_view, 4> kCodings = {"gzip", "deflate", "X-Gzip", "br"};
constexpr std::size_t kLimit = std::size_t{256} * 1024;

std::string Pack(std::string_view text, int window) {
  z_stream stream{};
  Require(deflateInit2(&stream, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib");
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  Require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib packs");
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view coding = kCodings[data[0] % kCodings.size()];
  const std::string_view bytes = hotel::fuzz::AsText(data + 1, size - 1);

  const std::optional<std::string> whole = Inflate(coding, bytes, kLimit);
  if (!CanInflate(coding)) Require(!whole, "unknown codings are left alone");
  if (whole) {
    Require(whole->size() <= kLimit, "the limit holds");
    for (const std::size_t limit : {std::size_t{1}, std::size_t{1000}}) {
      const std::optional<std::string> start = Inflate(coding, bytes, limit);
      Require(start && *start == whole->substr(0, limit), "a limit cuts and changes nothing else");
    }
  }
  if (bytes.size() <= kLimit) {
    Require(Inflate("gzip", Pack(bytes, 15 + 16), kLimit) == bytes, "gzip comes out again");
    Require(Inflate("deflate", Pack(bytes, 15), kLimit) == bytes, "deflate comes out again");
    Require(Inflate("deflate", Pack(bytes, -15), kLimit) == bytes, "bare deflate comes out again");
  }
  return 0;
}
