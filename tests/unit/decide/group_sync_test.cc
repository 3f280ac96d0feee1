#include "libhotel/decide/group_sync.h"

#include <chrono>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace hotel::decide {
namespace {

const WallTime kNow{std::chrono::hours(24 * 365 * 50)};
using Ids = std::vector<std::string>;

/// Providers p, q, r and models by `<provider>:<model id>`, which is also their UUID.
struct World {
  std::vector<SyncProvider> providers = {
      {"p", "Pine", true}, {"q", "Quince", true}, {"r", "Rose", true}};
  std::vector<Model> models;
  std::vector<SyncGroup> groups;

  Model& Add(const std::string& provider, const std::string& model_id) {
    Model model;
    model.id = provider + ":" + model_id;
    model.provider_id = provider;
    model.model_id = model_id;
    models.push_back(model);
    return models.back();
  }
  SyncGroup& Group(const std::string& name, const Ids& members, bool auto_created) {
    SyncGroup group;
    group.id = "id-" + name;
    group.display_model = name;
    group.members = members;
    group.auto_created = auto_created;
    groups.push_back(group);
    return groups.back();
  }
  SyncPlan Sync(SyncScope scope = SyncScope::kAll) const {
    return PlanGroupSync(providers, models, groups, scope, kNow);
  }
};

TEST_CASE(
    "seed 000 two enabled models of one base name make an auto group, in order of id and age") {
  World world;
  world.Add("q", "zai/GLM-4.6");
  world.Add("r", "glm-4.6");
  world.Add("p", "zai/GLM-4.6");
  world.Add("p", "alone");
  const SyncPlan plan = world.Sync();
  REQUIRE(plan.written.size() == 1);
  const SyncGroup& group = plan.written[0];
  CHECK(group.id.empty());
  CHECK(group.display_model == "glm-4.6");
  CHECK(group.auto_created);
  CHECK(group.group_enabled);
  CHECK(group.members == Ids{"r:glm-4.6", "p:zai/GLM-4.6", "q:zai/GLM-4.6"});
  REQUIRE(plan.report.updated.size() == 1);
  CHECK(plan.report.updated[0].added_model_ids == Ids{"glm-4.6", "zai/GLM-4.6", "zai/GLM-4.6"});
  // What is in line is not written again.
  world.groups = plan.written;
  CHECK(world.Sync().written.empty());
  CHECK(world.Sync().report.empty());
}

TEST_CASE("seed 000 two ids of one provider count as two, disabled ones not at all") {
  World world;
  world.Add("p", "a/m");
  world.Add("p", "b/m");
  CHECK(world.Sync().written.size() == 1);
  world.models[1].enabled = false;
  CHECK(world.Sync().written.empty());
  world.models[1].enabled = true;
  world.providers[0].enabled = false;
  CHECK(world.Sync().written.empty());
}

TEST_CASE("seed 000 an auto group keeps order and toggles, takes newcomers last, is switched on") {
  World world;
  for (const char* provider : {"p", "q", "r"}) world.Add(provider, "m");
  SyncGroup& group = world.Group("m", {"r:m", "p:m"}, true);
  group.toggles = {{"p:m", false}};
  group.group_enabled = false;
  SyncPlan plan = world.Sync();
  REQUIRE(plan.written.size() == 1);
  CHECK(plan.written[0].members == Ids{"r:m", "p:m", "q:m"});
  CHECK(plan.written[0].toggles == std::map<std::string, bool>{{"p:m", false}});
  CHECK(plan.written[0].group_enabled);
  CHECK(plan.report.updated[0].added_model_ids == Ids{"m"});

  // A disabled model leaves an auto group (decisions 10).
  world.groups = plan.written;
  world.models[0].enabled = false;
  plan = world.Sync();
  REQUIRE(plan.written.size() == 1);
  CHECK(plan.written[0].members == Ids{"r:m", "q:m"});
  CHECK(plan.written[0].toggles.empty());
  CHECK(plan.report.updated[0].removed_model_ids == Ids{"m"});
}

TEST_CASE("seed 000 an auto group below two is deleted, with the reason") {
  World world;
  world.Add("p", "m");
  world.Group("m", {"p:m", "q:m"}, true);
  world.Group("gone", {}, true);
  const SyncPlan plan = world.Sync();
  CHECK(plan.deleted == Ids{"id-m", "id-gone"});
  CHECK(plan.written.empty());
  REQUIRE(plan.report.deleted.size() == 2);
  CHECK(plan.report.deleted[0].reason == "only 1 enabled provider (need 2+ for failover)");
  CHECK(plan.report.deleted[0].provider_count == 1);
  CHECK(plan.report.deleted[0].provider_names == Ids{"Pine"});
  CHECK(plan.report.deleted[1].reason == "no enabled provider (need 2+ for failover)");
  CHECK(plan.report.deleted[1].provider_names.empty());
}

TEST_CASE("seed 000 a custom group of a base name is never adopted") {
  World world;
  for (const char* provider : {"p", "q", "r"}) world.Add(provider, "m");
  world.Group("m", {"r:m", "q:m"}, false);
  CHECK(world.Sync().written.empty());
  CHECK(world.Sync().deleted.empty());
}

TEST_CASE("seed 000 a custom group is switched off below two routable members and heals") {
  World world;
  world.Add("p", "a");
  world.Add("q", "b");
  SyncGroup& group = world.Group("mine", {"p:a", "q:b"}, false);
  group.toggles = {{"q:b", false}};  // ignored: a choice the router honors
  CHECK(world.Sync().written.empty());

  world.models[1].enabled = false;
  SyncPlan plan = world.Sync();
  REQUIRE(plan.written.size() == 1);
  CHECK_FALSE(plan.written[0].group_enabled);
  CHECK(plan.written[0].auto_disabled_at == kNow);
  CHECK(plan.written[0].members.size() == 2);
  REQUIRE(plan.report.disabled.size() == 1);
  CHECK(plan.report.disabled[0].effective_count == 1);
  CHECK(plan.report.disabled[0].reason == "fewer than 2 routable members (need 2+ for failover)");

  world.groups = plan.written;
  CHECK(world.Sync().written.empty());
  world.models[1].enabled = true;
  plan = world.Sync();
  REQUIRE(plan.written.size() == 1);
  CHECK(plan.written[0].group_enabled);
  CHECK_FALSE(plan.written[0].auto_disabled_at.has_value());
  CHECK(plan.report.enabled[0].display_model == "mine");
}

TEST_CASE("seed 000 an operator's switch is left alone, a cascade's heals by toggles too") {
  World world;
  world.Add("p", "a");
  world.Add("q", "b");
  world.Group("off", {"p:a", "q:b"}, false).group_enabled = false;
  CHECK(world.Sync().written.empty());

  world.groups[0].floor_disabled_at = kNow;
  world.groups[0].toggles = {{"q:b", false}};
  CHECK(world.Sync().written.empty());
  world.groups[0].toggles = {{"q:b", true}};
  REQUIRE(world.Sync().written.size() == 1);
  CHECK(world.Sync().written[0].group_enabled);
}

TEST_CASE("decisions 10 entries without a model row leave every group") {
  World world;
  world.Add("p", "a");
  world.Add("q", "b");
  world.Group("mine", {"p:a", "gone", "q:b"}, false).toggles = {{"gone", false}, {"q:b", false}};
  for (const SyncScope scope : {SyncScope::kAll, SyncScope::kFloors}) {
    const SyncPlan plan = world.Sync(scope);
    REQUIRE(plan.written.size() == 1);
    CHECK(plan.written[0].members == Ids{"p:a", "q:b"});
    CHECK(plan.written[0].toggles == std::map<std::string, bool>{{"q:b", false}});
    REQUIRE(plan.report.purged.size() == 1);
    CHECK(plan.report.purged[0].group_display_model == "mine");
    CHECK(plan.report.purged[0].pruned_model_ids == Ids{"gone"});
  }
}

TEST_CASE("seed 000 what an operator switches tells on floors only") {
  World world;
  world.Add("p", "m");
  world.Add("q", "m");
  world.Add("q", "b").enabled = false;
  world.Group("mine", {"p:m", "q:b"}, false);
  const SyncPlan plan = world.Sync(SyncScope::kFloors);
  REQUIRE(plan.written.size() == 1);  // and no auto group "m"
  CHECK(plan.written[0].floor_disabled_at == kNow);
  CHECK_FALSE(plan.written[0].auto_disabled_at.has_value());

  world.groups.clear();
  world.Group("m", {"p:m", "q:m"}, true);
  world.models.erase(world.models.begin());
  CHECK(world.Sync(SyncScope::kFloors).deleted == Ids{"id-m"});
}

TEST_CASE("a group of the configuration file is neither switched off nor on") {
  World world;
  world.Add("p", "a");
  world.Group("file", {"p:a", "gone"}, false).declared = true;
  const SyncPlan plan = world.Sync();
  REQUIRE(plan.written.size() == 1);
  CHECK(plan.written[0].group_enabled);
  CHECK(plan.written[0].members == Ids{"p:a"});
}

}  // namespace
}  // namespace hotel::decide
