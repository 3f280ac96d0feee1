// Scripted upstreams: inject any provider behaviour into a router without a socket.
#ifndef HOTEL_TESTING_FAKE_DISPATCHER_H_
#define HOTEL_TESTING_FAKE_DISPATCHER_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/dispatcher.h"
#include "hotel/loop.h"
#include "hotel/types.h"

namespace hotel::testing {

/// What one exchange does, step by step. Steps run in order, all in one turn of the loop until
/// `After` inserts virtual time. A script that runs out of steps hangs.
class Script {
 public:
  /// Waits before the next step.
  Script& After(Duration delay);
  Script& Head(int status, HeaderList headers = {});
  Script& Bytes(std::string bytes);
  /// Ends the answer as its framing says.
  Script& End();
  /// Fails the exchange.
  Script& Fail(TransportError error, TransportPhase phase, std::string detail = "");
  /// Nothing more happens, ever: the exchange hangs until it is cancelled.
  Script& Hang();

  /// Shorthands. A JSON answer: head with content type, body, end.
  static Script Json(int status, std::string body);
  /// A chat completion that says `text`.
  static Script Chat(std::string_view text);
  /// A whole chat stream: role-only opener, one frame per word of `text`, finish_reason, [DONE].
  static Script ChatStream(std::string_view text);
  /// An SSE head followed by these frames (without the blank line), then the end.
  static Script Sse(const std::vector<std::string>& frames);
  static Script Refused();  ///< connection refused: kConnect, kNotSent
  static Script Reset();    ///< reset after the request was written: kInterrupted, kSent

  struct Step {
    enum class Kind { kAfter, kHead, kBytes, kEnd, kFail, kHang } kind = Kind::kHang;
    Duration delay{};
    int status = 0;
    HeaderList headers;
    std::string bytes;  ///< of kBytes; the detail of kFail
    TransportError error = TransportError::kNone;
    TransportPhase phase = TransportPhase::kNotSent;
  };
  const std::vector<Step>& steps() const noexcept { return steps_; }

 private:
  std::vector<Step> steps_;
};

/// One exchange as the fake saw it.
struct SeenRequest {
  UpstreamRequest request;
  std::string body;  ///< the complete body
  TimePoint at{};
  bool cancelled = false;
  bool done = false;
};

/// A dispatcher whose upstreams are scripts. The upstream of a request is found by the longest
/// registered URL prefix; each request takes that upstream's next script and the last one repeats.
/// A URL without scripts is refused. Must outlive its exchanges. Loop thread only, like every
/// dispatcher.
class FakeDispatcher : public Dispatcher {
 public:
  explicit FakeDispatcher(Loop* loop);
  ~FakeDispatcher() override;

  /// Adds a script to the upstream at `url_prefix`.
  FakeDispatcher& On(std::string url_prefix, Script script);
  /// Answers every request to `url_prefix` by a function, whatever scripts it has.
  FakeDispatcher& OnEach(std::string url_prefix, std::function<Script(const SeenRequest&)> make);
  /// Forgets the scripts of `url_prefix`.
  void Clear(std::string_view url_prefix);

  std::unique_ptr<Exchange> Start(UpstreamRequest request, ResponseHandler* handler) override;

  /// Everything that was sent, in order. Stable references.
  const std::deque<SeenRequest>& seen() const noexcept { return seen_; }
  /// How many requests went to URLs with this prefix.
  std::size_t CountTo(std::string_view url_prefix) const;
  /// Exchanges that are neither done nor cancelled nor destroyed.
  std::size_t open() const noexcept { return open_; }

 private:
  class FakeExchange;
  struct Upstream {
    std::deque<Script> scripts;
    std::function<Script(const SeenRequest&)> make;
  };
  Script NextScript(const SeenRequest& seen);

  Loop* loop_;
  std::map<std::string, Upstream, std::less<>> upstreams_;
  std::deque<SeenRequest> seen_;
  std::size_t open_ = 0;
};

}  // namespace hotel::testing

#endif  // HOTEL_TESTING_FAKE_DISPATCHER_H_
