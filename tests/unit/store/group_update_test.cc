#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tests/support/catch.h"
#include "tests/unit/store/store_fixture.h"

namespace hotel::store {
namespace {

constexpr char kStranger[] = "00000000-0000-4000-8000-00000000000a";

struct Fixture {
  TestClock clock;
  std::unique_ptr<SqliteStore> store = MustOpen(":memory:", clock);
  std::vector<std::string> models = AddModels(*store, 3);
  std::string id = Must(store->Create(GroupOf("group", models))).id;

  absl::Status Try(const FailoverGroupPatch& patch) {
    const auto before = store->Snapshot();
    absl::Status status = store->Update(id, patch).status();
    if (!status.ok()) CHECK(store->Snapshot() == before);
    return status;
  }
  std::string Error(const FailoverGroupPatch& patch) { return std::string(Try(patch).message()); }
};

FailoverGroupPatch Order(std::vector<std::string> ids) {
  FailoverGroupPatch patch;
  patch.priority_order = std::move(ids);
  return patch;
}

FailoverGroupPatch Toggle(std::vector<std::pair<std::string, bool>> toggles) {
  FailoverGroupPatch patch;
  patch.entry_enabled = std::move(toggles);
  return patch;
}

FailoverGroupPatch Enabled(bool enabled) {
  FailoverGroupPatch patch;
  patch.group_enabled = enabled;
  return patch;
}

FailoverGroupPatch Name(const std::string& name) {
  FailoverGroupPatch patch;
  patch.display_model = name;
  return patch;
}

TEST_CASE("update: only fields that hold a value change") {
  Fixture f;
  FailoverGroupPatch patch;
  patch.display_name = "Label";
  f.clock.wall += std::chrono::seconds(5);
  const FailoverGroup group = Must(f.store->Update(f.id, patch));
  CHECK(group.display_name == "Label");
  CHECK(group.display_model == "group");
  CHECK(group.entries.size() == 3);
  CHECK(group.created_at + std::chrono::seconds(5) == group.updated_at);
}

TEST_CASE("update: a patch that changes nothing publishes nothing") {
  Fixture f;
  const auto before = f.store->Snapshot();
  f.clock.wall += std::chrono::seconds(5);
  CHECK(f.store->Update(f.id, {}).ok());
  CHECK(f.store->Update(f.id, Name("  GROUP ")).ok());
  CHECK(f.store->Update(f.id, Order(f.models)).ok());
  CHECK(f.store->Snapshot() == before);
}

TEST_CASE("update: priority_order reorders, and keeps the toggles of those that stay") {
  Fixture f;
  REQUIRE(f.Try(Toggle({{f.models[1], false}})).ok());
  const FailoverGroup group = Must(f.store->Update(f.id, Order({f.models[1], f.models[0]})));
  REQUIRE(group.entries.size() == 2);
  CHECK(group.entries[0].model_uuid == f.models[1]);
  CHECK_FALSE(group.entries[0].enabled);
  CHECK(group.entries[1].enabled);
}

TEST_CASE("update: a member that left and comes back is enabled again") {
  Fixture f;
  REQUIRE(f.Try(Toggle({{f.models[2], false}})).ok());
  REQUIRE(f.Try(Order({f.models[0], f.models[1]})).ok());
  const FailoverGroup group = Must(f.store->Update(f.id, Order(f.models)));
  CHECK(group.entries[2].enabled);
}

TEST_CASE("update: priority_order is checked, one member is allowed") {
  Fixture f;
  CHECK(f.Error(Order({})) == "priority_order must not be empty");
  CHECK(f.Error(Order({f.models[0], f.models[0]})) ==
        "duplicate priority_order entry: " + f.models[0]);
  CHECK(f.Error(Order({"x"})) == "invalid priority_order entry: x");
  CHECK(f.Error(Order({f.models[0], kStranger})) ==
        std::string("unknown priority_order entry: ") + kStranger);
  CHECK(f.Try(Order({f.models[0]})).ok());
}

TEST_CASE("update: a toggle of an id that is no member is kept for when it joins") {
  Fixture f;
  const std::string provider = Must(f.store->UpsertProvider(SpecOf("late")));
  const std::string late = Must(f.store->EnsureModel(provider, "m"));
  REQUIRE(f.Try(Toggle({{late, false}})).ok());
  CHECK(Must(f.store->Get(f.id)).entries.size() == 3);
  const FailoverGroup group = Must(f.store->Update(f.id, Order({f.models[0], late})));
  CHECK_FALSE(group.entries[1].enabled);
}

TEST_CASE("update: entry_enabled holds at most 100 entries, at once and in all") {
  Fixture f;
  const auto strangers = [](int from, int count) {
    std::vector<std::pair<std::string, bool>> toggles;
    for (int i = from; i < from + count; ++i) {
      std::string id = "00000000-0000-4000-8000-000000000000";
      id.replace(33, 3, std::to_string(100 + i));
      toggles.emplace_back(id, false);
    }
    return toggles;
  };
  const std::string text = "entry_enabled holds at most 100 entries";
  CHECK(f.Error(Toggle(strangers(0, 101))) == text);
  CHECK(f.Try(Toggle(strangers(0, 100))).ok());
  CHECK(f.Error(Toggle(strangers(100, 1))) == text);
  CHECK(f.Error(Toggle({{"x", true}})) == "invalid entry_enabled entry: x");
}

TEST_CASE("update: an active group needs an enabled entry") {
  Fixture f;
  const std::string text = "at least one entry must be enabled for an active failover group";
  const FailoverGroupPatch all_off =
      Toggle({{f.models[0], false}, {f.models[1], false}, {f.models[2], false}});
  CHECK(f.Error(all_off) == text);
  FailoverGroupPatch off_together = all_off;
  off_together.group_enabled = false;
  REQUIRE(f.Try(off_together).ok());
  CHECK(f.Error(Enabled(true)) == text);
}

TEST_CASE("update: turning a group on needs two routable members") {
  const std::string text =
      "a failover group needs at least 2 enabled members (model and provider enabled) to be active";
  Fixture f;
  REQUIRE(f.Try(Enabled(false)).ok());
  SECTION("entry off") {
    CHECK(f.Try(Toggle({{f.models[0], false}, {f.models[1], false}})).ok());
    CHECK(f.Error(Enabled(true)) == text);
    FailoverGroupPatch both = Toggle({{f.models[0], true}});
    both.group_enabled = true;
    CHECK(f.Try(both).ok());
  }
  SECTION("model off") {
    REQUIRE(f.store->SetModelEnabled(f.models[0], false).ok());
    REQUIRE(f.store->SetModelEnabled(f.models[1], false).ok());
    CHECK(f.Error(Enabled(true)) == text);
    REQUIRE(f.store->SetModelEnabled(f.models[1], true).ok());
    CHECK(f.Try(Enabled(true)).ok());
  }
  SECTION("provider off") {
    for (const char* name : {"p1", "p2"}) {
      const auto provider = f.store->Snapshot()->FindProvider(name);
      REQUIRE(f.store->SetProviderEnabled(provider->id, false).ok());
    }
    CHECK(f.Error(Enabled(true)) == text);
  }
  SECTION("an enabled group may be saved as enabled with fewer") {
    REQUIRE(f.Try(Enabled(true)).ok());
    REQUIRE(f.Try(Order({f.models[0]})).ok());
    CHECK(f.Try(Enabled(true)).ok());
  }
}

TEST_CASE("update: a rename keeps the id and must not collide") {
  Fixture f;
  Must(f.store->Create(GroupOf("other", f.models)));
  const absl::Status taken = f.Try(Name(" OTHER "));
  CHECK(absl::IsAlreadyExists(taken));
  CHECK(taken.message() == "A failover group for 'other' already exists. Choose a different name.");
  CHECK(Must(f.store->Update(f.id, Name("New"))).id == f.id);
  CHECK(f.store->Snapshot()->FindGroup("group") == nullptr);
  CHECK(f.store->Snapshot()->FindGroup("new") != nullptr);
}

TEST_CASE("update: an absent group is NotFound") {
  Fixture f;
  const absl::Status status = f.store->Update(kStranger, Enabled(true)).status();
  CHECK(absl::IsNotFound(status));
  CHECK(status.message() == "failover group not found");
}

TEST_CASE("update: a member that lost its model is none any more") {
  Fixture f;
  const auto provider = f.store->Snapshot()->FindProvider("p1");
  REQUIRE(f.store->DeleteProvider(provider->id).ok());
  REQUIRE(f.Try(Order({f.models[1], f.models[2]})).ok());
  CHECK(f.Error(Order({f.models[0], f.models[1]})) ==
        "unknown priority_order entry: " + f.models[0]);
}

TEST_CASE("update: an operator's switch clears what an automatic one noted") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  auto store = MustOpen(path, clock);
  const auto models = AddModels(*store, 2);
  const std::string id = Must(store->Create(GroupOf("g", models))).id;
  store.reset();
  RawDatabase(path).Run(
      "UPDATE model_failover_groups SET group_enabled = 0,"
      " auto_disabled_at = '2026-01-02T03:04:05Z', floor_disabled_at = '2026-01-02T03:04:05.6Z'");
  store = MustOpen(path, clock);
  const FailoverGroup before = Must(store->Get(id));
  REQUIRE(before.auto_disabled_at.has_value());
  CHECK(before.floor_disabled_at.has_value());
  CHECK(before.auto_disabled_at->time_since_epoch().count() == 1767323045000);
  const FailoverGroup after = Must(store->Update(id, Enabled(true)));
  CHECK_FALSE(after.auto_disabled_at.has_value());
  CHECK_FALSE(after.floor_disabled_at.has_value());
}

TEST_CASE("upsert group: creates with one member, then replaces members and switches on") {
  Fixture f;
  const std::string id = Must(f.store->UpsertGroup(" File ", {f.models[0]}));
  const FailoverGroup created = Must(f.store->Get(id));
  CHECK(created.display_model == "file");
  CHECK_FALSE(created.auto_created);
  CHECK(created.entries.size() == 1);
  FailoverGroupPatch patch = Toggle({{f.models[0], false}});
  patch.group_enabled = false;
  REQUIRE(f.store->Update(id, patch).ok());
  CHECK(Must(f.store->UpsertGroup("file", {f.models[2], f.models[0]})) == id);
  const FailoverGroup replaced = Must(f.store->Get(id));
  CHECK(replaced.group_enabled);
  REQUIRE(replaced.entries.size() == 2);
  CHECK(replaced.entries[0].model_uuid == f.models[2]);
  CHECK(replaced.entries[1].enabled);
  const auto before = f.store->Snapshot();
  CHECK(f.store->UpsertGroup("file", {f.models[2], f.models[0]}).ok());
  CHECK(f.store->Snapshot() == before);
}

TEST_CASE("upsert group: no member, unknown members and bad names are refused") {
  Fixture f;
  CHECK(absl::IsInvalidArgument(f.store->UpsertGroup("x", {}).status()));
  CHECK(f.store->UpsertGroup("x", {kStranger}).status().message() ==
        std::string("unknown entry_id: ") + kStranger);
  CHECK(absl::IsInvalidArgument(f.store->UpsertGroup("", {f.models[0]}).status()));
}

}  // namespace
}  // namespace hotel::store
