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

namespace {

const std::string kUsage =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\n";

}  // namespace

TEST_CASE("F065 relay takes usage events out in any chunking, and nothing else") {
  const std::string shown = kRole + Content("a") + ": ping\n\n" + Content("b") + kFinish;
  const std::string stream = kUsage + kRole + kUsage + Content("a") + kUsage + ": ping\n\n" +
                             Content("b") + kFinish + kUsage + kUsage + kDone;
  for (std::size_t size = 1; size <= stream.size(); ++size) {
    StreamRelay relay(wire::Dialect::kChat, true);
    INFO("pieces of " << size);
    CHECK(Relay(relay, stream, size) == shown + kDone);
    CHECK(relay.done());
    REQUIRE(relay.usage().has_value());
    CHECK(relay.usage()->prompt == 3);
    StreamRelay open(wire::Dialect::kChat, false);
    CHECK(Relay(open, stream, size) == stream);
    CHECK(open.usage() == relay.usage());
  }
}

TEST_CASE("F065 relay lets the rest of a usage event follow when its beginning is out") {
  StreamRelay relay(wire::Dialect::kChat, true);
  relay.Feed(Content("a"));
  std::string out(relay.Take());
  std::string large = kUsage;
  large.insert(6, std::string(2 * StreamRelay::kHoldLimit, ' '));
  relay.Feed(large.substr(0, large.size() - 9));
  out += relay.Take();
  relay.Feed(large.substr(large.size() - 9) + kUsage + Content("b"));
  out += relay.Take();
  CHECK((out == Content("a") + large + Content("b")));
}

TEST_CASE("F065 relay takes out a last usage event without its blank line") {
  StreamRelay relay(wire::Dialect::kChat, true);
  relay.Feed(Content("a") + kFinish + kUsage.substr(0, kUsage.size() - 2));
  std::string out(relay.Take());
  relay.Finish();
  out += relay.Take();
  CHECK(out == Content("a") + kFinish);
  CHECK(relay.usage().has_value());
  CHECK_FALSE(relay.inside_event());
}

TEST_CASE("F059 relay drops half an event at a clean end, unless nobody knows its dialect") {
  const std::string typed =
      "event: content_block_delta\ndata: {\"type\":\"content_block_delta\","
      "\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}\n\n";
  for (const std::string& half :
       {std::string("event: message_stop\n"), std::string("data: {\"type\":\"mess"),
        std::string("event: message_stop\ndata: {")}) {
    for (const auto dialect : {wire::Dialect::kMessages, wire::Dialect::kPlain}) {
      StreamRelay relay(dialect);
      relay.Feed(typed + half);
      std::string out(relay.Take());
      relay.Finish();
      out += relay.Take();
      CHECK(out == (dialect == wire::Dialect::kPlain ? typed + half : typed));
      CHECK_FALSE(relay.done());
    }
  }
}

TEST_CASE("relay ends each dialect where its terminator stands") {
  const auto done = [](wire::Dialect dialect, std::string_view stream) {
    StreamRelay relay(dialect);
    relay.Feed(stream);
    return relay.done();
  };
  const std::string stop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
  const std::string completed =
      "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\"}}\n\n";
  CHECK(done(wire::Dialect::kMessages, stop));
  CHECK_FALSE(done(wire::Dialect::kChat, completed));
  CHECK(done(wire::Dialect::kResponses, completed));
  CHECK(done(wire::Dialect::kChat, kDone));
  CHECK_FALSE(done(wire::Dialect::kMessages, kFinish));
}

TEST_CASE("relay takes a last event that holds the whole answer for an answer") {
  StreamRelay relay(wire::Dialect::kResponses);
  relay.Feed(
      "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"output\":[{"
      "\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hi\"}]}]}}\n\n");
  CHECK(relay.done());
  CHECK(relay.any_frame());
  CHECK(relay.output());
}

}  // namespace hotel::route
