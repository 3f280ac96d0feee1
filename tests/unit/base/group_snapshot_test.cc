#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hotel/failover_group.h"

#include "tests/support/catch.h"

namespace {

using namespace hotel;

std::shared_ptr<const Provider> MakeProvider(const std::string& id, const std::string& name) {
  auto provider = std::make_shared<Provider>();
  provider->id = id;
  provider->name = name;
  provider->routing_name = RoutingName(name);
  return provider;
}

FailoverGroup MakeGroup(const std::string& id, const std::string& display_model) {
  FailoverGroup group;
  group.id = id;
  group.display_model = display_model;
  group.entries = {{"m1", true}, {"gone", true}};
  return group;
}

Model MakeModel(std::string id, std::string provider_id) {
  Model model;
  model.id = std::move(id);
  model.provider_id = std::move(provider_id);
  model.model_id = "z-ai/glm-4.6";
  return model;
}

TEST_CASE("A snapshot finds providers, models and groups by all their names") {
  const GroupSnapshot snapshot(7, {MakeProvider("p1", "Acme Inc"), MakeProvider("p2", "other")},
                               {MakeModel("m1", "p1"), MakeModel("m2", "p2")},
                               {MakeGroup("g1", "glm-4.6")});

  CHECK(snapshot.generation() == 7);
  REQUIRE(snapshot.FindProvider("Acme-Inc") != nullptr);
  CHECK(snapshot.FindProvider("Acme-Inc")->id == "p1");
  CHECK(snapshot.FindProvider("Acme Inc") == nullptr);
  CHECK(snapshot.FindProviderById("p2")->name == "other");
  CHECK(snapshot.FindProviderById("p3") == nullptr);

  REQUIRE(snapshot.FindGroup("glm-4.6") != nullptr);
  CHECK(snapshot.FindGroup("GLM-4.6") == nullptr);
  CHECK(snapshot.FindGroupById("g1") == snapshot.FindGroup("glm-4.6"));
  CHECK(snapshot.FindGroup("glm-4.6")->entries.size() == 2);

  REQUIRE(snapshot.FindModel("m2") != nullptr);
  CHECK(snapshot.FindModel("p1", "z-ai/glm-4.6")->id == "m1");
  CHECK(snapshot.FindModel("p2", "z-ai/glm-4.6")->id == "m2");
  CHECK(snapshot.FindModel("p1", "other") == nullptr);
  CHECK(snapshot.FindModel("p9", "z-ai/glm-4.6") == nullptr);
  CHECK(snapshot.FindModel("gone") == nullptr);
}

TEST_CASE("A provider outlives the snapshot that handed it out") {
  auto snapshot =
      std::make_unique<GroupSnapshot>(1, std::vector{MakeProvider("p1", "acme")},
                                      std::vector<Model>{}, std::vector<FailoverGroup>{});
  const std::shared_ptr<const Provider> provider = snapshot->FindProvider("acme");
  snapshot.reset();
  CHECK(provider->id == "p1");
}

TEST_CASE("The base name is the lower-cased part behind the last slash") {
  CHECK(BaseModelName("z-ai/GLM-4.6") == "glm-4.6");
  CHECK(BaseModelName("a/b/C") == "c");
  CHECK(BaseModelName("GPT-4o") == "gpt-4o");
  CHECK(BaseModelName("lab/МОДЕЛЬ-Ü") == "модель-ü");
  CHECK(BaseModelName("a/").empty());
}

TEST_CASE("The routing name has hyphens for spaces and keeps its case") {
  CHECK(RoutingName("Acme  Inc") == "Acme--Inc");
  CHECK(RoutingName("acme") == "acme");
}

}  // namespace
