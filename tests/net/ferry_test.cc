// Which loop serves an origin, and what crosses from it: content, order, pauses.
#include "tests/net/ferry.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hotel/defaults.h"
#include "hotel/dispatcher.h"

#include "libhotel/net/crossing.h"
#include "libhotel/net/loop_ferry.h"
#include "tests/net/client.h"
#include "tests/net/scripted_server.h"
#include "tests/net/traffic.h"
#include "tests/support/catch.h"

namespace hotel::net_test {

using net::OriginHash;
using Outcome = ExchangeResult::Outcome;

TEST_CASE("requests that may share a connection have the same hash, others have not") {
  const auto hash = [](const std::string& url, const TransportOptions& options = {}) {
    UpstreamRequest request = Client::Post(url);
    request.transport = std::make_shared<const TransportOptions>(options);
    return OriginHash(request);
  };
  const std::uint64_t plain = OriginHash(Client::Post("https://api.acme.example/v1/chat"));
  CHECK(hash("https://api.acme.example/v1/chat") == plain);
  CHECK(hash("https://api.acme.example") == plain);
  CHECK(hash("https://api.acme.example?x=1") == plain);
  CHECK(hash("HTTPS://API.acme.example:443/") == plain);
  TransportOptions roots;
  roots.ca_file = "/a";
  TransportOptions proxy;
  proxy.proxy = Secret("/a");
  TransportOptions socket;
  socket.unix_socket = "/a";
  TransportOptions http2;
  http2.http2 = true;
  const std::set<std::uint64_t> all = {plain,
                                       hash("http://api.acme.example"),
                                       hash("https://api.acme.example:80"),
                                       hash("https://api.acme.example:8443"),
                                       hash("https://api2.acme.example"),
                                       hash("https://api.acme.example", roots),
                                       hash("https://api.acme.example", proxy),
                                       hash("https://api.acme.example", socket),
                                       hash("https://api.acme.example", http2),
                                       OriginHash(Client::Post("nonsense"))};
  CHECK(all.size() == 10);
}

TEST_CASE("every origin is served by one loop, and all loops serve some") {
  constexpr std::size_t kThree = 3;
  std::unique_ptr<LoopThread> home = StartEventLoop().value();
  std::mutex mutex;
  NotingDispatcher::Notes notes;
  std::size_t far = 0;
  auto ferry = net::LoopFerry::Create(
      home->loop(), kThree, [&](Loop* loop) -> absl::StatusOr<std::unique_ptr<Dispatcher>> {
        const std::size_t index = loop == home->loop() ? 0 : ++far;
        return std::make_unique<NotingDispatcher>(loop, index, &mutex, &notes);
      });
  REQUIRE(ferry.ok());
  CHECK(far == 2);
  std::vector<std::unique_ptr<Call>> calls;
  std::map<std::string, std::size_t> expected;
  std::promise<void> started;
  home->loop()->Post([&] {
    for (int i = 0; i < 120; ++i) {
      UpstreamRequest request = Client::Post("https://p" + std::to_string(i % 40) + ".example/v1");
      expected[request.url] = (*ferry)->LoopOf(request);
      calls.push_back(std::make_unique<Call>());
      calls.back()->exchange = (*ferry)->Start(std::move(request), &calls.back()->recorder);
    }
    started.set_value();
  });
  started.get_future().wait();
  for (const auto& call : calls) REQUIRE(call->recorder.WaitDone());
  home->Stop();
  std::set<std::size_t> used;
  for (const auto& [url, loops] : notes) {
    CHECK(loops == std::set<std::size_t>{expected[url]});
    used.insert(loops.begin(), loops.end());
  }
  CHECK(notes.size() == 40);
  CHECK(used == std::set<std::size_t>{0, 1, 2});
}

TEST_CASE("a dispatcher has one to sixteen loops") {
  std::unique_ptr<LoopThread> home = StartEventLoop().value();
  for (const std::size_t loops : {0, 17}) {
    const auto refused = MakeSpreadDispatcher(home->loop(), loops, CurlOptions{});
    CHECK(refused.status().code() == absl::StatusCode::kInvalidArgument);
  }
  const auto most = MakeSpreadDispatcher(home->loop(), 16, CurlOptions{});
  CHECK(most.ok());
  home->Stop();
}

TEST_CASE("a long body crosses whole and in order, on the caller's thread") {
  const bool chunked = GENERATE(true, false);
  const std::string body = Numbered(12 << 20);
  FarServer server([&](Peer& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(chunked ? std::string(kStreamHead)
                      : "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) +
                            "\r\nX-A: 1\r\n\r\n");
    constexpr std::size_t kStep = 50000;
    for (std::size_t at = 0; at < body.size(); at += kStep) {
      const std::string piece = body.substr(at, kStep);
      if (!peer.Send(chunked ? Chunk(piece) : piece)) return;
    }
    if (chunked) peer.Send(kStreamEnd);
    peer.WaitClosed();
  });
  FerryClient client;
  int elsewhere = 0;
  std::size_t largest = 0;
  Call& call = client.Start(Client::Post(server->Url(), Numbered(1 << 20)), [&](Call& made) {
    const auto look = [&] { elsewhere += client.loop()->IsLoopThread() ? 0 : 1; };
    made.recorder.on_head = look;
    made.recorder.on_body = [&, look](std::string_view bytes) {
      look();
      largest = std::max(largest, bytes.size());
      return Flow::kContinue;
    };
    made.recorder.on_done = look;
  });
  REQUIRE(call.recorder.WaitDone());
  client.OnLoop([] {});  // behind on_done
  CHECK(call.recorder.result().outcome == Outcome::kComplete);
  CHECK(call.recorder.result().phase == TransportPhase::kBody);
  CHECK(call.recorder.status() == 200);
  CHECK(FindHeader(call.recorder.headers(), "x-a") == (chunked ? "" : "1"));
  CHECK(call.recorder.body() == body);
  CHECK(call.recorder.violations() == 0);
  CHECK(largest <= net::Crossing::kPiece);
  CHECK(elsewhere == 0);
}

TEST_CASE("connections of an origin on another loop are used again") {
  FarServer server(Answer);
  FerryClient client;
  for (int i = 0; i < 20; ++i) {
    const std::string body = std::to_string(i);
    Call& call = client.Run(Client::Post(server->Url("/" + body), body));
    CHECK(call.recorder.body() == "got " + body);
    CHECK(call.recorder.result().reused_connection == (i > 0));
  }
  CHECK(server->connections() == 1);
}

TEST_CASE("two hundred exchanges cross at once, and none gets what is another's") {
  FarServer server(Answer);
  FerryClient client;
  std::vector<Call*> calls;
  for (int i = 0; i < 200; ++i) {
    calls.push_back(&client.Start(Client::Post(server->Url(), std::to_string(i) + Numbered(5000))));
  }
  for (int i = 0; i < 200; ++i) {
    const Recorder& recorder = calls[static_cast<std::size_t>(i)]->recorder;
    REQUIRE(calls[static_cast<std::size_t>(i)]->recorder.WaitDone());
    CHECK(recorder.body() == "got " + std::to_string(i) + Numbered(5000));
    CHECK(recorder.violations() == 0);
  }
}

TEST_CASE("a pause at home stops an upstream on another loop, and the same bytes come again") {
  const std::string body = Numbered(24 << 20);
  std::atomic<std::size_t> sent{0};
  FarServer server(SendCounted(body, &sent));
  FerryClient client;
  bool open = false;  // loop thread
  std::string refused;
  std::promise<void> paused;
  int calls_while_paused = 0;
  Call& call = client.Start(Client::Post(server->Url()), [&](Call& made) {
    made.recorder.on_body = [&](std::string_view bytes) {
      if (open) return Flow::kContinue;
      if (calls_while_paused++ == 0) {
        refused = bytes;
        paused.set_value();
      }
      return Flow::kPause;
    };
  });
  REQUIRE(paused.get_future().wait_for(kLong) == std::future_status::ready);
  const std::size_t before = WaitStandsStill(sent);
  CHECK(before < body.size() / 2);
  CHECK(call.recorder.body().empty());
  client.OnLoop([&] { open = true; });
  client.Resume(call);
  REQUIRE(call.recorder.WaitDone());
  CHECK(call.recorder.result().outcome == Outcome::kComplete);
  CHECK(call.recorder.violations() == 0);
  CHECK(calls_while_paused == 1);
  CHECK(refused == body.substr(0, refused.size()));
  CHECK(call.recorder.body() == body);
}

TEST_CASE("pausing on every piece that crosses delivers the same bytes") {
  const std::string body = Numbered(1 << 20);
  FarServer server(InChunks(body));
  FerryClient client;
  Call* self = nullptr;
  bool refuse = false;  // loop thread
  bool inside = false;
  int reentered = 0;
  int pauses = 0;
  Call& call = client.Start(Client::Post(server->Url()), [&](Call& made) {
    self = &made;
    made.recorder.on_body = [&](std::string_view) {
      if (inside) ++reentered;
      self->exchange->Resume();  // not paused yet
      refuse = !refuse;
      if (!refuse) return Flow::kContinue;
      ++pauses;
      client.loop()->Post([&] {
        inside = true;
        self->exchange->Resume();
        self->exchange->Resume();
        inside = false;
      });
      return Flow::kPause;
    };
  });
  REQUIRE(call.recorder.WaitDone());
  CHECK(call.recorder.result().outcome == Outcome::kComplete);
  CHECK(call.recorder.body() == body);
  CHECK(call.recorder.violations() == 0);
  CHECK(pauses > 10);
  CHECK(reentered == 0);
}

TEST_CASE("how an exchange on another loop ended comes behind a pause, or in place of it") {
  const bool cancel = GENERATE(false, true);
  FarServer server([](Peer& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(std::string(kStreamHead) + Chunk("data: 1\n\n"));
    peer.WaitReleased();
    peer.Reset();
  });
  FerryClient client;
  bool open = false;
  std::promise<void> paused;
  Call& call = client.Start(Client::Post(server->Url()), [&](Call& made) {
    made.recorder.on_body = [&](std::string_view) {
      if (open) return Flow::kContinue;
      paused.set_value();
      return Flow::kPause;
    };
  });
  REQUIRE(paused.get_future().wait_for(kLong) == std::future_status::ready);
  server->Release();
  // The far side knows of that end before it knows of this one.
  CHECK(client.Run(Client::Post(server->Url())).recorder.result().outcome == Outcome::kFailed);
  client.OnLoop([&] { open = true; });
  CHECK_FALSE(call.recorder.done());
  if (cancel) {
    bool inside = true;
    client.OnLoop([&] {
      call.exchange->Cancel();
      inside = call.recorder.done();
    });
    CHECK_FALSE(inside);
  } else {
    client.Resume(call);
  }
  REQUIRE(call.recorder.WaitDone());
  client.OnLoop([] {});
  CHECK(call.recorder.violations() == 0);
  CHECK(call.recorder.result().outcome == (cancel ? Outcome::kCancelled : Outcome::kFailed));
  CHECK(call.recorder.result().error ==
        (cancel ? TransportError::kNone : TransportError::kInterrupted));
  CHECK(call.recorder.body() == (cancel ? "" : "data: 1\n\n"));
}

}  // namespace hotel::net_test
