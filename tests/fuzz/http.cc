// Client requests as hoteld reads them: heads never come out unsafe, and a chunked body decodes to
// the same bytes whatever the pieces it arrives in.
#include <string>
#include <string_view>

#include "server/chunked_body.h"
#include "server/request_head.h"
#include "tests/fuzz/require.h"

namespace {

using hotel::fuzz::Require;
using hotel::server::ChunkedBody;
using hotel::server::HeadScan;

constexpr std::size_t kLimit = 4096;

bool IsSafe(std::string_view text) {
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (u != '\t' && (u < 0x20 || u == 0x7f)) return false;
  }
  return true;
}

void CheckHead(std::string_view bytes) {
  hotel::server::RequestHead head;
  const hotel::server::HeadLimits limits;
  if (hotel::server::ParseRequestHead(bytes, limits, &head)) return;
  Require(bytes.size() <= limits.max_bytes, "the head is within its limit");
  Require(head.headers.size() <= limits.max_fields, "the fields are within their limit");
  Require(IsSafe(head.target) && head.target.find(' ') == std::string::npos, "the target is safe");
  Require(!(head.chunked && head.content_length > 0), "one framing only");
  for (const auto& field : head.headers) {
    Require(!field.name.empty() && IsSafe(field.name), "field names are safe");
    Require(IsSafe(field.value), "field values are safe");
  }
}

struct Decoded {
  ChunkedBody::State state = ChunkedBody::State::kMore;
  std::string body;
  std::size_t consumed = 0;
};

Decoded Decode(std::string_view wire, std::size_t step) {
  ChunkedBody decoder(kLimit);
  Decoded out;
  for (std::size_t at = 0; at < wire.size() && out.state == ChunkedBody::State::kMore; at += step) {
    std::size_t taken = 0;
    out.state = decoder.Feed(wire.substr(at, step), &out.body, &taken);
    out.consumed += taken;
  }
  return out;
}

void CheckBody(std::string_view wire) {
  const Decoded whole = Decode(wire, wire.size() + 1);
  Require(whole.body.size() <= kLimit, "the body is within its limit");
  for (const std::size_t step : {1, 3, 7}) {
    const Decoded pieces = Decode(wire, step);
    Require(pieces.state == whole.state && pieces.body == whole.body &&
                pieces.consumed == whole.consumed,
            "pieces do not matter");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = hotel::fuzz::AsText(data, size);
  const HeadScan scan = hotel::server::ScanHead(text);
  CheckHead(text);
  if (scan.state == HeadScan::State::kComplete) {
    Require(scan.size <= size && text.substr(scan.size - 4, 4) == "\r\n\r\n",
            "the head ends blank");
    CheckHead(text.substr(0, scan.size));
    CheckBody(text.substr(scan.size));
  } else {
    CheckBody(text);
  }
  return 0;
}
