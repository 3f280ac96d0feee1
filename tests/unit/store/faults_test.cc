#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "libhotel/store/sqlite_status.h"
#include "tests/support/catch.h"
#include "tests/unit/store/fault_vfs.h"
#include "tests/unit/store/store_fixture.h"

namespace hotel::store {
namespace {

/// What a test can tell two states of the store apart by.
std::string Describe(const GroupSnapshot& snapshot) {
  std::string text;
  for (const auto& provider : snapshot.providers()) {
    text += provider->name + "=" + std::string(provider->api_key.Reveal()) + ";";
  }
  for (const Model& model : snapshot.models()) text += model.id + (model.enabled ? "+" : "-");
  for (const FailoverGroup& group : snapshot.groups()) {
    text += group.display_model + ":";
    for (const GroupEntry& entry : group.entries) text += entry.model_uuid + ",";
  }
  return text;
}

struct Change {
  const char* name;
  std::function<absl::Status(Store&)> run;
};

/// Writes of every kind, on the state that Prepare leaves.
std::vector<Change> Changes() {
  return {
      {"create",
       [](Store& store) {
         const auto snapshot = store.Snapshot();
         return store.Create(GroupOf("new", {snapshot->models()[0].id, snapshot->models()[1].id}))
             .status();
       }},
      {"rename",
       [](Store& store) {
         FailoverGroupPatch patch;
         patch.display_model = "renamed";
         return store.Update(store.Snapshot()->groups()[0].id, patch).status();
       }},
      {"delete group", [](Store& store) { return store.Delete(store.Snapshot()->groups()[0].id); }},
      {"upsert provider",
       [](Store& store) {
         ProviderSpec spec = SpecOf("p1", "sk-new");
         spec.models = std::vector<std::string>{"x", "y"};
         return store.UpsertProvider(spec).status();
       }},
      {"delete provider",
       [](Store& store) { return store.DeleteProvider(store.Snapshot()->providers()[0]->id); }},
  };
}

void Prepare(const std::string& path, const Clock& clock) {
  auto store = MustOpen(path, clock);
  const auto models = AddModels(*store, 2);
  Must(store->Create(GroupOf("old", models)));
}

/// Runs `change` with the nth operation failing. Returns false when no operation failed any more.
bool RunWithFault(const Change& change, int nth, FaultVfs::Disk disk, bool stays) {
  INFO(change.name << ", operation " << nth << (stays ? " and all later ones" : ""));
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  Prepare(path, clock);
  FaultVfs vfs;
  std::string old_state;
  bool reported_ok = false;
  vfs.FailAt(nth, disk, stays);
  auto store = TryOpen(path, clock);
  if (store.ok()) {
    old_state = Describe(*(*store)->Snapshot());
    const absl::Status status = change.run(**store);
    reported_ok = status.ok();
    const std::string now = Describe(*(*store)->Snapshot());
    if (reported_ok) {
      CHECK(now != old_state);
    } else {
      CHECK(absl::IsUnavailable(status));
      CHECK(now == old_state);
    }
    const bool failed = vfs.failures() > 0;
    vfs.Heal();
    // The store that met the fault goes on working, unless it has done all it can already.
    if (!reported_ok) CHECK(change.run(**store).ok());
    const std::string final_state = Describe(*(*store)->Snapshot());
    store->reset();
    CHECK(Describe(*MustOpen(path, clock)->Snapshot()) == final_state);
    CHECK(RawDatabase(path).Value("PRAGMA integrity_check") == "ok");
    return failed;
  }
  CHECK(absl::IsUnavailable(store.status()));
  vfs.Heal();
  CHECK(MustOpen(path, clock)->Snapshot()->FindGroup("old") != nullptr);
  return true;
}

TEST_CASE("faults: whichever disk operation fails, a write is done or has changed nothing") {
  for (const Change& change : Changes()) {
    for (const FaultVfs::Disk disk : {FaultVfs::Disk::kFull, FaultVfs::Disk::kBroken}) {
      for (const bool stays : {false, true}) {
        int nth = 1;
        while (RunWithFault(change, nth, disk, stays)) {
          ++nth;
          REQUIRE(nth < 200);
        }
        CHECK(nth > 1);
      }
    }
  }
}

TEST_CASE("faults: the first opening of a new file fails cleanly at every operation") {
  for (int nth = 1;; ++nth) {
    REQUIRE(nth < 200);
    TempDir dir;
    TestClock clock;
    const std::string path = dir.File("hotel.db");
    FaultVfs vfs;
    vfs.FailAt(nth, FaultVfs::Disk::kBroken, true);
    auto store = TryOpen(path, clock);
    const bool failed = vfs.failures() > 0;
    if (!store.ok()) CHECK(absl::IsUnavailable(store.status()));
    vfs.Heal();
    if (store.ok()) store->reset();
    CHECK(TryOpen(path, clock).ok());
    if (!failed) break;
  }
}

TEST_CASE("a full disk is Unavailable and says so; space that returns is used") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  Prepare(path, clock);
  FaultVfs vfs;
  auto store = MustOpen(path, clock);
  vfs.FailAt(1, FaultVfs::Disk::kFull, true);
  const absl::Status status = store->UpsertProvider(SpecOf("new", "sk-new")).status();
  CHECK(absl::IsUnavailable(status));
  CHECK(status.message().find("is full") != absl::string_view::npos);
  CHECK(status.message().find("sk-new") == absl::string_view::npos);
  CHECK(store->Snapshot()->FindGroup("old") != nullptr);
  vfs.Heal();
  CHECK(store->UpsertProvider(SpecOf("new", "sk-new")).ok());
}

TEST_CASE("result codes become statuses that say what to do") {
  struct Row {
    int code;
    absl::StatusCode status;
  };
  for (const Row& row : {Row{SQLITE_BUSY, absl::StatusCode::kUnavailable},
                         Row{SQLITE_BUSY_SNAPSHOT, absl::StatusCode::kUnavailable},
                         Row{SQLITE_LOCKED, absl::StatusCode::kUnavailable},
                         Row{SQLITE_FULL, absl::StatusCode::kUnavailable},
                         Row{SQLITE_IOERR_WRITE, absl::StatusCode::kUnavailable},
                         Row{SQLITE_READONLY_DBMOVED, absl::StatusCode::kUnavailable},
                         Row{SQLITE_CANTOPEN, absl::StatusCode::kUnavailable},
                         Row{SQLITE_NOMEM, absl::StatusCode::kUnavailable},
                         Row{SQLITE_CORRUPT, absl::StatusCode::kDataLoss},
                         Row{SQLITE_NOTADB, absl::StatusCode::kDataLoss},
                         Row{SQLITE_ERROR, absl::StatusCode::kInternal}}) {
    const absl::Status status = SqliteStatus(row.code, "detail", "/path/to/hotel.db");
    CHECK(status.code() == row.status);
    CHECK(status.message().find("/path/to/hotel.db") != absl::string_view::npos);
  }
}

}  // namespace
}  // namespace hotel::store
