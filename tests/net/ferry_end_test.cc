// How exchanges across loops end: cancelled, dropped, failed, taken apart under way.
#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "hotel/defaults.h"
#include "hotel/dispatcher.h"

#include "libhotel/net/crossing.h"
#include "libhotel/net/loop_ferry.h"
#include "tests/net/client.h"
#include "tests/net/ferry.h"
#include "tests/net/scripted_server.h"
#include "tests/net/traffic.h"
#include "tests/support/catch.h"

namespace hotel::net_test {
namespace {

using Outcome = ExchangeResult::Outcome;
using std::chrono::milliseconds;

void Endless(Peer& peer) {
  if (!peer.ReadRequest()) return;
  peer.Send(kStreamHead);
  while (peer.Send(Chunk("data: x\n\n"))) peer.Pause(milliseconds(2));
  peer.WaitClosed();
}

}  // namespace

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
  constexpr auto kFast = milliseconds(100);
  SteadyTime::duration fastest = kLong;
  for (std::size_t round = 0; round < 3 || (round < 20 && fastest >= kFast); ++round) {
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
  CHECK(fastest < kFast);
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
    // The one that was called off before it was sent may have got as far as a connection.
    CHECK(server->WaitClosedCount(6, kLong) >= 6);
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
