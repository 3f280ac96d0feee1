#include <atomic>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "tests/support/catch.h"
#include "tests/unit/store/store_fixture.h"

namespace hotel::store {
namespace {

TEST_CASE("F187 locked by another program: writes report it, reads go on, nothing is lost") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  auto store = MustOpen(path, clock);
  const auto models = AddModels(*store, 2);
  Must(store->Create(GroupOf("before", models)));
  const auto snapshot = store->Snapshot();
  RawDatabase other(path);
  other.Run("BEGIN EXCLUSIVE");
  const absl::Status status = store->Create(GroupOf("during", models)).status();
  CHECK(absl::IsUnavailable(status));
  CHECK(status.message().find("locked by another program") != absl::string_view::npos);
  CHECK(absl::IsUnavailable(store->UpsertProvider(SpecOf("new", "sk")).status()));
  CHECK(absl::IsUnavailable(store->Delete(snapshot->groups()[0].id)));
  CHECK(store->Snapshot() == snapshot);
  CHECK(store->Snapshot()->FindGroup("before") != nullptr);
  other.Run("COMMIT");
  Must(store->Create(GroupOf("after", models)));
  store.reset();
  const auto reopened = MustOpen(path, clock)->Snapshot();
  CHECK(reopened->groups().size() == 2);
  CHECK(reopened->FindGroup("during") == nullptr);
}

TEST_CASE("open: Unavailable while another program holds the file") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  RawDatabase other(path);
  other.Run("BEGIN EXCLUSIVE");
  CHECK(absl::IsUnavailable(TryOpen(path, clock).status()));
  other.Run("COMMIT");
  CHECK(TryOpen(path, clock).ok());
}

TEST_CASE("threads: writers and readers see whole states and growing generations") {
  constexpr int kWriters = 3;
  constexpr int kGroups = 8;
  TempDir dir;
  TestClock clock;
  auto store = MustOpen(dir.File("hotel.db"), clock);
  const auto models = AddModels(*store, 2);
  std::atomic<int> failures{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; i < kGroups; ++i) {
        const std::string name = "g" + std::to_string(w) + "-" + std::to_string(i);
        const auto created = store->Create(GroupOf(name, models));
        // A write is visible to whoever made it as soon as it returns.
        if (!created.ok() || store->Snapshot()->FindGroup(name) == nullptr) ++failures;
        if (i % 2 == 1 && created.ok() && !store->Delete(created->id).ok()) ++failures;
      }
    });
  }
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      std::uint64_t last = 0;
      while (!done) {
        const auto snapshot = store->Snapshot();
        if (snapshot->generation() < last) ++failures;
        last = snapshot->generation();
        for (const FailoverGroup& group : snapshot->groups()) {
          if (group.entries.size() != 2 || snapshot->FindGroup(group.display_model) != &group) {
            ++failures;
          }
        }
      }
    });
  }
  for (std::thread& thread : writers) thread.join();
  done = true;
  for (std::thread& thread : readers) thread.join();
  CHECK(failures == 0);
  CHECK(store->Snapshot()->groups().size() == kWriters * kGroups / 2);
}

/// Creates groups g0, g1, ... for ever, and writes a byte to `pipe` after each that is stored.
[[noreturn]] void WriteUntilKilled(const std::string& path, const std::vector<std::string>& models,
                                   int pipe) {
  TestClock clock;
  auto store = TryOpen(path, clock, kMasterKey, std::chrono::seconds(5));
  if (!store.ok()) _exit(2);
  for (int i = 0;; ++i) {
    if (!(*store)->Create(GroupOf("g" + std::to_string(i), models)).ok()) _exit(3);
    if (write(pipe, "+", 1) != 1) _exit(4);
  }
}

TEST_CASE("kill -9: every acknowledged group is there afterwards, and none is half there") {
  for (const int kill_after : {0, 1, 2, 5, 11, 23}) {
    TempDir dir;
    TestClock clock;
    const std::string path = dir.File("hotel.db");
    auto store = MustOpen(path, clock);
    const auto models = AddModels(*store, 2);
    store.reset();

    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      WriteUntilKilled(path, models, ends[1]);
    }
    REQUIRE(child > 0);
    close(ends[1]);
    std::size_t acknowledged = 0;
    char byte = 0;
    while (acknowledged < static_cast<std::size_t>(kill_after) && read(ends[0], &byte, 1) == 1) {
      ++acknowledged;
    }
    kill(child, SIGKILL);
    while (read(ends[0], &byte, 1) == 1) ++acknowledged;
    close(ends[0]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    CHECK(acknowledged >= static_cast<std::size_t>(kill_after));

    store = MustOpen(path, clock);
    const auto snapshot = store->Snapshot();
    for (std::size_t i = 0; i < acknowledged; ++i) {
      const FailoverGroup* group = snapshot->FindGroup("g" + std::to_string(i));
      REQUIRE(group != nullptr);
      CHECK(group->entries.size() == 2);
    }
    CHECK(snapshot->groups().size() <= acknowledged + 1);
    CHECK(RawDatabase(path).Value("PRAGMA integrity_check") == "ok");
    CHECK(store->Create(GroupOf("later", models)).ok());
  }
}

}  // namespace
}  // namespace hotel::store
