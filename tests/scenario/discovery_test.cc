// Discovery over scripted upstreams in virtual time (R84-R91; facts l).
#include "libhotel/route/discovery.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "hotel/defaults.h"
#include "hotel/testing/fake_dispatcher.h"
#include "hotel/testing/manual_loop.h"
#include "hotel/testing/memory_store.h"
#include "hotel/testing/recorders.h"

#include "absl/status/status.h"
#include "tests/scenario/harness.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

std::string ListOf(const std::vector<std::string>& ids) {
  std::string body = R"({"object":"list","data":[)";
  for (const std::string& id : ids) {
    if (body.back() == '}') body += ',';
    body += R"({"id":")" + id + R"("})";
  }
  return body + "]}";
}

Script Lists(const std::vector<std::string>& ids) { return Script::Json(200, ListOf(ids)); }

struct World {
  testing::ManualClock clock;
  testing::ManualLoop loop{&clock};
  testing::FakeDispatcher upstreams{&loop};
  testing::RecordingEvents events;
  LiveSettings settings{Settings::Defaults()};
  std::unique_ptr<Store> store = testing::MakeMemoryStore(&clock);
  std::shared_ptr<route::StandardDiscovery> discovery;

  World& Provider(const std::string& name, Script script) {
    testing::AddProvider(*store, name, "sk-secret-of-" + name);
    Now(name, std::move(script));
    return *this;
  }
  static std::string ModelsUrl(const std::string& name) {
    return "https://" + name + ".test/v1/models";
  }
  /// From now on the provider lists this.
  void Now(const std::string& name, Script script) {
    upstreams.Clear(ModelsUrl(name));
    upstreams.On(ModelsUrl(name), std::move(script));
  }
  void Open() {
    route::DiscoveryParts parts;
    parts.clock = &clock;
    parts.loop = &loop;
    parts.dispatcher = &upstreams;
    parts.groups = store.get();
    parts.store = store.get();
    parts.settings = &settings;
    parts.events = &events;
    parts.background = [this](std::function<void()> task) { loop.Post(std::move(task)); };
    auto opened = route::StandardDiscovery::Open(std::move(parts));
    REQUIRE(opened.ok());
    discovery = *opened;
  }
  void Start() {
    if (discovery == nullptr) Open();
    discovery->Start();
    loop.Advance(seconds(1));
  }
  ~World() {
    if (discovery != nullptr) discovery->Stop();
  }

  std::string Id(const std::string& name) const {
    return store->Snapshot()->FindProvider(name)->id;
  }
  const Model* Find(const std::string& provider, const std::string& model) const {
    kept.push_back(store->Snapshot());
    return kept.back()->FindModel(Id(provider), model);
  }
  ProviderDiscovery Status(const std::string& name) const {
    for (const ProviderDiscovery& one : discovery->Status()) {
      if (one.provider_id == Id(name)) return one;
    }
    throw std::runtime_error("no status of " + name);
  }
  bool LeftOut(const std::string& name) const { return discovery->IsLeftOut(Id(name)); }
  std::size_t Asked(const std::string& name) const { return upstreams.CountTo(ModelsUrl(name)); }
  std::size_t Events(const std::string& type) const {
    std::size_t count = 0;
    for (const Event& event : events.events) count += event.type == type ? 1 : 0;
    return count;
  }
  mutable std::vector<std::shared_ptr<const GroupSnapshot>> kept;
};

TEST_CASE("R84 a start asks every provider without a fixed list, and groups follow") {
  World w;
  w.Provider("a", Lists({"z-ai/glm", "only-a"})).Provider("b", Lists({"GLM"}));
  ProviderSpec fixed;
  fixed.name = "c";
  fixed.type = "openai";
  fixed.base_url = "https://c.test/v1";
  fixed.models = std::vector<std::string>{"x"};
  REQUIRE(w.store->UpsertProvider(fixed).ok());
  w.Start();
  CHECK(w.Asked("a") == 1);
  CHECK(w.Asked("c") == 0);
  const auto& request = w.upstreams.seen().front().request;
  CHECK(request.method == "GET");
  CHECK(FindHeader(request.headers, "authorization").substr(0, 10) == "Bearer sk-");
  REQUIRE(w.Find("a", "only-a") != nullptr);
  const FailoverGroup* group = w.kept.back()->FindGroup("glm");
  REQUIRE(group != nullptr);
  CHECK(group->auto_created);
  CHECK(group->entries.size() == 2);
  CHECK(w.Status("a").state == DiscoveryState::kFresh);
  CHECK(w.Status("c").state == DiscoveryState::kConfigured);
  CHECK(w.Status("a").model_count == 2);
}

TEST_CASE("facts l a start soon after the last scan does not repeat it") {
  World w;
  w.Provider("a", Lists({"m"}));
  w.Start();
  w.discovery->Stop();
  w.discovery.reset();
  w.loop.Advance(minutes(4));
  w.Provider("new", Lists({"n"}));
  w.Start();
  CHECK(w.Asked("a") == 1);
  CHECK(w.Asked("new") == 1);  // it was not in that scan
  w.discovery->Stop();
  w.discovery.reset();
  w.loop.Advance(minutes(6));
  w.Start();
  CHECK(w.Asked("a") == 2);
}

TEST_CASE("facts l network failures, 429 and 5xx are tried again three times, 401 is not") {
  World w;
  w.Provider("a", Script::Refused());
  w.upstreams.On(World::ModelsUrl("a"), Script::Json(503, "{}"));
  w.upstreams.On(World::ModelsUrl("a"), Script::Json(429, "{}"));
  w.upstreams.On(World::ModelsUrl("a"), Lists({"m"}));
  w.Provider("b", Script::Json(401, R"({"error":"bad key sk-secret-of-b"})"));
  w.Start();
  w.loop.Advance(seconds(6));  // 1 + 2 + 3
  CHECK(w.Asked("a") == 4);
  CHECK(w.Status("a").state == DiscoveryState::kFresh);
  CHECK(w.Asked("b") == 1);
  CHECK(w.Status("b").state == DiscoveryState::kNeverSucceeded);
  CHECK(w.Status("b").last_error.find("status 401") != std::string::npos);
  CHECK(w.Status("b").last_error.find("sk-secret") == std::string::npos);
}

TEST_CASE("R85 R90 a provider that fails goes stale and comes back within a recheck") {
  World w;
  w.Provider("a", Lists({"m"})).Provider("b", Lists({"m"}));
  w.Start();
  w.Now("a", Script::Json(404, "{}"));
  w.loop.Advance(std::chrono::hours(6));
  CHECK(w.Status("a").state == DiscoveryState::kStale);
  CHECK(w.LeftOut("a"));
  CHECK_FALSE(w.LeftOut("b"));
  CHECK(w.Events("discovery.failed") == 1);
  // R85: nothing of the inventory is lost.
  CHECK(w.Find("a", "m")->enabled);
  CHECK(w.kept.back()->FindGroup("m")->entries.size() == 2);

  const std::size_t b_asked = w.Asked("b");
  w.Now("a", Lists({"m"}));
  w.loop.Advance(seconds(61));
  CHECK_FALSE(w.LeftOut("a"));
  CHECK(w.Status("a").state == DiscoveryState::kFresh);
  CHECK(w.Status("a").last_error.empty());
  CHECK(w.Events("discovery.recovered") == 1);
  CHECK(w.Asked("b") == b_asked);  // R84: only those that failed are asked on the fast loop
}

TEST_CASE("R89 R91 all fail, one comes back, its peers become stale with their next failure") {
  World w;
  w.Provider("a", Lists({"m"})).Provider("b", Lists({"m"}));
  w.Start();
  for (const char* name : {"a", "b"}) w.Now(name, Script::Json(404, "{}"));
  w.loop.Advance(std::chrono::hours(6));
  CHECK(w.Status("a").state == DiscoveryState::kStale);
  CHECK_FALSE(w.LeftOut("a"));
  CHECK_FALSE(w.LeftOut("b"));
  w.Now("a", Lists({"m"}));
  w.loop.Advance(seconds(130));
  CHECK_FALSE(w.LeftOut("a"));
  CHECK(w.LeftOut("b"));
}

TEST_CASE("R91 what was stale is so after a restart") {
  World w;
  w.Provider("a", Lists({"m"})).Provider("b", Lists({"m"}));
  w.Start();
  w.Now("a", Script::Json(404, "{}"));
  w.loop.Advance(std::chrono::hours(6));
  REQUIRE(w.LeftOut("a"));
  w.discovery->Stop();
  w.discovery.reset();
  w.Open();
  w.discovery->Start();
  CHECK(w.LeftOut("a"));  // before anybody was asked
}

TEST_CASE("facts l a missing model is asked for twice more and disabled at the second scan") {
  World w;
  w.Provider("a", Lists({"m", "n"}));
  w.Start();
  w.Now("a", Lists({"m"}));
  w.loop.Advance(std::chrono::hours(6) - seconds(1));
  CHECK(w.Asked("a") == 2);
  w.loop.Advance(seconds(16));
  CHECK(w.Asked("a") == 3);
  w.loop.Advance(seconds(46));
  CHECK(w.Asked("a") == 4);
  CHECK(w.Find("a", "n")->enabled);
  CHECK(w.Find("a", "n")->missing_scans == 1);
  w.loop.Advance(std::chrono::hours(6) + minutes(2));
  CHECK_FALSE(w.Find("a", "n")->enabled);
  CHECK_FALSE(w.Find("a", "n")->disabled_manually);
  // Seven days later the row is gone.
  w.loop.Advance(std::chrono::hours(24 * 8));
  CHECK(w.Find("a", "n") == nullptr);
}

TEST_CASE("facts l what a confirmation finds was not missing") {
  World w;
  w.Provider("a", Lists({"m", "n"}));
  w.Start();
  w.Now("a", Lists({"m"}));
  w.upstreams.On(World::ModelsUrl("a"), Lists({"n", "m"}));
  w.loop.Advance(std::chrono::hours(6) + minutes(1));
  CHECK(w.Find("a", "n")->missing_scans == 0);
}

TEST_CASE("facts l a scan that lacks most models is suspect, every third one in a row is told") {
  World w;
  w.Provider("a", Lists({"1", "2", "3", "4", "5", "6", "7"}));
  w.Start();
  w.Now("a", Lists({"1"}));
  w.loop.Advance(std::chrono::hours(20));
  CHECK(w.Find("a", "7")->enabled);
  CHECK(w.Events("discovery.suspect_scan") == 3);
  CHECK(w.Events("discovery.bulk_removal_suspected") == 1);
  CHECK(w.Status("a").suspect_scans == 3);
}

TEST_CASE("facts l a scan by hand reports what changed and disables nothing") {
  World w;
  w.Provider("a", Lists({"m", "n"}));
  w.Start();
  w.Now("a", Lists({"m", "x"}));
  std::vector<DiscoveryResult> results;
  const auto keep = [&](const DiscoveryResult& result) { results.push_back(result); };
  for (int i = 0; i < 3; ++i) {
    w.discovery->Refresh(w.Id("a"), keep);
    w.loop.Advance(seconds(1));
  }
  REQUIRE(results.size() == 3);
  CHECK(results[0].status.ok());
  CHECK(results[0].models.added == std::vector<std::string>{"x"});
  CHECK(results[2].models.empty());
  CHECK(w.Find("a", "n")->missing_scans == 0);
  w.discovery->Refresh("11111111-1111-4111-8111-111111111111", keep);
  w.loop.Advance(seconds(1));
  CHECK(absl::IsNotFound(results.back().status));
}

TEST_CASE("R84 a direct request for an unknown model has its provider asked, once a minute") {
  World w;
  w.Provider("a", Lists({"m"}));
  w.Start();
  w.Now("a", Lists({"m", "new"}));
  for (int i = 0; i < 5; ++i) {
    w.discovery->NoteUnknownModel(w.Id("a"));
    w.loop.Advance(seconds(1));
  }
  CHECK(w.Asked("a") == 2);
  CHECK(w.Find("a", "new") != nullptr);
  w.loop.Advance(minutes(1));
  w.discovery->NoteUnknownModel(w.Id("a"));
  w.loop.Advance(seconds(1));
  CHECK(w.Asked("a") == 3);
}

TEST_CASE("facts l the interval follows its setting at once, 0 is off") {
  World w;
  w.Provider("a", Lists({"m"}));
  Settings changed = Settings::Defaults();
  changed.global.discovery.interval = Duration::zero();
  w.settings.Set(changed);
  w.Start();
  w.loop.Advance(std::chrono::hours(48));
  CHECK(w.Asked("a") == 1);
  changed.global.discovery.interval = minutes(10);
  w.settings.Set(changed);
  w.loop.Advance(seconds(10));
  CHECK(w.Asked("a") == 2);
  w.loop.Advance(minutes(10));
  CHECK(w.Asked("a") == 3);
}

TEST_CASE("facts l a list in pages is read to its end") {
  World w;
  testing::AddProvider(*w.store, "a", "sk-ant-key-of-a", "anthropic");
  w.upstreams.OnEach(World::ModelsUrl("a"), [](const testing::SeenRequest& seen) {
    const bool second = seen.request.url.find("after_id=c1") != std::string::npos;
    return Script::Json(200, second ? R"({"data":[{"id":"c2"}],"has_more":false})"
                                    : R"({"data":[{"id":"c1"}],"has_more":true,"last_id":"c1"})");
  });
  w.Start();
  CHECK(w.Find("a", "c1") != nullptr);
  CHECK(w.Find("a", "c2") != nullptr);
}

TEST_CASE("a list that hangs or is too large is a failed listing, and closing ends a scan") {
  World w;
  w.Provider("a", Script().Hang());
  Script large;
  large.Head(200);
  for (int i = 0; i < 9; ++i) large.Bytes(std::string(1 << 20, 'x'));
  large.End();
  w.Provider("b", large);
  w.Start();
  CHECK(w.Status("b").last_error.find("larger than 8 MiB") != std::string::npos);
  w.loop.Advance(seconds(70));
  CHECK(w.Status("a").state == DiscoveryState::kNeverSucceeded);
  absl::Status ended;
  w.discovery->Refresh(w.Id("a"), [&](const DiscoveryResult& result) { ended = result.status; });
  w.loop.Advance(seconds(1));
  w.discovery->Stop();
  CHECK(absl::IsCancelled(ended));
  CHECK(w.upstreams.open() == 0);
}

}  // namespace
}  // namespace hotel::scenario
