// Exchanges whose connections live on another loop than their callers.
#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <random>
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
#include "tests/support/catch.h"

namespace hotel::net_test {
namespace {

using net::OriginHash;
using Outcome = ExchangeResult::Outcome;
using std::chrono::milliseconds;

constexpr std::size_t kLoops = 2;

bool IsFar(const std::string& url) { return OriginHash(Client::Post(url)) % kLoops != 0; }

/// A server whose origin belongs to the far one of two loops.
class FarServer {
 public:
  explicit FarServer(const ScriptedServer::Script& script) {
    // Those that do not fit stay open for the time being: the next one gets another port.
    std::vector<std::unique_ptr<ScriptedServer>> near;
    do {
      near.push_back(std::make_unique<ScriptedServer>(script));
    } while (!IsFar(near.back()->Url()));
    server_ = std::move(near.back());
  }
  ScriptedServer* operator->() const { return server_.get(); }

 private:
  std::unique_ptr<ScriptedServer> server_;
};

class FerryClient : public Client {
 public:
  FerryClient() : Client(LoopbackOptions(), kLoops) {}
};

void Answer(Peer& peer) {
  while (peer.ReadRequest()) peer.Send(Reply(200, "got " + peer.body()));
}

void Endless(Peer& peer) {
  if (!peer.ReadRequest()) return;
  peer.Send(kStreamHead);
  while (peer.Send(Chunk("data: x\n\n"))) peer.Pause(milliseconds(2));
  peer.WaitClosed();
}

void OneThenSilence(Peer& peer) {
  if (!peer.ReadRequest()) return;
  peer.Send(std::string(kStreamHead) + Chunk("data: 1\n\n"));
  peer.WaitClosed();
}

std::string Numbered(std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; bytes.size() < size; ++i) bytes += std::to_string(i) + ",";
  return bytes;
}

/// Ends every exchange at once, and notes where each was started.
class NotingDispatcher final : public Dispatcher {
 public:
  using Notes = std::map<std::string, std::set<std::size_t>>;  // URL: loops
  /// Starts wait for `gate`.
  NotingDispatcher(Loop* loop, std::size_t index, std::mutex* mutex, Notes* notes,
                   std::shared_future<void> gate = {})
      : loop_(loop), index_(index), mutex_(mutex), notes_(notes), gate_(std::move(gate)) {}

  std::unique_ptr<Exchange> Start(UpstreamRequest request, ResponseHandler* handler) override {
    if (gate_.valid()) gate_.wait();
    const std::lock_guard<std::mutex> lock(*mutex_);
    // A foreign thread counts as a loop that does not exist.
    (*notes_)[request.url].insert(loop_->IsLoopThread() ? index_ : 99);
    loop_->Post([handler] { handler->OnDone(ExchangeResult{}); });
    return std::make_unique<Nothing>();
  }

 private:
  class Nothing final : public Exchange {
    void Resume() override {}
    void Cancel() override {}
  };
  Loop* const loop_;
  const std::size_t index_;
  std::mutex* const mutex_;
  Notes* const notes_;
  const std::shared_future<void> gate_;
};

}  // namespace

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
  FarServer server([&](Peer& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
    constexpr std::size_t kStep = 64 << 10;
    for (std::size_t at = 0; at < body.size(); at += kStep) {
      if (!peer.Send(std::string_view(body).substr(at, kStep))) return;
      sent = at + kStep;
    }
    peer.WaitClosed();
  });
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
  // The server runs until the sockets are full and then stands still.
  std::size_t before = 0;
  const auto deadline = std::chrono::steady_clock::now() + kLong;
  auto since = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < deadline &&
         std::chrono::steady_clock::now() - since < milliseconds(200)) {
    if (sent != before) {
      before = sent;
      since = std::chrono::steady_clock::now();
    }
    std::this_thread::yield();
  }
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
  FarServer server([&](Peer& peer) {
    if (!peer.ReadRequest()) return;
    std::string answer(kStreamHead);
    for (std::size_t at = 0; at < body.size(); at += 1000) answer += Chunk(body.substr(at, 1000));
    peer.Send(answer + std::string(kStreamEnd));
    peer.WaitClosed();
  });
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

TEST_CASE("F029 F071 Cancel crosses over and closes the connection at once, at every stage") {
  const int stage = GENERATE(0, 1, 2, 3, 4);
  CAPTURE(stage);
  FarServer server([stage](Peer& peer) {
    if (stage == 0) {  // the body is still on its way
      peer.ReadHead();
      peer.WaitReleased();
      peer.WaitClosed();
      return;
    }
    if (!peer.ReadRequest()) return;
    if (stage >= 2) peer.Send(kStreamHead);
    if (stage >= 3) peer.Send(Chunk("data: 1\n\n"));
    peer.WaitClosed();
  });
  FerryClient client;
  // The machine may be busy: what counts is that it can be this fast.
  SteadyTime::duration fastest = kLong;
  for (std::size_t round = 0; round < 3; ++round) {
    std::promise<void> paused;
    Call& call = client.Start(
        Client::Post(server->Url(), std::string(stage == 0 ? 16 << 20 : 10, 'x')), [&](Call& made) {
          if (stage < 4) return;
          made.recorder.on_body = [&](std::string_view) {
            paused.set_value();
            return Flow::kPause;
          };
        });
    REQUIRE(server->WaitReceived(round, stage == 0 ? 20 : 100, kLong));
    if (stage == 2) REQUIRE(call.recorder.WaitHead());
    if (stage == 3) REQUIRE(call.recorder.WaitBody(1));
    if (stage == 4) REQUIRE(paused.get_future().wait_for(kLong) == std::future_status::ready);
    const SteadyTime start = std::chrono::steady_clock::now();
    bool done_inside = true;
    client.OnLoop([&] {
      call.exchange->Cancel();
      done_inside = call.recorder.done();
      call.exchange->Cancel();
      call.exchange->Resume();
    });
    server->Release();
    REQUIRE(call.recorder.WaitDone());
    const SteadyTime closed = server->WaitClosedAt(round, kLong);
    REQUIRE(closed != SteadyTime());
    fastest = std::min(fastest, closed - start);
    CHECK_FALSE(done_inside);
    const ExchangeResult result = call.recorder.result();
    CHECK(result.outcome == Outcome::kCancelled);
    CHECK(result.error == TransportError::kNone);
    CHECK(result.phase == (stage < 2 ? TransportPhase::kSent : TransportPhase::kBody));
    client.Cancel(call);
    client.OnLoop([] {});
    CHECK(call.recorder.violations() == 0);
  }
  CHECK(fastest < milliseconds(100));
}

TEST_CASE("what is cancelled or dropped before it crossed is never begun") {
  std::unique_ptr<LoopThread> home = StartEventLoop().value();
  std::mutex mutex;
  NotingDispatcher::Notes notes;
  std::promise<void> opened;
  const std::shared_future<void> gate = opened.get_future().share();
  auto ferry = net::LoopFerry::Create(
      home->loop(), kLoops, [&](Loop* loop) -> absl::StatusOr<std::unique_ptr<Dispatcher>> {
        return std::make_unique<NotingDispatcher>(loop, 1, &mutex, &notes, gate);
      });
  REQUIRE(ferry.ok());
  const auto url = [](std::string host) {
    while (!IsFar("https://" + host)) host += "x";
    return "https://" + host;
  };
  Call holding;  // keeps the far loop busy while the others are withdrawn
  Call cancelled;
  Call dropped;
  Call last;
  home->loop()->Post([&] {
    const auto start = [&](Call& call, const std::string& host) {
      call.exchange = (*ferry)->Start(Client::Post(url(host)), &call.recorder);
    };
    start(holding, "a");
    start(cancelled, "b");
    cancelled.exchange->Cancel();
    start(dropped, "c");
    dropped.exchange.reset();
    start(last, "d");
    opened.set_value();
  });
  REQUIRE(last.recorder.WaitDone());
  REQUIRE(cancelled.recorder.WaitDone());
  CHECK(cancelled.recorder.result().outcome == Outcome::kCancelled);
  CHECK(cancelled.recorder.result().phase == TransportPhase::kNotSent);
  CHECK(cancelled.recorder.violations() == 0);
  CHECK(holding.recorder.result().outcome == Outcome::kComplete);
  CHECK_FALSE(dropped.recorder.done());
  home->Stop();
  CHECK(notes.size() == 2);
  CHECK(notes.count(url("a")) == 1);
  CHECK(notes.count(url("d")) == 1);
}

TEST_CASE("a handler behind a crossing may cancel its own exchange in OnHead or OnBody") {
  const bool in_head = GENERATE(true, false);
  const Flow answer = GENERATE(Flow::kContinue, Flow::kPause);
  FarServer server(Endless);
  FerryClient client;
  int bodies = 0;
  Call& call = client.Start(Client::Post(server->Url()), [&](Call& made) {
    made.recorder.on_head = [&, in_head] {
      if (in_head) made.exchange->Cancel();
    };
    made.recorder.on_body = [&](std::string_view) {
      ++bodies;
      made.exchange->Cancel();
      return answer;
    };
  });
  REQUIRE(call.recorder.WaitDone());
  CHECK(call.recorder.result().outcome == Outcome::kCancelled);
  CHECK(bodies == (in_head ? 0 : 1));
  CHECK(call.recorder.violations() == 0);
  CHECK(server->WaitClosedAt(0, kLong) != SteadyTime());
}

TEST_CASE("F073 a handler behind a crossing may destroy its exchange in any callback") {
  const int where = GENERATE(0, 1, 2);
  CAPTURE(where);
  FarServer server([where](Peer& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(std::string(kStreamHead) + Chunk("x"));
    if (where == 2) peer.Send(kStreamEnd);
    while (where != 2 && peer.Send(Chunk("x"))) peer.Pause(milliseconds(1));
    peer.WaitClosed();
  });
  std::promise<void> dropped;
  FerryClient client;
  int after = 0;
  bool gone = false;
  Call& call = client.Start(Client::Post(server->Url()), [&](Call& made) {
    const auto drop = [&, where](int here) {
      if (gone) ++after;
      if (here != where) return;
      gone = true;
      made.exchange.reset();
      dropped.set_value();
    };
    made.recorder.on_head = [drop] { drop(0); };
    made.recorder.on_body = [drop](std::string_view) {
      drop(1);
      return Flow::kContinue;
    };
    made.recorder.on_done = [drop] { drop(2); };
  });
  REQUIRE(dropped.get_future().wait_for(kLong) == std::future_status::ready);
  if (where < 2) {
    CHECK(server->WaitClosedAt(0, kLong) != SteadyTime());
  }
  // Behind whatever was still on its way.
  FarServer other(Answer);
  client.Run(Client::Post(other->Url()));
  client.OnLoop([] {});
  CHECK(after == 0);
  CHECK(call.recorder.done() == (where == 2));
}

TEST_CASE("failures cross as they are") {
  std::string refused_url;
  {
    FarServer closed([](Peer&) {});
    refused_url = closed->Url();
  }
  FerryClient client;
  const ExchangeResult refused = client.Run(Client::Post(refused_url)).recorder.result();
  CHECK(refused.outcome == Outcome::kFailed);
  CHECK(refused.error == TransportError::kConnect);
  CHECK(refused.phase == TransportPhase::kNotSent);
  CHECK_FALSE(refused.detail.empty());

  std::string unknown = "http://a.invalid/";
  while (!IsFar(unknown)) unknown.insert(7, "a");
  CHECK(client.Run(Client::Post(unknown)).recorder.result().error == TransportError::kResolve);

  std::string nonsense = "://";
  while (!IsFar(nonsense)) nonsense.insert(0, "x");
  CHECK(client.Run(Client::Post(nonsense)).recorder.result().error == TransportError::kOther);

  FarServer cut([](Peer& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send("HTTP/1.1 500 X\r\nContent-Length: 10\r\n\r\nabc");
    peer.FinishWriting();
  });
  const Call& call = client.Run(Client::Post(cut->Url()));
  CHECK(call.recorder.status() == 500);
  CHECK(call.recorder.body() == "abc");
  CHECK(call.recorder.result().error == TransportError::kInterrupted);
  CHECK(call.recorder.result().phase == TransportPhase::kBody);
  CHECK(call.recorder.violations() == 0);
}

TEST_CASE("a dispatcher with several loops may be destroyed with exchanges running") {
  const std::size_t before = OpenDescriptors();
  FarServer server(OneThenSilence);
  {
    FerryClient client;
    std::vector<Call*> calls;
    for (int i = 0; i < 6; ++i) calls.push_back(&client.Start(Client::Post(server->Url())));
    for (Call* call : calls) REQUIRE(call->recorder.WaitBody(1));
    Call unsent;
    client.OnLoop([&] {
      unsent.exchange = client.dispatcher()->Start(Client::Post(server->Url()), &unsent.recorder);
      unsent.exchange->Cancel();
      calls[0]->exchange->Cancel();
      calls[1]->exchange->Cancel();
      calls[1]->exchange.reset();
    });
    client.DropDispatcher();
    CHECK(server->WaitClosedCount(6, kLong) == 6);
    // What was cancelled hears of it, nothing else is heard.
    REQUIRE(calls[0]->recorder.WaitDone());
    REQUIRE(unsent.recorder.WaitDone());
    CHECK(calls[0]->recorder.result().outcome == Outcome::kCancelled);
    CHECK(unsent.recorder.result().outcome == Outcome::kCancelled);
    client.OnLoop([&] {
      calls[2]->exchange->Cancel();
      calls[2]->exchange->Resume();
      calls[3]->exchange.reset();
      unsent.exchange.reset();
    });
    client.OnLoop([] {});
    for (std::size_t i = 1; i < calls.size(); ++i) CHECK_FALSE(calls[i]->recorder.done());
    for (const Call* call : calls) CHECK(call->recorder.violations() == 0);
  }
  // What is left is the server's listener.
  CHECK(WaitOpenDescriptors(before + 1) <= before + 1);
}

TEST_CASE("stopping the home loop with crossings under way leaks nothing and calls nobody") {
  const std::size_t before = OpenDescriptors();
  FarServer server(Endless);
  {
    FerryClient client;
    std::vector<Call*> calls;
    for (int i = 0; i < 20; ++i) calls.push_back(&client.Start(Client::Post(server->Url())));
    for (Call* call : calls) REQUIRE(call->recorder.WaitBody(20));
  }
  CHECK(WaitOpenDescriptors(before + 1) <= before + 1);
}

TEST_CASE("crossings that are paused, resumed, cancelled and dropped at random keep the contract") {
  const std::string body = Numbered(300 << 10);
  FarServer server([&](Peer& peer) {
    while (peer.ReadRequest()) {
      peer.Send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
      for (std::size_t at = 0; at < body.size(); at += 20000) {
        if (!peer.Send(std::string_view(body).substr(at, 20000))) return;
      }
    }
  });
  std::mt19937 random(20260701);  // loop thread
  struct Fate {
    Call* call = nullptr;
    bool cancelled = false;
    bool dropped = false;
    int late = 0;  // callbacks that should not have come
    std::size_t seen = 0;
  };
  FerryClient client;
  for (int round = 0; round < 5; ++round) {
    std::vector<std::unique_ptr<Fate>> fates;
    for (int i = 0; i < 40; ++i) {
      fates.push_back(std::make_unique<Fate>());
      Fate* const fate = fates.back().get();
      client.Start(Client::Post(server->Url()), [&, fate](Call& made) {
        fate->call = &made;
        made.recorder.on_body = [&, fate](std::string_view bytes) {
          if (fate->cancelled || fate->dropped) ++fate->late;
          const unsigned what = random() % 64;
          if (what == 0) {
            fate->cancelled = true;
            fate->call->exchange->Cancel();
          } else if (what == 1) {
            fate->dropped = true;
            fate->call->exchange.reset();
          } else if (what < 24) {
            client.loop()->Post([&, fate] {
              if (fate->dropped) return;
              fate->call->exchange->Resume();
              if (random() % 64 != 0 || fate->call->recorder.done()) return;
              fate->cancelled = true;
              fate->call->exchange->Cancel();
            });
            return Flow::kPause;
          }
          if (!fate->dropped) fate->seen += bytes.size();
          return Flow::kContinue;
        };
      });
    }
    int ended_well = 0;
    for (const auto& fate : fates) {
      const auto dropped = [&] {
        bool is = false;
        client.OnLoop([&] { is = fate->dropped; });
        return is;
      };
      const auto deadline = std::chrono::steady_clock::now() + kLong;
      bool ended = false;
      while (!ended && std::chrono::steady_clock::now() < deadline) {
        ended = fate->call->recorder.WaitDone(milliseconds(20)) || dropped();
      }
      REQUIRE(ended);
      client.OnLoop([] {});
      CHECK(fate->late == 0);
      CHECK(fate->call->recorder.violations() == 0);
      if (fate->dropped) {
        CHECK_FALSE(fate->call->recorder.done());
      } else if (fate->cancelled) {
        CHECK(fate->call->recorder.result().outcome == Outcome::kCancelled);
      } else {
        CHECK(fate->call->recorder.result().outcome == Outcome::kComplete);
        CHECK(fate->call->recorder.body() == body);
        ++ended_well;
      }
    }
    CHECK(ended_well > 0);
    CHECK(ended_well < 40);
  }
}

}  // namespace hotel::net_test
