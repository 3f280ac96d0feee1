#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "absl/status/status.h"
#include "tests/support/catch.h"
#include "tests/unit/store/store_fixture.h"

namespace hotel::store {
namespace {

int Mode(const std::string& path) {
  struct stat info {};
  REQUIRE(stat(path.c_str(), &info) == 0);
  return static_cast<int>(info.st_mode & 0777);
}

TEST_CASE("reopen: providers, models, keys and groups are as they were") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  auto store = MustOpen(path, clock);
  const auto models = AddModels(*store, 3);
  Must(store->UpsertProvider(SpecOf("p2", "sk-2")));
  REQUIRE(store->SetProviderEnabled(store->Snapshot()->FindProvider("p3")->id, false).ok());
  NewFailoverGroup spec = GroupOf("g", {models[2], models[0]});
  spec.display_name = "Grüße";
  const FailoverGroup group = Must(store->Create(spec));
  FailoverGroupPatch patch;
  patch.entry_enabled = {{models[0], false}};
  clock.wall += std::chrono::milliseconds(7);
  const FailoverGroup before = Must(store->Update(group.id, patch));
  store.reset();
  store = MustOpen(path, clock);
  const auto snapshot = store->Snapshot();
  CHECK(snapshot->providers().size() == 3);
  CHECK(snapshot->FindProvider("p2")->api_key == Secret("sk-2"));
  CHECK_FALSE(snapshot->FindProvider("p3")->enabled);
  CHECK(snapshot->FindModel(models[1])->model_id == "m");
  const FailoverGroup after = Must(store->Get(group.id));
  CHECK(after.display_name == "Grüße");
  CHECK(after.created_at == before.created_at);
  CHECK(after.updated_at == before.updated_at);
  REQUIRE(after.entries.size() == 2);
  CHECK(after.entries[0].model_uuid == models[2]);
  CHECK(after.entries[0].enabled);
  CHECK_FALSE(after.entries[1].enabled);
}

TEST_CASE("files: 0600 for the database and its companions, 0700 for new directories") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("new/deeper/hotel.db");
  const mode_t old_mask = umask(0);
  auto store = MustOpen(path, clock);
  AddModels(*store, 1);
  umask(old_mask);
  CHECK(Mode(path) == 0600);
  CHECK(Mode(path + "-wal") == 0600);
  CHECK(Mode(path + "-shm") == 0600);
  CHECK(Mode(dir.File("new")) == 0700);
  CHECK(Mode(dir.File("new/deeper")) == 0700);
}

TEST_CASE("files: an existing database keeps its mode") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  MustOpen(path, clock).reset();
  REQUIRE(chmod(path.c_str(), 0640) == 0);
  MustOpen(path, clock).reset();
  CHECK(Mode(path) == 0640);
}

TEST_CASE("open: a path that cannot be is an error that names it") {
  TempDir dir;
  TestClock clock;
  CHECK(absl::IsInvalidArgument(TryOpen("", clock).status()));
  const std::string file = dir.File("file");
  MustOpen(file, clock).reset();
  const absl::Status below_file = TryOpen(file + "/hotel.db", clock).status();
  CHECK(absl::IsUnavailable(below_file));
  CHECK(below_file.message().find(file) != absl::string_view::npos);
  std::filesystem::create_directory(dir.File("directory"));
  const absl::Status is_directory = TryOpen(dir.File("directory"), clock).status();
  CHECK(absl::IsUnavailable(is_directory));
}

TEST_CASE("two stores on one file: each sees the other's changes with its own next write") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  auto one = MustOpen(path, clock);
  auto two = MustOpen(path, clock);
  const auto models = AddModels(*one, 2);
  const FailoverGroup group = Must(one->Create(GroupOf("g", models)));
  CHECK(two->Snapshot()->groups().empty());
  // Finds nothing to change, and shows the group nevertheless.
  CHECK(Must(two->Update(group.id, {})).display_model == "g");
  CHECK(two->Snapshot()->FindGroup("g") != nullptr);
  CHECK(absl::IsAlreadyExists(two->Create(GroupOf("g", models)).status()));
}

}  // namespace
}  // namespace hotel::store
