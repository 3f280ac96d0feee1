// What discovery writes, through the store (facts l).
#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/support/catch.h"
#include "tests/unit/store/store_fixture.h"

namespace hotel::store {
namespace {

ListedModel Listed(const std::string& id) {
  ListedModel model;
  model.model_id = id;
  return model;
}

/// A store in a file with providers a and b without fixed lists.
struct World {
  TempDir dir;
  TestClock clock;
  std::unique_ptr<SqliteStore> store = MustOpen(dir.File("hotel.db"), clock);
  std::string a = Add("a");
  std::string b = Add("b");

  std::string Add(const std::string& name) {
    ProviderSpec spec;
    spec.name = name;
    spec.type = "openai";
    spec.base_url = "https://" + name + ".test/v1";
    return Must(store->UpsertProvider(spec));
  }
  DiscoveryResult List(const std::string& provider, const std::vector<ListedModel>& listing,
                       bool may_disable = true) {
    ProviderScan scan;
    scan.provider_id = provider;
    return Must(store->ApplyListing(listing, may_disable, &scan));
  }
  Model Find(const std::string& provider, const std::string& id) const {
    const auto snapshot = store->Snapshot();
    const Model* model = snapshot->FindModel(provider, id);
    if (model == nullptr) throw std::runtime_error("no model " + id);
    return *model;
  }
};

TEST_CASE("a listing, its groups and the scan are written in one go and survive a restart") {
  World w;
  ListedModel full = Listed("x/m");
  full.name = "The M";
  full.owned_by = "x";
  full.context_length = 4096;
  full.max_output_tokens = 512;
  full.prices.input = 0.6;
  full.prices.cached_input = 0.11;
  full.details.description = "Says \"hi\"\nand more.";
  full.details.input_modalities = {"text", "image"};
  full.details.capabilities = {"tools"};
  w.List(w.b, {Listed("M")});
  ProviderScan scan;
  scan.provider_id = w.a;
  scan.last_error = "was down";
  scan.stale = true;
  const std::uint64_t generation = w.store->Snapshot()->generation();
  const DiscoveryResult result = Must(w.store->ApplyListing({full}, true, &scan));
  CHECK(w.store->Snapshot()->generation() == generation + 1);
  CHECK(result.provider_name == "a");
  CHECK(result.models.added == std::vector<std::string>{"x/m"});
  REQUIRE(result.groups.updated.size() == 1);
  CHECK(scan.succeeded_at == w.clock.wall);
  CHECK(scan.last_error.empty());
  CHECK_FALSE(scan.stale);

  w.store.reset();
  w.store = MustOpen(w.dir.File("hotel.db"), w.clock);
  const Model model = w.Find(w.a, "x/m");
  CHECK(model.name == "The M");
  CHECK(model.owned_by == "x");
  CHECK(model.context_length == 4096);
  CHECK(model.max_output_tokens == 512);
  CHECK(model.prices == full.prices);
  CHECK(model.details == full.details);
  CHECK(model.last_seen_at == w.clock.wall);
  const auto snapshot = w.store->Snapshot();
  REQUIRE(snapshot->FindGroup("m") != nullptr);
  CHECK(snapshot->FindGroup("m")->auto_created);
  CHECK(snapshot->FindGroup("m")->entries.size() == 2);
  const auto scans = Must(w.store->ReadScans());
  REQUIRE(scans.size() == 2);
  CHECK((scans[0] == scan || scans[1] == scan));
}

TEST_CASE("facts l a model that two scans miss is disabled, pruned later, and leaves its groups") {
  World w;
  w.List(w.a, {Listed("m"), Listed("n")});
  w.List(w.b, {Listed("m")});
  REQUIRE(w.store->Snapshot()->FindGroup("m") != nullptr);
  w.List(w.a, {Listed("n")});
  CHECK(w.Find(w.a, "m").enabled);
  const DiscoveryResult second = w.List(w.a, {Listed("n")});
  CHECK(second.models.disabled == std::vector<std::string>{"m"});
  REQUIRE(second.groups.deleted.size() == 1);
  CHECK(second.groups.deleted[0].provider_names == std::vector<std::string>{"b"});
  CHECK(w.store->Snapshot()->FindGroup("m") == nullptr);

  const WallTime week_ago = w.clock.wall;
  CHECK(Must(w.store->PruneModels({w.a, w.b}, week_ago, 500)).models == 0);
  w.clock.wall += std::chrono::hours(1);
  const WallTime now = w.clock.wall;
  CHECK(Must(w.store->PruneModels({w.b}, now, 500)).models == 0);  // only of these providers
  CHECK(Must(w.store->PruneModels({w.a}, now, 500)).models == 1);
  CHECK(w.store->Snapshot()->FindModel(w.a, "m") == nullptr);
}

TEST_CASE("a listing is for providers that are there and have no fixed list") {
  World w;
  ProviderPatch fixed;
  fixed.models = std::vector<std::string>{"only"};
  REQUIRE(w.store->UpdateProvider(w.a, fixed).ok());
  ProviderScan scan;
  scan.provider_id = w.a;
  CHECK(absl::IsFailedPrecondition(w.store->ApplyListing({Listed("m")}, true, &scan).status()));
  CHECK(w.store->Snapshot()->FindModel(w.a, "m") == nullptr);
  CHECK_FALSE(scan.succeeded_at.has_value());
  scan.provider_id = "11111111-1111-4111-8111-111111111111";
  CHECK(absl::IsNotFound(w.store->ApplyListing({}, true, &scan).status()));
  CHECK(w.store->WriteScans({scan}).ok());  // passed over
  CHECK(Must(w.store->ReadScans()).empty());
}

TEST_CASE("R91 scans are kept, and go with their provider") {
  World w;
  ProviderScan scan;
  scan.provider_id = w.a;
  scan.checked_at = w.clock.wall;
  scan.last_error = "down";
  scan.stale = true;
  scan.suspect_scans = 2;
  REQUIRE(w.store->WriteScans({scan}).ok());
  CHECK(Must(w.store->ReadScans()) == std::vector<ProviderScan>{scan});
  REQUIRE(w.store->DeleteProvider(w.a).ok());
  CHECK(Must(w.store->ReadScans()).empty());
}

TEST_CASE("facts j an operator's prices hold against listings until they are taken back") {
  World w;
  ListedModel listed = Listed("m");
  listed.prices.input = 1;
  w.List(w.a, {listed});
  const std::string id = w.Find(w.a, "m").id;
  ModelPatch patch;
  patch.input_price = std::optional<double>(0.25);
  patch.display_name = " Ours ";
  REQUIRE(w.store->UpdateModel(id, patch).ok());
  w.List(w.a, {listed});
  CHECK(w.Find(w.a, "m").prices.input == 0.25);
  CHECK(w.Find(w.a, "m").display_name == "Ours");
  patch = {};
  patch.input_price = std::optional<double>();
  REQUIRE(w.store->UpdateModel(id, patch).ok());
  CHECK_FALSE(w.Find(w.a, "m").prices.input.has_value());
  w.List(w.a, {listed});
  CHECK(w.Find(w.a, "m").prices.input == 1);
}

TEST_CASE("facts j what a model may be changed to") {
  World w;
  const std::string id = Must(w.store->EnsureModel(w.a, "m"));
  const auto refused = [&](auto set) {
    ModelPatch patch;
    set(patch);
    const absl::Status status = w.store->UpdateModel(id, patch);
    return absl::IsInvalidArgument(status);
  };
  CHECK(refused([](ModelPatch& p) { p.display_name = "  "; }));
  CHECK(refused([](ModelPatch& p) { p.display_name = std::string(129, 'x'); }));
  CHECK(refused([](ModelPatch& p) { p.context_length = 255; }));
  CHECK(refused([](ModelPatch& p) { p.context_length = 2'000'001; }));
  CHECK(refused([](ModelPatch& p) { p.max_output_tokens = 0; }));
  CHECK(refused([](ModelPatch& p) { p.output_price = std::optional<double>(1000.1); }));
  CHECK(refused([](ModelPatch& p) { p.cached_input_price = std::optional<double>(-1); }));
  CHECK_FALSE(refused([](ModelPatch& p) { p.context_length = 2'000'000; }));
  CHECK(w.Find(w.a, "m").context_length == 2'000'000);
  CHECK(absl::IsNotFound(w.store->UpdateModel("11111111-1111-4111-8111-111111111111", {})));
}

TEST_CASE("models are deleted in bulk, what is none is passed over") {
  World w;
  w.List(w.a, {Listed("m"), Listed("n")});
  w.List(w.b, {Listed("m")});
  const std::string m = w.Find(w.a, "m").id;
  CHECK(Must(w.store->DeleteModels({m, "11111111-1111-4111-8111-111111111111", m})) == 1);
  CHECK(w.store->Snapshot()->FindModel(m) == nullptr);
  CHECK(w.store->Snapshot()->FindGroup("m") == nullptr);  // an auto group below two
}

TEST_CASE("a group of the file is left on below two, one of an operator is not") {
  World w;
  w.List(w.a, {Listed("m")});
  w.List(w.b, {Listed("n")});
  const std::vector<std::string> ids = {w.Find(w.a, "m").id, w.Find(w.b, "n").id};
  Must(w.store->UpsertGroup("file", ids));
  NewFailoverGroup made;
  made.display_model = "made";
  made.entry_ids = ids;
  Must(w.store->Create(made));
  REQUIRE(w.store->SetProviderEnabled(w.b, false).ok());
  const auto snapshot = w.store->Snapshot();
  CHECK(snapshot->FindGroup("file")->group_enabled);
  CHECK_FALSE(snapshot->FindGroup("made")->group_enabled);
  CHECK(snapshot->FindGroup("made")->floor_disabled_at.has_value());
  REQUIRE(w.store->SetProviderEnabled(w.b, true).ok());
  CHECK(w.store->Snapshot()->FindGroup("made")->group_enabled);
}

TEST_CASE("an auto group that is renamed is the operator's from then on (seed 000, 6)") {
  World w;
  w.List(w.a, {Listed("m")});
  w.List(w.b, {Listed("x/m")});
  const FailoverGroup made = *w.store->Snapshot()->FindGroup("m");
  REQUIRE(made.auto_created);
  FailoverGroupPatch patch;
  patch.display_model = "mine";
  patch.priority_order = {made.entries[1].model_uuid, made.entries[0].model_uuid};
  const FailoverGroup renamed = Must(w.store->Update(made.id, patch));
  CHECK_FALSE(renamed.auto_created);

  const GroupChanges changes = Must(w.store->SyncGroups());
  CHECK(changes.deleted.empty());
  const FailoverGroup* const kept = w.store->Snapshot()->FindGroup("mine");
  REQUIRE(kept != nullptr);
  CHECK(kept->id == made.id);
  CHECK(kept->entries[0].model_uuid == made.entries[1].model_uuid);
  // The name that the models share has an auto group again.
  REQUIRE(changes.updated.size() == 1);
  CHECK(changes.updated[0].display_model == "m");
  const FailoverGroup* const fresh = w.store->Snapshot()->FindGroup("m");
  REQUIRE(fresh != nullptr);
  CHECK(fresh->auto_created);
  CHECK(fresh->id != made.id);
}

TEST_CASE("an auto group that is given its own name again stays an auto group") {
  World w;
  w.List(w.a, {Listed("m")});
  w.List(w.b, {Listed("m")});
  FailoverGroupPatch patch;
  patch.display_model = " M ";
  patch.display_name = "The M";
  const FailoverGroup group = Must(w.store->Update(w.store->Snapshot()->FindGroup("m")->id, patch));
  CHECK(group.auto_created);
  CHECK(group.display_name == "The M");
}

}  // namespace
}  // namespace hotel::store
