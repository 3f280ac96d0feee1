// A test of your own that injects upstream behaviour: no socket, no thread, no waiting. Time is
// virtual, so a provider that hangs for a minute costs microseconds.
//
//   ./inject_upstreams && echo "failover works"
#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include "hotel/defaults.h"
#include "hotel/router.h"
#include "hotel/testing/fake_dispatcher.h"
#include "hotel/testing/manual_loop.h"
#include "hotel/testing/memory_store.h"
#include "hotel/testing/recorders.h"

namespace {

int failures = 0;

void Expect(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "FAILED: " << what << '\n';
  ++failures;
}

}  // namespace

int main() {
  using hotel::testing::Script;

  // The parts of a router, the outside world replaced.
  hotel::testing::ManualClock clock;
  hotel::testing::ManualLoop loop(&clock);
  hotel::testing::FakeDispatcher upstreams(&loop);
  hotel::testing::RecordingLog log;
  const auto store = hotel::testing::MakeMemoryStore(&clock);
  const auto settings = hotel::MakeFixedSettings(hotel::Settings::Defaults());
  const auto breaker = hotel::MakeCircuitBreaker(settings.get(), nullptr);
  hotel::RouterDeps deps;
  deps.clock = &clock;
  deps.loop = &loop;
  deps.dispatcher = &upstreams;
  deps.groups = store.get();
  deps.breaker = breaker.get();
  deps.settings = settings.get();
  deps.log = &log;
  const auto router = hotel::MakeRouter(deps);

  // One logical model over three providers.
  for (const char* name : {"one", "two", "three"}) hotel::testing::AddProvider(*store, name);
  hotel::testing::AddGroup(*store, "demo", {"one/m", "two/m", "three/m"});

  // The first refuses, the second never answers, the third does.
  upstreams.On("https://one.test", Script::Json(503, R"({"error":{"message":"down"}})"));
  upstreams.On("https://two.test", Script().Hang());
  upstreams.On("https://three.test", Script::Chat("Good day."));

  hotel::RouteRequest request;
  request.body = std::make_shared<const std::string>(R"({"model":"hotel/demo","messages":[]})");
  const auto client = std::make_shared<hotel::testing::RecordingSink>();
  const auto call = router->Start(request, client);
  const hotel::Duration took = loop.RunToEnd();

  Expect(client->ended && client->violations.empty(), "the client gets one whole answer");
  Expect(client->head.status == 200, "the answer is a good one");
  Expect(client->body.find("Good day.") != std::string::npos, "the third provider's words arrive");
  Expect(client->header("x-hotel-provider") == "three", "the answer names who served it");
  Expect(client->header("x-hotel-attempts") == "3", "the answer counts three attempts");
  Expect(took >= std::chrono::seconds(60) && took < std::chrono::seconds(61),
         "the silent provider had its minute, and no more");
  Expect(upstreams.open() == 0, "no exchange is left open");
  Expect(log.records.size() == 1 && log.records[0].attempts.size() == 3,
         "the record has the trail");
  return failures == 0 ? 0 : 1;
}
