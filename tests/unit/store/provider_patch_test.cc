#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hotel/failover_group.h"

#include "absl/status/status.h"
#include "tests/support/catch.h"
#include "tests/unit/store/store_fixture.h"

namespace hotel::store {
namespace {

struct World {
  World() : store(MustOpen(path, clock)) {}
  std::shared_ptr<const Provider> Find(const std::string& id) {
    return store->Snapshot()->FindProviderById(id);
  }
  TempDir dir;
  TestClock clock;
  std::string path = dir.File("hotel.db");
  std::unique_ptr<SqliteStore> store;
};

TEST_CASE("a new provider must not take a name that is taken in routing form") {
  World world;
  const std::string id = Must(world.store->CreateProvider(SpecOf("My Acme", "sk-one")));
  CHECK(world.Find(id)->api_key.Reveal() == "sk-one");
  CHECK(world.Find(id)->created_at == world.clock.wall);
  const absl::Status again = world.store->CreateProvider(SpecOf("My-Acme")).status();
  CHECK(absl::IsAlreadyExists(again));
  CHECK(std::string(again.message()) ==
        "a provider named 'My Acme' already exists; choose a different name");
  CHECK(world.Find(id)->name == "My Acme");
  CHECK(absl::IsInvalidArgument(world.store->CreateProvider(SpecOf("a/b")).status()));
}

TEST_CASE("a patch changes what it names and nothing else") {
  World world;
  ProviderSpec spec = SpecOf("acme", "sk-one");
  spec.max_in_flight = 4;
  spec.transport.proxy = Secret("http://user:pass@proxy.test:3128");
  const std::string id = Must(world.store->CreateProvider(spec));
  const WallTime created = world.clock.wall;
  world.clock.wall += std::chrono::seconds(5);

  ProviderPatch patch;
  patch.name = " renamed acme ";
  patch.enabled = false;
  REQUIRE(world.store->UpdateProvider(id, patch).ok());
  auto provider = world.Find(id);
  CHECK(provider->name == "renamed acme");
  CHECK(provider->routing_name == "renamed-acme");
  CHECK_FALSE(provider->enabled);
  CHECK(provider->api_key.Reveal() == "sk-one");
  CHECK(provider->max_in_flight == 4);
  CHECK(provider->transport->proxy.Reveal() == "http://user:pass@proxy.test:3128");
  CHECK(provider->created_at == created);
  CHECK(provider->updated_at == world.clock.wall);
  CHECK(world.store->Snapshot()->FindProvider("acme") == nullptr);

  patch = ProviderPatch();
  patch.type = "anthropic";
  patch.base_url = "https://new.test/";
  patch.api_key = Secret("sk-two");
  patch.max_in_flight = 0;
  REQUIRE(world.store->UpdateProvider(id, patch).ok());
  provider = world.Find(id);
  CHECK(provider->type == "anthropic");
  CHECK(provider->base_url == "https://new.test");
  CHECK(provider->api_key.Reveal() == "sk-two");
  CHECK(provider->max_in_flight == 0);

  patch = ProviderPatch();
  patch.api_key = Secret();
  REQUIRE(world.store->UpdateProvider(id, patch).ok());
  CHECK(world.Find(id)->key_state == KeyState::kKeyless);
}

TEST_CASE("a patch of a provider whose key cannot be opened keeps the key") {
  World world;
  const std::string id = Must(world.store->CreateProvider(SpecOf("acme", "sk-one")));
  world.store.reset();
  world.store = MustOpen(world.path, world.clock, "another master key, also long enough");
  REQUIRE(world.Find(id)->key_state == KeyState::kUndecryptable);
  ProviderPatch patch;
  patch.max_in_flight = 2;
  REQUIRE(world.store->UpdateProvider(id, patch).ok());
  world.store.reset();
  world.store = MustOpen(world.path, world.clock);
  CHECK(world.Find(id)->api_key.Reveal() == "sk-one");
  CHECK(world.Find(id)->max_in_flight == 2);
}

TEST_CASE("a patch that cannot be is refused and changes nothing") {
  World world;
  const std::string id = Must(world.store->CreateProvider(SpecOf("acme")));
  Must(world.store->CreateProvider(SpecOf("other")));
  const auto generation = world.store->Snapshot()->generation();
  ProviderPatch patch;
  patch.name = "Other";
  CHECK(world.store->UpdateProvider(id, patch).ok());  // names are told apart by case
  patch.name = "other";
  CHECK(absl::IsAlreadyExists(world.store->UpdateProvider(id, patch)));
  patch.name = "";
  CHECK(absl::IsInvalidArgument(world.store->UpdateProvider(id, patch)));
  patch.name = std::nullopt;
  patch.max_in_flight = 10001;
  CHECK(absl::IsInvalidArgument(world.store->UpdateProvider(id, patch)));
  CHECK(absl::IsNotFound(
      world.store->UpdateProvider("aaaaaaaa-0000-4000-8000-00000000000f", ProviderPatch())));
  CHECK(world.store->Snapshot()->generation() == generation + 1);
  CHECK(world.Find(id)->name == "Other");
}

TEST_CASE("a list of models given by a patch is the list, and one taken away leaves them") {
  World world;
  const std::string id = Must(world.store->CreateProvider(SpecOf("acme")));
  const std::string old = Must(world.store->EnsureModel(id, "old"));
  ProviderPatch patch;
  patch.models = std::vector<std::string>{"a", "b"};
  REQUIRE(world.store->UpdateProvider(id, patch).ok());
  CHECK(world.Find(id)->fixed_models);
  CHECK_FALSE(world.store->Snapshot()->FindModel(old)->enabled);
  CHECK_FALSE(world.store->Snapshot()->FindModel(old)->disabled_manually);
  const Model a = *world.store->Snapshot()->FindModel(id, "a");
  CHECK(a.enabled);
  // Other changes leave the list alone.
  ProviderPatch other;
  other.enabled = false;
  REQUIRE(world.store->UpdateProvider(id, other).ok());
  CHECK(world.Find(id)->fixed_models);
  REQUIRE(world.store->SetModelEnabled(a.id, false).ok());
  CHECK(world.store->Snapshot()->FindModel(a.id)->disabled_manually);
  patch.models = std::optional<std::vector<std::string>>();
  REQUIRE(world.store->UpdateProvider(id, patch).ok());
  CHECK_FALSE(world.Find(id)->fixed_models);
  CHECK(world.store->Snapshot()->FindModel(old)->enabled);
  CHECK_FALSE(world.store->Snapshot()->FindModel(a.id)->enabled);  // an operator's word
  REQUIRE(world.store->SetModelEnabled(a.id, true).ok());
  CHECK_FALSE(world.store->Snapshot()->FindModel(a.id)->disabled_manually);
}

TEST_CASE("decisions 10 a deleted model leaves every group, and one below two is switched off") {
  World world;
  const auto models = AddModels(*world.store, 2);
  const FailoverGroup group = Must(world.store->Create(GroupOf("g", models)));
  REQUIRE(world.store->DeleteModel(models[0]).ok());
  CHECK(world.store->Snapshot()->FindModel(models[0]) == nullptr);
  const FailoverGroup after = Must(world.store->Get(group.id));
  REQUIRE(after.entries.size() == 1);
  CHECK(after.entries[0].model_uuid == models[1]);
  CHECK_FALSE(after.group_enabled);
  CHECK(after.floor_disabled_at.has_value());
  CHECK_FALSE(after.auto_disabled_at.has_value());
  CHECK(absl::IsNotFound(world.store->DeleteModel(models[0])));
}

}  // namespace
}  // namespace hotel::store
