// Many exchanges at once: they are spread over several multi handles, and nobody notices.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "hotel/defaults.h"
#include "hotel/dispatcher.h"

#include "libhotel/net/curl_dispatcher.h"
#include "libhotel/net/event_loop.h"
#include "tests/net/client.h"
#include "tests/net/scripted_server.h"
#include "tests/support/catch.h"

namespace hotel::net_test {
namespace {

using net::CurlDispatcher;

constexpr std::size_t kMost = CurlDispatcher::kMostRunning;

/// Answers once the test lets it, then at once.
void AnswerWhenReleased(Peer& peer) {
  while (peer.ReadRequest()) {
    peer.WaitReleased();
    peer.Send(Reply(200, "ok"));
  }
}

/// A dispatcher whose inside can be looked at.
class Spread {
 public:
  explicit Spread(std::size_t max_connections, Duration keep = CurlDispatcher::kKeep) {
    CurlOptions options = Client::LoopbackOptions();
    options.max_connections = max_connections;
    client_.OnLoop([&] {
      auto* const loop = dynamic_cast<net::EventLoop*>(client_.loop());
      auto dispatcher = CurlDispatcher::Create(loop, options, keep);
      if (dispatcher.ok()) dispatcher_ = *std::move(dispatcher);
    });
    REQUIRE(dispatcher_ != nullptr);
  }
  ~Spread() {
    client_.OnLoop([&] {
      calls_.clear();
      dispatcher_.reset();
    });
  }

  void Start(const std::string& url, std::size_t count) {
    client_.OnLoop([&] {
      for (std::size_t i = 0; i < count; ++i) {
        auto call = std::make_unique<Call>();
        call->exchange = dispatcher_->Start(Client::Post(url), &call->recorder);
        calls_.push_back(std::move(call));
      }
    });
  }

  /// Waits for all and returns how many of them were answered as they should be.
  std::size_t Answered() {
    std::size_t good = 0;
    for (const auto& call : calls_) {
      if (!call->recorder.WaitDone()) continue;
      const bool complete = call->recorder.result().outcome == ExchangeResult::Outcome::kComplete;
      good += complete && call->recorder.body() == "ok" && call->recorder.violations() == 0;
    }
    return good;
  }

  std::size_t multis() {
    std::size_t count = 0;
    client_.OnLoop([&] { count = dispatcher_->multis(); });
    return count;
  }

 private:
  Client client_;
  std::unique_ptr<CurlDispatcher> dispatcher_;
  std::vector<std::unique_ptr<Call>> calls_;
};

TEST_CASE(
    "exchanges beyond what one multi handle takes run in the next, their connections are kept") {
  ScriptedServer server(AnswerWhenReleased);
  Spread spread(1024);
  spread.Start(server.Url("/x"), kMost);
  CHECK(spread.multis() == 1);
  spread.Start(server.Url("/x"), 5);
  CHECK(spread.multis() == 2);
  server.Release();
  CHECK(spread.Answered() == kMost + 5);
  CHECK(server.connections() == kMost + 5);
  for (int i = 0; i < 5; ++i) {
    spread.Start(server.Url("/x"), kMost);
    CHECK(spread.Answered() == kMost * static_cast<std::size_t>(i + 2) + 5);
  }
  CHECK(server.connections() == kMost + 5);
  CHECK(spread.multis() == 2);
}

TEST_CASE("no more multi handles than the connections are for, however many exchanges there are") {
  ScriptedServer server(AnswerWhenReleased);
  Spread spread(2 * CurlDispatcher::kMostConnections);
  spread.Start(server.Url("/x"), 2 * kMost + 9);
  CHECK(spread.multis() == 2);
  server.Release();
  CHECK(spread.Answered() == 2 * kMost + 9);
}

TEST_CASE("a multi handle that has been without work is closed with its connections") {
  ScriptedServer server(AnswerWhenReleased);
  const std::size_t before = OpenDescriptors();
  Spread spread(1024, std::chrono::milliseconds(50));
  spread.Start(server.Url("/x"), kMost + 5);
  CHECK(spread.multis() == 2);
  // As long as it has work it stays.
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  CHECK(spread.multis() == 2);
  // Both ends of its connections are in this process: none may still be on its way.
  const auto arrived = std::chrono::steady_clock::now() + kLong;
  while (server.connections() < kMost + 5 && std::chrono::steady_clock::now() < arrived) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  CHECK(server.connections() == kMost + 5);
  const std::size_t both = OpenDescriptors();
  CHECK(both > before);
  server.Release();
  CHECK(spread.Answered() == kMost + 5);
  const auto until = std::chrono::steady_clock::now() + kLong;
  while (spread.multis() > 1 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  CHECK(spread.multis() == 1);
  CHECK(WaitOpenDescriptors(both - 2 * 5) <= both - 2 * 5);
  spread.Start(server.Url("/x"), 1);
  CHECK(spread.Answered() == kMost + 6);
}

}  // namespace
}  // namespace hotel::net_test
