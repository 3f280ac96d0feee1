#include "libhotel/store/backup.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <sys/stat.h>

#include "absl/status/status.h"
#include "libhotel/store/migrations.h"
#include "tests/support/catch.h"
#include "tests/unit/store/log_fixture.h"
#include "tests/unit/store/store_fixture.h"

namespace hotel::store {
namespace {

BackupOptions Plain() { return {false, std::chrono::seconds(5)}; }

int ModeOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return -1;
  return static_cast<int>(info.st_mode & 0777);
}

std::string GroupsIn(const std::string& path) {
  return RawDatabase(path).Value(
      "SELECT group_concat(display_model, ' ') FROM (SELECT display_model FROM "
      "model_failover_groups ORDER BY display_model)");
}

/// How many files are in the directory of `path`.
std::size_t FilesBeside(const std::string& path) {
  std::size_t files = 0;
  for (const auto& each :
       std::filesystem::directory_iterator(std::filesystem::path(path).parent_path())) {
    static_cast<void>(each);
    ++files;
  }
  return files;
}

TEST_CASE("backup: a database in use is copied with what its log holds, into one private file") {
  TempDir dir;
  TempDir target;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  const auto store = MustOpen(path, clock);
  REQUIRE(store->Create(GroupOf("one", AddModels(*store, 2))).ok());
  // Nothing was taken out of the log beside it yet.
  REQUIRE(std::filesystem::file_size(path + "-wal") > 0);
  const std::string copy = target.File("backup.db");
  const DatabaseFacts facts = Must(BackUpDatabase(path, copy, Plain()));
  CHECK(facts.version == static_cast<int>(Migrations().size()));
  CHECK(facts.bytes == static_cast<std::int64_t>(std::filesystem::file_size(copy)));
  CHECK(FilesBeside(copy) == 1);
  CHECK(ModeOf(copy) == 0600);
  CHECK(GroupsIn(copy) == "one");
  CHECK(Must(CheckDatabase(copy)).version == facts.version);
  // The store goes on.
  REQUIRE(store->Create(GroupOf("two", AddModels(*store, 2))).ok());
  CHECK(GroupsIn(copy) == "one");
}

TEST_CASE("backup: taken while somebody writes it is whole, and nobody's write fails") {
  TempDir dir;
  TempDir target;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  auto log = Must(OpenLogStore(LogOptions(path), &clock));
  std::atomic<bool> stop = false;
  int recorded = 0;
  std::thread writer([&] {
    while (!stop) {
      log->Record(RecordOf("r" + std::to_string(recorded++)));
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 10; ++i) {
    const std::string copy = target.File("backup" + std::to_string(i));
    CHECK(BackUpDatabase(path, copy, Plain()).ok());
    CHECK(CheckDatabase(copy).ok());
  }
  stop = true;
  writer.join();
  REQUIRE(log->Flush(kLong));
  CHECK(log->counts().written + log->counts().lost == static_cast<std::uint64_t>(recorded));
}

TEST_CASE("backup: without logs it has no rows of requests and no trace of them, but their sums") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  auto log = Must(OpenLogStore(LogOptions(path), &clock));
  for (int i = 0; i < 3000; ++i) log->Record(RecordOf("trace-of-" + std::to_string(i)));
  REQUIRE(log->Flush(kLong));
  const std::string copy = dir.File("small.db");
  Must(BackUpDatabase(path, copy, {true, std::chrono::seconds(5)}));
  CHECK(RawDatabase(copy).Value("SELECT count(*) FROM request_logs") == "0");
  CHECK(RawDatabase(copy).Value("SELECT sum(requests) FROM request_minutes") == "3000");
  CHECK(FileBytes(copy).find("trace-of-") == std::string::npos);
  const std::string whole = dir.File("whole.db");
  Must(BackUpDatabase(path, whole, Plain()));
  CHECK(RawDatabase(whole).Value("SELECT count(*) FROM request_logs") == "3000");
  // The log that is in use has lost nothing.
  CHECK(Must(log->Page({}, 0, 1)).total == 3000);
}

TEST_CASE("backup: no file is overwritten, and a failed one leaves none behind") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  { const auto store = MustOpen(path, clock); }
  const std::string copy = dir.File("copy.db");
  std::ofstream(copy) << "mine";
  CHECK(absl::IsAlreadyExists(BackUpDatabase(path, copy, Plain()).status()));
  CHECK(FileBytes(copy) == "mine");
  CHECK(absl::IsInvalidArgument(
      BackUpDatabase(dir.File("none.db"), dir.File("a.db"), Plain()).status()));
  CHECK(absl::IsUnavailable(BackUpDatabase(path, dir.File("no/such/dir/a.db"), Plain()).status()));
  const std::string other = dir.File("other.db");
  RawDatabase(other).Run("CREATE TABLE t (a)");
  CHECK(absl::IsFailedPrecondition(BackUpDatabase(other, dir.File("a.db"), Plain()).status()));
  CHECK_FALSE(std::filesystem::exists(dir.File("a.db")));
  CHECK_FALSE(std::filesystem::exists(dir.File("a.db.part")));
  CHECK_FALSE(std::filesystem::exists(dir.File("none.db")));
}

TEST_CASE("restore: the database is replaced in one step and the old one kept with its log") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  const std::string copy = dir.File("copy");
  {
    const auto store = MustOpen(path, clock);
    REQUIRE(store->Create(GroupOf("old", AddModels(*store, 2))).ok());
    Must(BackUpDatabase(path, copy, Plain()));
    REQUIRE(store->Create(GroupOf("new", AddModels(*store, 2))).ok());
  }
  // As after a kill: the log still holds what was written last.
  {
    RawDatabase reader(path);
    RawDatabase writer(path);
    reader.Run("BEGIN; SELECT * FROM settings");
    writer.Run("INSERT INTO settings VALUES ('k', 'v', '')");
    std::filesystem::copy_file(path, dir.File("killed.db"));
    std::filesystem::copy_file(path + "-wal", dir.File("killed.db-wal"));
  }
  const std::string killed = dir.File("killed.db");
  CHECK(Must(RestoreDatabase(copy, killed, dir.File("kept.db"))) == dir.File("kept.db"));
  CHECK(GroupsIn(killed) == "old");
  CHECK(RawDatabase(killed).Value("SELECT count(*) FROM settings") == "0");
  CHECK(ModeOf(killed) == 0600);
  CHECK(GroupsIn(dir.File("kept.db")) == "new old");
  CHECK(RawDatabase(dir.File("kept.db")).Value("SELECT value FROM settings") == "v");
  // It opens as what it was.
  CHECK(MustOpen(killed, clock)->Snapshot()->groups().size() == 1);
}

TEST_CASE("restore: into a directory that has no database yet") {
  TempDir dir;
  TestClock clock;
  const std::string copy = dir.File("copy");
  { const auto store = MustOpen(copy, clock); }
  CHECK(Must(RestoreDatabase(copy, dir.File("hotel.db"), dir.File("kept.db"))).empty());
  CHECK(CheckDatabase(dir.File("hotel.db")).ok());
  CHECK_FALSE(std::filesystem::exists(dir.File("kept.db")));
}

TEST_CASE("restore: a damaged, foreign or later file changes nothing") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  {
    const auto store = MustOpen(path, clock);
    REQUIRE(store->Create(GroupOf("mine", AddModels(*store, 2))).ok());
  }
  const std::string good = dir.File("good.db");
  Must(BackUpDatabase(path, good, Plain()));
  const std::string bytes = FileBytes(good);

  const auto refuses = [&](const std::string& file) {
    const auto restored = RestoreDatabase(file, path, dir.File("kept.db"));
    CHECK(GroupsIn(path) == "mine");
    CHECK_FALSE(std::filesystem::exists(dir.File("kept.db")));
    CHECK_FALSE(std::filesystem::exists(path + ".restoring"));
    return restored.status();
  };
  const std::string broken = dir.File("broken.db");
  // A page in the middle is not what it was.
  std::string damaged = bytes;
  for (std::size_t i = 4096; i < damaged.size() && i < 5 * 4096; ++i) damaged[i] = '\x5a';
  std::ofstream(broken, std::ios::binary) << damaged;
  CHECK_FALSE(refuses(broken).ok());
  std::ofstream(broken, std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  CHECK_FALSE(refuses(broken).ok());
  std::ofstream(broken, std::ios::binary) << "no database at all";
  CHECK_FALSE(refuses(broken).ok());
  std::ofstream(broken, std::ios::binary) << "";
  CHECK(absl::IsFailedPrecondition(refuses(broken)));
  CHECK(absl::IsInvalidArgument(refuses(dir.File("none.db"))));
  RawDatabase(good).Run("PRAGMA user_version = 100000");
  CHECK(absl::IsFailedPrecondition(refuses(good)));
}

TEST_CASE("probe: a database that can be read, one that is gone, and one that is none") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  const auto store = MustOpen(path, clock);
  CHECK(ProbeDatabase(path, std::chrono::milliseconds(5)).ok());
  {
    // Who writes keeps no reader out.
    RawDatabase writer(path);
    writer.Run("BEGIN IMMEDIATE");
    CHECK(ProbeDatabase(path, std::chrono::milliseconds(5)).ok());
  }
  CHECK_FALSE(ProbeDatabase(dir.File("none.db"), {}).ok());
  CHECK_FALSE(std::filesystem::exists(dir.File("none.db")));
  std::ofstream(dir.File("text.db")) << std::string(10000, 'x');
  CHECK_FALSE(ProbeDatabase(dir.File("text.db"), {}).ok());
  std::ofstream(dir.File("empty.db")) << "";
  CHECK_FALSE(ProbeDatabase(dir.File("empty.db"), {}).ok());
}

}  // namespace
}  // namespace hotel::store
