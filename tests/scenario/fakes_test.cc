// The fakes keep the contracts of the interfaces they stand for.
#include "hotel/testing/fake_dispatcher.h"
#include "hotel/testing/manual_loop.h"
#include "hotel/testing/recorders.h"

#include "tests/support/catch.h"

namespace hotel::testing {
namespace {

using std::chrono::seconds;

struct Handler : ResponseHandler {
  void OnHead(int status, HeaderList) override { log += "head " + std::to_string(status) + ";"; }
  Flow OnBody(std::string_view bytes) override {
    log += std::string(bytes) + ";";
    if (on_body) on_body();
    return std::exchange(flow, Flow::kContinue);
  }
  void OnDone(const ExchangeResult& result) override {
    log += result.outcome == ExchangeResult::Outcome::kComplete    ? "complete"
           : result.outcome == ExchangeResult::Outcome::kCancelled ? "cancelled"
                                                                   : "failed";
    log += std::string(" ") + TransportPhaseName(result.phase) + ";";
  }
  std::string log;
  Flow flow = Flow::kContinue;
  std::function<void()> on_body;
};

struct Fixture {
  ManualClock clock;
  ManualLoop loop{&clock};
  FakeDispatcher upstreams{&loop};
  Handler handler;
  std::unique_ptr<Exchange> Start(const std::string& url = "https://a.test/x") {
    UpstreamRequest request;
    request.url = url;
    return upstreams.Start(std::move(request), &handler);
  }
};

TEST_CASE("FakeDispatcher: nothing is called back from inside Start, Resume or Cancel") {
  Fixture f;
  f.upstreams.On("https://a.test", Script().Head(200).Bytes("x").Bytes("y").Hang());
  auto exchange = f.Start();
  CHECK(f.handler.log.empty());
  f.handler.flow = Flow::kPause;
  f.loop.RunUntilIdle();
  CHECK(f.handler.log == "head 200;x;");
  exchange->Resume();
  CHECK(f.handler.log == "head 200;x;");
  f.loop.RunUntilIdle();
  CHECK(f.handler.log == "head 200;x;x;y;");  // the paused bytes come again
  exchange->Cancel();
  CHECK(f.handler.log == "head 200;x;x;y;");
  CHECK(f.upstreams.open() == 0);
  f.loop.RunUntilIdle();
  CHECK(f.handler.log ==
        "head 200;x;x;y;cancelled " + std::string(TransportPhaseName(TransportPhase::kBody)) + ";");
  CHECK(f.upstreams.seen().front().cancelled);
}

TEST_CASE("FakeDispatcher: a destroyed exchange is silent, also from inside a callback") {
  Fixture f;
  f.upstreams.On("https://a.test", Script().Head(200).Bytes("x").Bytes("y").End());
  auto exchange = f.Start();
  exchange.reset();
  f.loop.RunUntilIdle();
  CHECK(f.handler.log.empty());
  exchange = f.Start();
  f.handler.on_body = [&] { exchange.reset(); };
  f.loop.RunUntilIdle();
  CHECK(f.handler.log == "head 200;x;");
  CHECK(f.upstreams.open() == 0);
}

TEST_CASE(
    "FakeDispatcher: the longest prefix answers, scripts are taken in turn, the last repeats") {
  Fixture f;
  f.upstreams.On("https://a.test", Script().Head(1).End());
  f.upstreams.On("https://a.test/x", Script().Head(2).End())
      .On("https://a.test/x", Script().Head(3).End());
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (const char* url : {"https://a.test/x", "https://a.test/x", "https://a.test/x/y",
                          "https://a.test/z", "https://b.test/"}) {
    f.handler.log += "|";
    exchanges.push_back(f.Start(url));
    f.loop.RunUntilIdle();
  }
  const std::string body = std::string(TransportPhaseName(TransportPhase::kBody)) + ";";
  CHECK(f.handler.log == "|head 2;complete " + body + "|head 3;complete " + body +
                             "|head 3;complete " + body + "|head 1;complete " + body + "|failed " +
                             TransportPhaseName(TransportPhase::kNotSent) + ";");
  CHECK(f.upstreams.CountTo("https://a.test/x") == 3);
}

TEST_CASE("FakeDispatcher: After costs virtual time and nothing else") {
  Fixture f;
  f.upstreams.On("https://a.test", Script().After(seconds(5)).Head(200).After(seconds(1)).End());
  const auto exchange = f.Start();
  f.loop.Advance(std::chrono::milliseconds(4999));
  CHECK(f.handler.log.empty());
  f.loop.Advance(std::chrono::milliseconds(1));
  CHECK(f.handler.log == "head 200;");
  CHECK(f.loop.RunToEnd() == seconds(1));
  CHECK(f.upstreams.open() == 0);
}

TEST_CASE("ManualLoop: timers run in order of time, then of creation, posted work first") {
  ManualClock clock;
  ManualLoop loop(&clock);
  std::string order;
  const TimePoint now = clock.Now();
  loop.RunAt(now + seconds(2), [&] { order += "c"; });
  loop.RunAt(now + seconds(1), [&] { order += "a"; });
  loop.RunAt(now + seconds(1), [&] {
    order += "b";
    loop.Post([&] { order += "p"; });
  });
  const auto cancelled = loop.RunAt(now + seconds(1), [&] { order += "x"; });
  loop.CancelTimer(cancelled);
  loop.CancelTimer(0);
  loop.Post([&] { order += "0"; });
  CHECK(loop.next_timer() == now + seconds(1));
  loop.Advance(seconds(1));
  CHECK(order == "0abp");
  CHECK(loop.RunToEnd() == seconds(1));
  CHECK(order == "0abpc");
  loop.RunAt(clock.Now() + seconds(10), [] {});
  CHECK(loop.RunToEnd(seconds(3)) == seconds(3));
  CHECK(loop.pending_timers() == 1);
}

TEST_CASE("RecordingSink: notes a broken order") {
  RecordingSink sink;
  sink.OnBody("x");
  sink.OnHead({});
  sink.OnHead({});
  sink.OnEnd({});
  sink.OnEnd({});
  CHECK(sink.violations.size() == 3);
}

}  // namespace
}  // namespace hotel::testing
