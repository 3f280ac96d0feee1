#include <cctype>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/support/catch.h"
#include "tests/unit/store/store_fixture.h"

namespace hotel::store {
namespace {

struct Fixture {
  TestClock clock;
  std::unique_ptr<SqliteStore> store = MustOpen(":memory:", clock);
  std::vector<std::string> models = AddModels(*store, 3);

  std::string CreateError(const NewFailoverGroup& group) {
    const auto before = store->Snapshot()->generation();
    const auto result = store->Create(group);
    REQUIRE_FALSE(result.ok());
    CHECK(store->Snapshot()->generation() == before);
    return std::string(result.status().message());
  }
};

constexpr char kStranger[] = "00000000-0000-4000-8000-000000000000";

TEST_CASE("create: the group is stored as given, name trimmed and lower-cased") {
  Fixture f;
  NewFailoverGroup group = GroupOf("  GLM-4.6\t", {f.models[2], f.models[0]});
  group.display_name = "GLM 4.6";
  group.description = "two lines\nof text";
  const FailoverGroup created = Must(f.store->Create(group));
  CHECK(created.display_model == "glm-4.6");
  CHECK(created.display_name == "GLM 4.6");
  CHECK(created.description == "two lines\nof text");
  CHECK(created.group_enabled);
  CHECK_FALSE(created.auto_created);
  CHECK(created.created_at == f.clock.wall);
  CHECK(created.updated_at == f.clock.wall);
  REQUIRE(created.entries.size() == 2);
  CHECK(created.entries[0].model_uuid == f.models[2]);
  CHECK(created.entries[1].model_uuid == f.models[0]);
  CHECK(created.entries[0].enabled);
  const FailoverGroup* seen = f.store->Snapshot()->FindGroup("glm-4.6");
  REQUIRE(seen != nullptr);
  CHECK(seen->id == created.id);
  CHECK(Must(f.store->Get(created.id)).display_model == "glm-4.6");
}

TEST_CASE("create: names of any alphabet are lower-cased") {
  Fixture f;
  CHECK(Must(f.store->Create(GroupOf("ÜBER-МОДЕЛЬ", {f.models[0], f.models[1]}))).display_model ==
        "über-модель");
  CHECK_FALSE(f.CreateError(GroupOf("über-Модель", {f.models[0], f.models[1]})).empty());
}

TEST_CASE("create: every accepted change publishes a higher generation, old snapshots stay") {
  Fixture f;
  const auto old = f.store->Snapshot();
  Must(f.store->Create(GroupOf("a", {f.models[0], f.models[1]})));
  CHECK(f.store->Snapshot()->generation() == old->generation() + 1);
  CHECK(old->groups().empty());
}

TEST_CASE("create: fewer than two entries are refused") {
  Fixture f;
  CHECK(f.CreateError(GroupOf("a", {})) == "at least 2 entries required for failover group");
  CHECK(f.CreateError(GroupOf("a", {f.models[0]})) ==
        "at least 2 entries required for failover group");
}

TEST_CASE("create: malformed, repeated and unknown entry ids are named") {
  Fixture f;
  CHECK(f.CreateError(GroupOf("a", {f.models[0], "not-a-uuid"})) == "invalid entry_id: not-a-uuid");
  CHECK(f.CreateError(GroupOf("a", {f.models[0], f.models[0]})) ==
        "duplicate entry_id: " + f.models[0]);
  CHECK(f.CreateError(GroupOf("a", {f.models[0], kStranger})) ==
        std::string("unknown entry_id: ") + kStranger);
}

TEST_CASE("create: ids compare without case, and a huge id is not repeated in full") {
  Fixture f;
  std::string upper = f.models[0];
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  CHECK(f.CreateError(GroupOf("a", {f.models[0], upper})).rfind("duplicate entry_id: ", 0) == 0);
  const FailoverGroup group = Must(f.store->Create(GroupOf("a", {upper, f.models[1]})));
  CHECK(group.entries[0].model_uuid == f.models[0]);
  CHECK(f.CreateError(GroupOf("b", {std::string(1000000, 'x'), f.models[0]})).size() < 200);
}

TEST_CASE("create: the name is bounded and plain text") {
  Fixture f;
  const std::vector<std::string> two = {f.models[0], f.models[1]};
  for (const std::string& name :
       {std::string(), std::string(" \t "), std::string(129, 'n'), std::string("a\nb"),
        std::string("a\0b", 3), std::string("\xff\xfe")}) {
    const auto result = f.store->Create(GroupOf(name, two));
    CHECK(absl::IsInvalidArgument(result.status()));
  }
  CHECK(f.store->Create(GroupOf(std::string(128, 'n'), two)).ok());
}

TEST_CASE("create: labels are bounded") {
  Fixture f;
  NewFailoverGroup group = GroupOf("a", {f.models[0], f.models[1]});
  group.display_name = std::string(129, 'n');
  CHECK(absl::IsInvalidArgument(f.store->Create(group).status()));
  group.display_name = std::string(128, 'n');
  group.description = std::string(501, 'd');
  CHECK(absl::IsInvalidArgument(f.store->Create(group).status()));
  group.description = std::string(500, 'd');
  CHECK(f.store->Create(group).ok());
}

TEST_CASE("create: a group holds at most 1000 entries") {
  Fixture f;
  std::vector<std::string> many(1001, f.models[0]);
  CHECK(f.CreateError(GroupOf("a", many)) == "a failover group holds at most 1000 entries");
}

TEST_CASE("create: a taken name is a conflict, in any case") {
  Fixture f;
  Must(f.store->Create(GroupOf("glm-4.6", {f.models[0], f.models[1]})));
  const auto again = f.store->Create(GroupOf("GLM-4.6", {f.models[0], f.models[1]}));
  CHECK(absl::IsAlreadyExists(again.status()));
  CHECK(again.status().message() ==
        "A failover group for 'glm-4.6' already exists (auto-created from shared model). Edit the "
        "existing group instead.");
  CHECK(f.store->Snapshot()->groups().size() == 1);
}

TEST_CASE("get and delete: absent is NotFound for one and fine for the other") {
  Fixture f;
  CHECK(absl::IsNotFound(f.store->Get(kStranger).status()));
  CHECK(f.store->Get(kStranger).status().message() == "failover group not found");
  CHECK(f.store->Delete(kStranger).ok());
  CHECK(absl::IsInvalidArgument(f.store->Delete("x")));
  CHECK(absl::IsInvalidArgument(f.store->Get("x").status()));
}

TEST_CASE("delete: the group goes, models and providers stay") {
  Fixture f;
  const FailoverGroup group = Must(f.store->Create(GroupOf("a", {f.models[0], f.models[1]})));
  REQUIRE(f.store->Delete(group.id).ok());
  CHECK(f.store->Snapshot()->FindGroup("a") == nullptr);
  CHECK(f.store->Snapshot()->models().size() == 3);
  CHECK(f.store->Snapshot()->providers().size() == 3);
  CHECK(absl::IsNotFound(f.store->Get(group.id).status()));
}

}  // namespace
}  // namespace hotel::store
