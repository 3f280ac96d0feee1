// What a client may name, and what is behind a name.
#include "libhotel/route/listing.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/route/world.h"

namespace hotel::route {
namespace {

TEST_CASE("what a request may cost is asked of every model that it may reach") {
  World w = Three();
  w.AddProvider("dark", false);
  w.AddGroup("mixed", {"m-a-z-ai/glm-4.6", w.AddModel("dark", "x"), w.AddModel("b", "off", false),
                       "m-b-glm-4.6"});
  w.Virtual(
      {{"chat", VirtualModelSpec::Strategy::kRoundRobin, {{"mine", "", 1}, {"a/none", "", 1}}},
       {"mine", VirtualModelSpec::Strategy::kFailover, {{"c/zai-org/GLM-4.6", "", 1}}}});
  w.Open("a", "z-ai/glm-4.6");  // a circuit may close again
  const auto reach = [&](const std::string& name, Endpoint endpoint = Endpoint::kChatCompletions) {
    const GroupSnapshot snapshot = w.Snapshot();
    std::string ids;
    for (const Model* model : ReachableModels({name, endpoint, w.allowed}, snapshot, *w.virtuals)) {
      ids += model->id + " ";
    }
    return ids;
  };
  CHECK(reach("hotel/Mixed") == "m-a-z-ai/glm-4.6 m-b-glm-4.6 ");
  CHECK(reach("chat") == "m-c-zai-org/GLM-4.6 ");
  CHECK(reach("b/glm-4.6") == "m-b-glm-4.6 ");
  CHECK(reach("b/unknown").empty());
  CHECK(reach("hotel/unknown").empty());
  CHECK(reach("dark/x").empty());
  CHECK(reach("a", Endpoint::kPassthrough).empty());
  const std::vector<std::string> allowed = {"id-b"};
  w.allowed = &allowed;
  CHECK(reach("hotel/mixed") == "m-b-glm-4.6 ");
  CHECK(reach("chat").empty());
  CHECK(reach("a/z-ai/glm-4.6").empty());
}

TEST_CASE("the model list has enabled models, then groups somebody can reach") {
  World w = Three();
  w.AddProvider("dark", false);
  const std::string dark = w.AddModel("dark", "x");
  w.AddGroup("unreachable", {dark});
  w.AddGroup("off", {"m-a-z-ai/glm-4.6"}).group_enabled = false;
  const auto list = ListModels(w.Snapshot(), *w.virtuals, w.inventory, w.allowed);
  std::vector<std::string> ids;
  for (const ModelListing& row : list) ids.push_back(row.id);
  CHECK(ids == std::vector<std::string>{"a/z-ai/glm-4.6", "b/glm-4.6", "c/zai-org/GLM-4.6",
                                        "hotel/glm-4.6"});
  CHECK(list.back().owned_by == "hotel");
  CHECK(list.back().provider == "a");
}

TEST_CASE("facts i the model list is what the key may call") {
  World w = Three();
  w.AddGroup("of-a", {"m-a-z-ai/glm-4.6"});
  w.Virtual({{"chat", VirtualModelSpec::Strategy::kFailover, {{"a/one", "", 1}, {"b/two", "", 1}}},
             {"mine", VirtualModelSpec::Strategy::kFailover, {{"a/one", "", 1}}}});
  const std::vector<std::string> allowed = {"id-b"};
  w.allowed = &allowed;
  const auto list = ListModels(w.Snapshot(), *w.virtuals, w.inventory, w.allowed);
  std::vector<std::string> ids;
  for (const ModelListing& row : list) ids.push_back(row.id);
  CHECK(ids == std::vector<std::string>{"b/glm-4.6", "hotel/glm-4.6", "chat"});
  // Described by the first one that it may call.
  CHECK(list[1].provider == "b");
  CHECK(list[2].provider == "b");
}

TEST_CASE("virtual models that lead somewhere stand at the end of the model list") {
  World w = Three();
  w.Virtual({{"resilient-chat",
              VirtualModelSpec::Strategy::kRoundRobin,
              {{"a/one", "", 2}, {"b/two", "", 1}}},
             {"nowhere", VirtualModelSpec::Strategy::kFailover, {{"nobody/x"}}}});
  const auto list = ListModels(w.Snapshot(), *w.virtuals, w.inventory, w.allowed);
  CHECK(list.back().id == "resilient-chat");
  CHECK(list.back().provider == "a");
}

TEST_CASE("R86 what is stale is not listed") {
  World w;
  w.AddProvider("a");
  w.AddProvider("b");
  w.AddGroup("g", {w.AddModel("a", "m"), w.AddModel("b", "m")});
  w.AddGroup("only-a", {"m-a-m"});
  LeftOut one({"id-a"});
  w.inventory = &one;
  const auto list = ListModels(w.Snapshot(), *w.virtuals, w.inventory, w.allowed);
  REQUIRE(list.size() == 2);
  CHECK(list[0].id == "b/m");
  CHECK(list[1].id == "hotel/g");
  CHECK(list[1].provider == "b");
}

}  // namespace
}  // namespace hotel::route
