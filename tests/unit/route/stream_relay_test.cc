#include "libhotel/route/stream_relay.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.h"

namespace hotel::route {
namespace {

std::string Content(std::string_view text) {
  return "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + std::string(text) +
         "\"}}]}\n\n";
}
const std::string kRole =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n\n";
const std::string kFinish =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const std::string kDone = "data: [DONE]\n\n";

/// Feeds `stream` in pieces of `size`, committing as soon as output is seen; returns what was
/// forwarded.
std::string Relay(StreamRelay& relay, std::string_view stream, std::size_t size) {
  std::string out;
  for (std::size_t at = 0; at < stream.size(); at += size) {
    relay.Feed(stream.substr(at, size));
    if (relay.output()) out += relay.Take();
  }
  return out;
}

}  // namespace

TEST_CASE("relay forwards a stream byte for byte in any chunking (decisions 5)") {
  const std::string stream = kRole + ": comment\r\n\r\n" + Content("caf\xc3\xa9") +
                             "event: x\r\ndata: {\"choices\":[]}\r\n\r\n" + Content("b") + kFinish +
                             kDone;
  for (std::size_t size = 1; size <= stream.size(); ++size) {
    StreamRelay relay;
    CHECK(Relay(relay, stream, size) == stream);
    CHECK(relay.done());
    CHECK(relay.finished());
    CHECK_FALSE(relay.inside_event());
  }
}

TEST_CASE("relay stops behind [DONE] and drops what follows") {
  const std::string stream = Content("a") + kDone;
  for (std::size_t size = 1; size <= stream.size() + 5; ++size) {
    StreamRelay relay;
    CHECK(Relay(relay, stream + ": keepalive\n\n", size) == stream);
  }
}

TEST_CASE("relay never ends inside an event when the stream is cut at any byte") {
  const std::string stream = kRole + Content("one") + Content("two") + Content("three");
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{7}, stream.size()}) {
      StreamRelay relay;
      const std::string out = Relay(relay, std::string_view(stream).substr(0, cut), size);
      INFO("cut " << cut << " size " << size);
      CHECK_FALSE(relay.inside_event());
      CHECK(std::string_view(stream).substr(0, out.size()) == out);
      CHECK((out.empty() || out.substr(out.size() - 2) == "\n\n"));
      CHECK_FALSE(relay.stopped());
    }
  }
}

TEST_CASE("relay holds nothing forwardable back before the commit and hands it out at once") {
  StreamRelay relay;
  relay.Feed(kRole);
  CHECK_FALSE(relay.output());
  CHECK(relay.any_frame());
  relay.Feed(Content("x"));
  REQUIRE(relay.output());
  CHECK(relay.Take() == kRole + Content("x"));
  CHECK(relay.Take().empty());
}

TEST_CASE("relay sees an error frame and forwards it once (decisions 10)") {
  StreamRelay relay;
  const std::string error = "data: {\"error\":{\"code\":503,\"message\":\"x\"}}\n\n";
  const std::string stream = Content("a") + error;
  CHECK(Relay(relay, stream + Content("never"), 9) == stream);
  CHECK(relay.error());
  CHECK(relay.error_status() == 503);
}

TEST_CASE("relay passes an event larger than the hold limit on piece by piece (F057)") {
  const std::string big = Content(std::string(3 * StreamRelay::kHoldLimit, 'x'));
  StreamRelay relay;
  std::string out;
  std::size_t most_held = 0;
  std::size_t fed = 0;
  bool committed = false;
  for (std::size_t at = 0; at < big.size(); at += 4096) {
    const std::string_view piece = std::string_view(big).substr(at, 4096);
    relay.Feed(piece);
    fed += piece.size();
    committed = committed || relay.output() || relay.overfull();
    if (committed) out += relay.Take();
    most_held = std::max(most_held, fed - out.size());
    if (at + 4096 < big.size() && out.size() > 0) CHECK(relay.inside_event());
  }
  CHECK(out == big);
  CHECK(most_held <= StreamRelay::kHoldLimit + 4096);
  CHECK_FALSE(relay.inside_event());
}

TEST_CASE("relay counts an unterminated last event at a clean end (F059)") {
  StreamRelay relay;
  relay.Feed(Content("a") + "data: [DONE]");
  std::string out(relay.Take());
  CHECK_FALSE(relay.done());
  relay.Finish();
  CHECK(relay.done());
  out += relay.Take();
  CHECK(out == Content("a") + "data: [DONE]");
  CHECK(relay.inside_event());
}

}  // namespace hotel::route
