// Backpressure, cancellation, lifetimes, many at once.
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "hotel/defaults.h"

#include "tests/net/client.h"
#include "tests/net/scripted_server.h"
#include "tests/net/traffic.h"
#include "tests/support/catch.h"

namespace hotel::net_test {
namespace {

using Outcome = ExchangeResult::Outcome;
using std::chrono::milliseconds;

// A stream that goes on until the client leaves.
void Endless(Peer& peer) {
  if (!peer.ReadRequest()) return;
  peer.Send(kStreamHead);
  while (peer.Send(Chunk("data: x\n\n"))) peer.Pause(milliseconds(5));
}

TEST_CASE("a paused exchange stops the upstream, and loses nothing") {
  const std::string body = Numbered(24 << 20);
  std::atomic<std::size_t> sent{0};
  ScriptedServer server(SendCounted(body, &sent));
  Client client;
  bool open = false;  // loop thread
  std::promise<void> paused;
  bool told = false;
  Call& call = client.Start(Client::Post(server.Url()), [&](Call& made) {
    made.recorder.on_body = [&](std::string_view) {
      if (open) return Flow::kContinue;
      if (!told) paused.set_value();
      told = true;
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
  CHECK(call.recorder.body() == body);
}

TEST_CASE("pausing on every piece delivers the same bytes") {
  const std::string body = Numbered(300 << 10);
  ScriptedServer server(InChunks(body));
  Client client;
  Call* self = nullptr;
  bool refuse = false;  // loop thread
  bool inside = false;
  int reentered = 0;
  int pauses = 0;
  Call& call = client.Start(Client::Post(server.Url()), [&](Call& made) {
    self = &made;
    made.recorder.on_body = [&](std::string_view) {
      if (inside) ++reentered;
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

TEST_CASE("an upstream that resets while the exchange is paused is seen after the pause") {
  ScriptedServer server([](Peer& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(std::string(kStreamHead) + Chunk("data: 1\n\n"));
    peer.WaitReleased();
    peer.Reset();
  });
  Client client;
  bool open = false;
  std::promise<void> paused;
  Call& call = client.Start(Client::Post(server.Url()), [&](Call& made) {
    made.recorder.on_body = [&](std::string_view) {
      if (open) return Flow::kContinue;
      paused.set_value();
      return Flow::kPause;
    };
  });
  REQUIRE(paused.get_future().wait_for(kLong) == std::future_status::ready);
  server.Release();
  client.OnLoop([&] { open = true; });
  client.Resume(call);
  REQUIRE(call.recorder.WaitDone());
  CHECK(call.recorder.result().outcome == Outcome::kFailed);
  CHECK(call.recorder.result().error == TransportError::kInterrupted);
  CHECK(call.recorder.body() == "data: 1\n\n");
}

TEST_CASE("F029 F071 Cancel closes the connection at once, at every stage") {
  const int stage = GENERATE(0, 1, 2, 3, 4);
  CAPTURE(stage);
  ScriptedServer server([stage](Peer& peer) {
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
  Client client;
  std::promise<void> paused;
  Call& call = client.Start(
      Client::Post(server.Url(), std::string(stage == 0 ? 16 << 20 : 10, 'x')), [&](Call& made) {
        if (stage == 4) {
          made.recorder.on_body = [&](std::string_view) {
            paused.set_value();
            return Flow::kPause;
          };
        }
      });
  const std::size_t seen = stage == 0 ? 20 : 100;
  REQUIRE(server.WaitReceived(0, seen, kLong));
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
  server.Release();
  REQUIRE(call.recorder.WaitDone());
  const SteadyTime closed = server.WaitClosedAt(0, kLong);
  REQUIRE(closed != SteadyTime());
  // The server itself would never end; how fast it can be is tested where rounds are counted.
  CHECK(closed - start < std::chrono::seconds(5));
  CHECK_FALSE(done_inside);
  const ExchangeResult result = call.recorder.result();
  CHECK(result.outcome == Outcome::kCancelled);
  CHECK(result.phase == (stage < 2 ? TransportPhase::kSent : TransportPhase::kBody));
  CHECK(call.recorder.violations() == 0);
  client.Cancel(call);
  client.OnLoop([] {});
  CHECK(call.recorder.violations() == 0);
}

TEST_CASE("Cancel before anything happened still ends in one OnDone") {
  ScriptedServer server(OneThenSilence);
  Client client;
  Call call;
  client.OnLoop([&] {
    call.exchange = client.dispatcher()->Start(Client::Post(server.Url()), &call.recorder);
    call.exchange->Cancel();
  });
  REQUIRE(call.recorder.WaitDone());
  CHECK(call.recorder.result().outcome == Outcome::kCancelled);
  CHECK(call.recorder.result().phase == TransportPhase::kNotSent);
  client.Drop(call);
  CHECK(server.requests() == 0);
}

TEST_CASE("Cancel of a request that cannot be sent wins over its error") {
  Client client;
  Call call;
  client.OnLoop([&] {
    call.exchange = client.dispatcher()->Start(Client::Post("nonsense"), &call.recorder);
    call.exchange->Cancel();
  });
  REQUIRE(call.recorder.WaitDone());
  client.OnLoop([] {});
  CHECK(call.recorder.result().outcome == Outcome::kCancelled);
  CHECK(call.recorder.violations() == 0);
  client.Drop(call);
}

TEST_CASE("a handler may cancel its own exchange in OnHead or OnBody") {
  const bool in_head = GENERATE(true, false);
  const Flow answer = GENERATE(Flow::kContinue, Flow::kPause);
  ScriptedServer server(Endless);
  Client client;
  int bodies = 0;
  Call& call = client.Start(Client::Post(server.Url()), [&](Call& made) {
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
  CHECK(call.recorder.result().phase == TransportPhase::kBody);
  CHECK(bodies == (in_head ? 0 : 1));
  CHECK(call.recorder.violations() == 0);
}

TEST_CASE("F073 a handler may destroy its own exchange in any callback, and hears no more") {
  const int where = GENERATE(0, 1, 2);
  CAPTURE(where);
  ScriptedServer server([where](Peer& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(std::string(kStreamHead) + Chunk("x"));
    if (where == 2) peer.Send(kStreamEnd);
    peer.WaitClosed();
  });
  std::promise<void> dropped;
  Client client;
  int after = 0;
  bool gone = false;
  Call& call = client.Start(Client::Post(server.Url()), [&](Call& made) {
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
    CHECK(server.WaitClosedAt(0, kLong) != SteadyTime());
  }
  client.OnLoop([] {});
  client.OnLoop([] {});
  CHECK(after == 0);
  CHECK(call.recorder.done() == (where == 2));
}

TEST_CASE("a handler may start, cancel and destroy other exchanges inside its callbacks") {
  const int where = GENERATE(0, 1, 2);
  CAPTURE(where);
  ScriptedServer server(OneThenSilence);
  ScriptedServer quick([](Peer& peer) {
    while (peer.ReadRequest()) peer.Send(Reply(200, "quick"));
  });
  Client client;
  Call& cancelled = client.Start(Client::Post(server.Url()));
  Call& destroyed = client.Start(Client::Post(server.Url()));
  REQUIRE(cancelled.recorder.WaitBody(1));
  REQUIRE(destroyed.recorder.WaitBody(1));
  Call started;
  Call withdrawn;
  const auto act = [&] {
    started.exchange = client.dispatcher()->Start(Client::Post(quick.Url()), &started.recorder);
    withdrawn.exchange = client.dispatcher()->Start(Client::Post(quick.Url()), &withdrawn.recorder);
    withdrawn.exchange.reset();
    cancelled.exchange->Cancel();
    destroyed.exchange.reset();
  };
  Call& call = client.Start(Client::Post(quick.Url()), [&](Call& made) {
    if (where == 0) made.recorder.on_head = act;
    if (where == 1) {
      made.recorder.on_body = [act](std::string_view) {
        act();
        return Flow::kContinue;
      };
    }
    if (where == 2) made.recorder.on_done = act;
  });
  REQUIRE(call.recorder.WaitDone());
  REQUIRE(started.recorder.WaitDone());
  REQUIRE(cancelled.recorder.WaitDone());
  CHECK(call.recorder.result().outcome == Outcome::kComplete);
  CHECK(started.recorder.body() == "quick");
  CHECK(cancelled.recorder.result().outcome == Outcome::kCancelled);
  CHECK(server.WaitClosedCount(2, kLong) == 2);
  client.OnLoop([&] { started.exchange.reset(); });
  CHECK_FALSE(destroyed.recorder.done());
  CHECK_FALSE(withdrawn.recorder.done());
}

TEST_CASE("a dispatcher may be destroyed with exchanges running, and before them") {
  ScriptedServer server(OneThenSilence);
  Client client;
  std::vector<Call*> calls;
  for (int i = 0; i < 3; ++i) calls.push_back(&client.Start(Client::Post(server.Url())));
  for (Call* call : calls) REQUIRE(call->recorder.WaitBody(1));
  client.OnLoop([&] {
    calls[2]->exchange->Cancel();  // its OnDone is still on the way
  });
  client.DropDispatcher();
  CHECK(server.WaitClosedCount(3, kLong) == 3);
  client.OnLoop([&] {
    calls[0]->exchange->Cancel();
    calls[0]->exchange->Resume();
    calls[1]->exchange.reset();
  });
  client.OnLoop([] {});
  CHECK_FALSE(calls[0]->recorder.done());
  CHECK_FALSE(calls[1]->recorder.done());
}

TEST_CASE("the dispatcher may be destroyed in the last OnDone") {
  ScriptedServer server([](Peer& peer) {
    while (peer.ReadRequest()) peer.Send(Reply(200, "hi"));
  });
  auto thread = StartEventLoop();
  REQUIRE(thread.ok());
  auto made = MakeCurlDispatcher((*thread)->loop(), Client::LoopbackOptions());
  REQUIRE(made.ok());
  std::unique_ptr<Dispatcher> dispatcher = *std::move(made);
  Call call;
  std::promise<void> destroyed;
  call.recorder.on_done = [&] {
    dispatcher.reset();
    destroyed.set_value();
  };
  (*thread)->loop()->Post(
      [&] { call.exchange = dispatcher->Start(Client::Post(server.Url()), &call.recorder); });
  REQUIRE(destroyed.get_future().wait_for(kLong) == std::future_status::ready);
  (*thread)->Stop();
  CHECK(call.recorder.body() == "hi");
}

TEST_CASE("stopping the loop with exchanges running leaks nothing and calls nobody") {
  const std::size_t before = OpenDescriptors();
  ScriptedServer server(Endless);
  {
    Client client;
    std::vector<Call*> calls;
    for (int i = 0; i < 5; ++i) calls.push_back(&client.Start(Client::Post(server.Url())));
    for (Call* call : calls) REQUIRE(call->recorder.WaitBody(20));
  }
  // What is left is the server's listener.
  CHECK(WaitOpenDescriptors(before + 1) <= before + 1);
}

TEST_CASE("F071 two hundred streams on one loop, cut by their clients, all close upstream") {
  const std::size_t before = OpenDescriptors();
  constexpr std::size_t kStreams = 200;
  {
    ScriptedServer server(OneThenSilence);
    Client client;
    std::vector<Call*> calls;
    for (std::size_t i = 0; i < kStreams; ++i) {
      calls.push_back(&client.Start(Client::Post(server.Url())));
    }
    for (Call* call : calls) REQUIRE(call->recorder.WaitBody(9));
    CHECK(server.connections() == kStreams);
    client.OnLoop([&] {
      for (std::size_t i = 0; i < kStreams; ++i) {
        if (i % 2 == 0) {
          calls[i]->exchange->Cancel();
        } else {
          calls[i]->exchange.reset();
        }
      }
    });
    CHECK(server.WaitClosedCount(kStreams, kLong) == kStreams);
    for (std::size_t i = 0; i < kStreams; i += 2) REQUIRE(calls[i]->recorder.WaitDone());
    ScriptedServer next([](Peer& peer) {
      while (peer.ReadRequest()) peer.Send(Reply(200, "next"));
    });
    CHECK(client.Run(Client::Post(next.Url())).recorder.body() == "next");
  }
  CHECK(WaitOpenDescriptors(before) <= before);
}

TEST_CASE("two hundred streams on one loop run side by side to their ends") {
  constexpr std::size_t kStreams = 200;
  ScriptedServer server([](Peer& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(kStreamHead);
    peer.WaitReleased();  // all of them are open at the same time
    for (int i = 0; i < 20; ++i) {
      peer.Send(Chunk(peer.body() + std::to_string(i) + ";"));
      peer.Pause(milliseconds(2));
    }
    peer.Send(kStreamEnd);
    peer.WaitClosed();
  });
  Client client;
  std::vector<Call*> calls;
  for (std::size_t i = 0; i < kStreams; ++i) {
    calls.push_back(&client.Start(Client::Post(server.Url(), std::to_string(i) + ":")));
  }
  for (Call* call : calls) REQUIRE(call->recorder.WaitHead());
  server.Release();
  for (std::size_t i = 0; i < kStreams; ++i) {
    REQUIRE(calls[i]->recorder.WaitDone());
    std::string expected;
    for (int n = 0; n < 20; ++n) expected += std::to_string(i) + ":" + std::to_string(n) + ";";
    CHECK(calls[i]->recorder.body() == expected);
    CHECK(calls[i]->recorder.result().outcome == Outcome::kComplete);
    CHECK(calls[i]->recorder.violations() == 0);
  }
}

TEST_CASE("F073 clients that leave as the head comes leave no connection behind") {
  const std::size_t before = OpenDescriptors();
  {
    ScriptedServer server([](Peer& peer) {
      if (!peer.ReadRequest()) return;
      peer.Send(kStreamHead);
      peer.WaitClosed();
    });
    Client client;
    constexpr int kRounds = 100;
    for (int i = 0; i < kRounds; ++i) {
      Call& call = client.Start(Client::Post(server.Url()));
      REQUIRE(call.recorder.WaitHead());
      client.Drop(call);
    }
    CHECK(server.WaitClosedCount(kRounds, kLong) == kRounds);
  }
  CHECK(WaitOpenDescriptors(before) <= before);
}

}  // namespace
}  // namespace hotel::net_test
