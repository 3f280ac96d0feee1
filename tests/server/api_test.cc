#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "hotel/testing/manual_loop.h"

#include "server/api/admin_token.h"
#include "server/api/document.h"
#include "server/api/event_feed.h"
#include "server/api/query.h"
#include "server/api/route.h"
#include "server/api/throttle.h"
#include "tests/support/catch.h"

namespace hotel::server::api {
namespace {

using std::chrono::seconds;

TEST_CASE("throttle: ten wrong tokens within a minute, then a minute of rest") {
  Throttle throttle;
  TimePoint now{std::chrono::hours(1)};
  for (int i = 0; i < 9; ++i) {
    throttle.Wrong("a", now);
    now += seconds(5);
  }
  CHECK(throttle.Wait("a", now) == Duration::zero());
  throttle.Wrong("a", now);
  CHECK(throttle.Wait("a", now) == seconds(60));
  CHECK(throttle.Wait("b", now) == Duration::zero());
  CHECK(throttle.Wait("a", now + seconds(59)) == seconds(1));
  now += seconds(60);
  CHECK(throttle.Wait("a", now) == Duration::zero());
  // Counting begins anew, and what is older than a minute does not count.
  for (int i = 0; i < 9; ++i) throttle.Wrong("a", now);
  now += seconds(60);
  throttle.Wrong("a", now);
  CHECK(throttle.Wait("a", now) == Duration::zero());
}

TEST_CASE("throttle: a host with many IPv6 addresses is one guesser") {
  CHECK(ThrottleKey("127.0.0.1") == "127.0.0.1");
  CHECK(ThrottleKey("2001:db8:1:2:3:4:5:6") == "2001:db8:1:2::");
  CHECK(ThrottleKey("2001:db8:1:2:ffff::1") == "2001:db8:1:2::");
  CHECK(ThrottleKey("2001:db8:1:3::1") != ThrottleKey("2001:db8:1:2::1"));
  CHECK(ThrottleKey("::ffff:192.0.2.1") == "::ffff:192.0.2.1");
  CHECK(ThrottleKey("").empty());
}

TEST_CASE("throttle: remembers a bounded number of addresses, the latest ones") {
  Throttle throttle;
  TimePoint now{std::chrono::hours(1)};
  for (std::size_t i = 0; i < Throttle::kMostAddresses; ++i) {
    for (int n = 0; n < Throttle::kMostWrong; ++n) throttle.Wrong("a" + std::to_string(i), now);
    now += std::chrono::microseconds(1);
  }
  throttle.Wrong("one more", now);
  CHECK(throttle.Wait("a0", now) == Duration::zero());
  CHECK(throttle.Wait("a1", now) > Duration::zero());
}

TEST_CASE("admin token: right and wrong ones, and its digest in a file") {
  const AdminToken token("right");
  CHECK(token.Matches("right"));
  for (const char* wrong : {"", "wrong", "right ", "righ"}) CHECK_FALSE(token.Matches(wrong));
  CHECK_FALSE(AdminToken("").Matches(""));
  CHECK(AdminToken::FromHex(token.Hex())->Matches("right"));
  CHECK_FALSE(AdminToken::FromHex(token.Hex().substr(2)));
  CHECK_FALSE(AdminToken::FromHex("zz" + token.Hex().substr(2)));
  // printf right | sha256sum
  CHECK(token.Hex() == "27042f4e6eca7d0b2a7ee4026df2ecfa51d3339e6d122aa099118ecd8563bad9");
}

TEST_CASE("query: names, values, escapes") {
  const auto query = Query::Parse("/p?a=1&b=two%20words+more&c&d=&e=%2F");
  REQUIRE(query);
  CHECK(query->items().size() == 5);
  CHECK(query->Get("a") == "1");
  CHECK(query->Get("b") == "two words more");
  CHECK(query->Get("c").empty());
  CHECK(query->Get("e") == "/");
  CHECK(query->Get("f").empty());
  CHECK(Query::Parse("/p")->items().empty());
  CHECK(Query::Parse("/p?")->items().empty());
  for (const char* bad : {"/p?a=%", "/p?a=%1", "/p?a=%g0", "/p?a=1&a=2", "/p?%zz=1"}) {
    CHECK_FALSE(Query::Parse(bad));
  }
  CHECK(PercentDecode("a+b%41", false) == "a+bA");
}

TEST_CASE("routes: each path and method once, and the exact one is found") {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const Route& route : Routes()) {
    INFO(route.method << " " << route.pattern);
    CHECK(seen.emplace(route.method, route.pattern).second);
    CHECK_FALSE(route.summary.empty());
    CHECK((route.handle != nullptr) != route.streams);
    const Match match = FindRoute(route.method, route.pattern);
    CHECK(match.route == &route);
  }
  CHECK(FindRoute("GET", "/api/failover-groups/candidates").path.empty());
  CHECK(FindRoute("GET", "/api/failover-groups/a%20b").path == std::vector<std::string>{"a b"});
  CHECK(FindRoute("PUT", "/api/failover-groups/candidates").allow == "GET");
  CHECK(FindRoute("GET", "/api/failover-groups/").allow.empty());
  CHECK(FindRoute("GET", "/api/failover-groups/a/b").allow.empty());
}

TEST_CASE("docs/api.md is what the table says") {
  const std::string path = std::string(HOTEL_SOURCE_DIR) + "/docs/api.md";
  if (std::getenv("HOTEL_UPDATE_DOCS") != nullptr) std::ofstream(path) << ApiMarkdown();
  std::ifstream file(path);
  std::stringstream page;
  page << file.rdbuf();
  CHECK(page.str() == ApiMarkdown());
}

/// A client that takes what it is given, until it is full.
class Client final : public Responder {
 public:
  void Begin(int code, const HeaderList&, bool streams) override {
    status = code;
    streaming = streams;
  }
  Flow Write(std::string_view bytes) override {
    body += bytes;
    if (leaves) std::exchange(on_gone, nullptr)();
    return full ? Flow::kPause : Flow::kContinue;
  }
  void WriteWhole(std::string bytes) override { body += bytes; }
  void End() override { ended = true; }
  void Abort() override { ended = true; }
  void Watch(std::function<void()> room, std::function<void()> gone) override {
    on_room = std::move(room);
    on_gone = std::move(gone);
  }

  int status = 0;
  bool streaming = false;
  bool full = false;
  bool leaves = false;  // is found gone when it is written to
  bool ended = false;
  std::string body;
  std::function<void()> on_room;
  std::function<void()> on_gone;
};

struct Feed {
  Feed() { feed.SetLoop(&loop); }
  void Say(const std::string& type) {
    Event event;
    event.type = type;
    event.severity = Event::Severity::kWarning;
    event.source = "failover";
    event.message = "m";
    event.metadata = {{"status", std::int64_t{503}}, {"quota_pinned", false}, {"model", "x"}};
    feed.OnEvent(event);
    loop.RunUntilIdle();
  }
  std::shared_ptr<Client> Join(const std::string& last_id = "") {
    auto client = std::make_shared<Client>();
    feed.Listen(last_id, client);
    return client;
  }
  testing::ManualClock clock;
  testing::ManualLoop loop{&clock};
  EventFeed feed;
};

/// Types of the events in a stream.
std::string Types(const std::string& body) {
  std::string types;
  std::size_t at = 0;
  while ((at = body.find("\"type\":\"", at)) != std::string::npos) {
    at += 8;
    types += body.substr(at, body.find('"', at) - at) + " ";
  }
  return types;
}

/// The last id in a stream.
std::string LastId(const std::string& body) {
  const std::size_t at = body.rfind("id: ") + 4;
  return body.substr(at, body.find('\n', at) - at);
}

/// What a listener gets first, with the id in it.
std::string Greeting(const std::string& body) {
  const std::string begin = ": connected\nid: ";
  REQUIRE(body.substr(0, begin.size()) == begin);
  return body.substr(0, body.find("\n\n") + 2);
}

TEST_CASE("events: a listener hears what happens from now on, in the form of facts d") {
  Feed feed;
  feed.Say("before");
  const auto client = feed.Join();
  CHECK(client->status == 200);
  CHECK(client->streaming);
  const std::string greeting = Greeting(client->body);
  CHECK(client->body == greeting);
  feed.Say("circuit_breaker.open");
  const std::string frame = client->body.substr(greeting.size());
  const std::string id = LastId(frame);
  const std::string start = "id: " + id + "\ndata: {\"id\":\"" + id +
                            "\",\"type\":\"circuit_breaker.open\",\"severity\":\"warning\","
                            "\"source\":\"failover\",\"message\":\"m\",\"metadata\":{\"status\":"
                            "503,\"quota_pinned\":false,\"model\":\"x\"},\"timestamp\":\"";
  CHECK(frame.substr(0, start.size()) == start);
  CHECK(frame.substr(frame.size() - 5) == "Z\"}\n\n");
}

TEST_CASE("events: who comes back with the last id misses nothing that is kept") {
  Feed feed;
  const auto first = feed.Join();
  feed.Say("one");
  const std::string id = LastId(first->body);
  first->on_gone();
  feed.Say("two");
  feed.Say("three");
  CHECK(Types(first->body) == "one ");
  CHECK(Types(feed.Join(id)->body) == "two three ");
  CHECK(Types(feed.Join(LastId(feed.Join(id)->body))->body).empty());
  // Ids of an earlier run and nonsense get everything.
  for (const char* other : {"nonsense", "0123456789abcdef-1", "-", "1"}) {
    CHECK(Types(feed.Join(other)->body) == "one two three ");
  }
}

TEST_CASE("events: who comes back before anything was told misses nothing either") {
  Feed feed;
  feed.Say("before");
  const std::string id = LastId(feed.Join()->body);
  feed.Say("one");
  CHECK(Types(feed.Join(id)->body) == "one ");
  Feed restarted;
  restarted.Say("two");
  CHECK(Types(restarted.Join(id)->body) == "two ");
  Feed silent;
  const std::string first = LastId(silent.Join()->body);
  silent.Say("three");
  CHECK(Types(silent.Join(first)->body) == "three ");
}

TEST_CASE("events: a slow listener is not written to, and gets the kept ones later") {
  Feed feed;
  const auto slow = feed.Join();
  slow->full = true;
  feed.Say("one");
  const std::size_t size = slow->body.size();
  for (std::size_t i = 0; i < EventFeed::kKept + 10; ++i) feed.Say("more");
  CHECK(slow->body.size() == size);
  slow->full = false;
  slow->on_room();
  CHECK(Types(slow->body).size() == std::string("one ").size() + EventFeed::kKept * 5);
}

TEST_CASE("events: a listener that is found gone while it is written to is dropped") {
  Feed feed;
  feed.Say("one");
  auto leaver = std::make_shared<Client>();
  leaver->leaves = true;
  feed.feed.Listen("from the beginning", leaver);  // already in the first line
  CHECK(leaver->body == Greeting(leaver->body));
  const auto stays = feed.Join();
  auto later = feed.Join();
  later->leaves = true;
  const std::weak_ptr<Client> watched = later;
  later.reset();
  CHECK_FALSE(watched.expired());
  feed.Say("two");
  CHECK(watched.expired());
  CHECK(Types(stays->body) == "two ");
  const auto beat = feed.Join();
  beat->leaves = true;
  feed.loop.Advance(seconds(60));
  CHECK(beat->body == Greeting(beat->body) + ": heartbeat\n\n");
}

TEST_CASE("events: a heartbeat every 30 seconds, for those who listen") {
  Feed feed;
  const auto client = feed.Join();
  feed.loop.Advance(seconds(29));
  CHECK(client->body == Greeting(client->body));
  feed.loop.Advance(seconds(31));
  CHECK(client->body == Greeting(client->body) + ": heartbeat\n\n: heartbeat\n\n");
  client->on_gone();
  feed.loop.Advance(seconds(60));
  CHECK(feed.loop.pending_timers() == 0);
}

TEST_CASE("events: listeners are few") {
  Feed feed;
  std::vector<std::shared_ptr<Client>> clients;
  for (std::size_t i = 0; i < EventFeed::kMostListeners; ++i) clients.push_back(feed.Join());
  const auto refused = feed.Join();
  CHECK(refused->status == 503);
  CHECK(refused->ended);
  clients[0]->on_gone();
  CHECK(feed.Join()->status == 200);
}

}  // namespace
}  // namespace hotel::server::api
