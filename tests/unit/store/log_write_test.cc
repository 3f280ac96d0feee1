#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hotel/log_store.h"

#include "tests/support/catch.h"
#include "tests/unit/store/fault_vfs.h"
#include "tests/unit/store/log_fixture.h"

namespace hotel::store {
namespace {

TEST_CASE("request log: what was recorded is there after closing and opening again") {
  TempDir dir;
  TestClock clock;
  LogStoreOptions options = LogOptions(dir.File("hotel.db"));
  options.flush_interval = kLong;  // nothing but closing makes it write
  auto log = Must(OpenLogStore(options, &clock));
  for (int i = 0; i < 10; ++i) log->Record(RecordOf("r" + std::to_string(i)));
  log->Close();
  CHECK(log->counts().written == 10);
  log->Record(RecordOf("too late"));
  CHECK(log->counts().lost == 1);
  log = Must(OpenLogStore(options, &clock));
  CHECK(Must(log->Page({}, 0, 20)).total == 10);
  CHECK(Must(log->Page({}, 0, 20)).entries.size() == 10);
}

TEST_CASE("F189 a burst is written whole and in batches") {
  TempDir dir;
  TestClock clock;
  LogStoreOptions options = LogOptions(dir.File("hotel.db"));
  options.max_batch = 100;
  auto log = Must(OpenLogStore(options, &clock));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&log, t] {
      for (int i = 0; i < 500; ++i) log->Record(RecordOf(std::to_string(t * 500 + i)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(log->Flush(kLong));
  CHECK(log->counts().written == 2000);
  CHECK(log->counts().lost == 0);
  CHECK(log->counts().waiting == 0);
  CHECK(Must(log->Page({}, 0, 1)).total == 2000);
}

TEST_CASE("F187 a locked database loses nothing that fits in memory, and counts what does not") {
  TempDir dir;
  TestClock clock;
  EventList events;
  const std::string path = dir.File("hotel.db");
  LogStoreOptions options = LogOptions(path);
  options.max_waiting = 50;
  options.max_batch = 10;
  options.events = &events;
  auto log = Must(OpenLogStore(options, &clock));
  {
    RawDatabase other(path);
    other.Run("BEGIN IMMEDIATE");
    log->Record(RecordOf("first"));
    while (events.Count("request_log.write_failed") == 0) std::this_thread::yield();
    for (int i = 0; i < 100; ++i) log->Record(RecordOf("r" + std::to_string(i)));
    CHECK(log->counts().written == 0);
    CHECK(log->counts().lost == 50);
    CHECK(log->counts().waiting == 51);
    CHECK(log->counts().failing);
    other.Run("COMMIT");
  }
  REQUIRE(log->Flush(kLong));
  CHECK_FALSE(log->counts().failing);
  CHECK(log->counts().written == 51);
  CHECK(Must(log->Page({}, 0, 1)).total == 51);
  log->Close();
  // Told once each, however often it was tried: the loss at its beginning, and at the end what came
  // on top.
  CHECK(events.Count("request_log.write_failed") == 1);
  CHECK(events.Count("request_log.rows_lost") <= 2);
  CHECK(events.Sum("request_log.rows_lost", "rows") == 50);
}

TEST_CASE("request log: closing a locked database tries once more and gives up") {
  TempDir dir;
  TestClock clock;
  EventList events;
  const std::string path = dir.File("hotel.db");
  LogStoreOptions options = LogOptions(path);
  options.retry_interval = kLong;
  options.events = &events;
  auto log = Must(OpenLogStore(options, &clock));
  RawDatabase other(path);
  other.Run("BEGIN IMMEDIATE");
  for (int i = 0; i < 7; ++i) log->Record(RecordOf("r" + std::to_string(i)));
  log->Close();
  CHECK(log->counts().written == 0);
  CHECK(log->counts().lost == 7);
  CHECK(log->Flush(Duration::zero()));
  CHECK(events.Count("request_log.rows_lost") == 1);
  other.Run("COMMIT");
}

TEST_CASE("request log: a full disk keeps rows waiting, and space that returns is used") {
  TempDir dir;
  TestClock clock;
  FaultVfs vfs;
  EventList events;
  LogStoreOptions options = LogOptions(dir.File("hotel.db"));
  options.events = &events;
  options.retry_interval = kLong;
  auto log = Must(OpenLogStore(options, &clock));
  vfs.FailAt(1, FaultVfs::Disk::kFull, true);
  log->Record(RecordOf("r1"));
  while (events.Count("request_log.write_failed") == 0) std::this_thread::yield();
  CHECK(log->counts().waiting == 1);
  vfs.Heal();
  log->Close();  // ends the pause
  CHECK(log->counts().written == 1);
  CHECK(events.Count("request_log.rows_lost") == 0);
}

TEST_CASE("request log: retention deletes at the start, by the request's arrival") {
  TempDir dir;
  TestClock clock;
  LogStoreOptions options = LogOptions(dir.File("hotel.db"));
  {
    auto log = Must(OpenLogStore(options, &clock));
    for (int i = 0; i < 1200; ++i) log->Record(RecordOf("old"));
    log->Record(RecordOf("edge", milliseconds(1000)));
    log->Record(RecordOf("young", milliseconds(5000)));
  }
  clock.wall += std::chrono::hours(24) + milliseconds(1000);
  options.retention = [] { return std::optional<Duration>(std::chrono::hours(24)); };
  auto log = Must(OpenLogStore(options, &clock));
  log->Close();  // behind the first pass
  CHECK(IdsOf(Must(log->Page({}, 0, 10)).entries) == "young edge");
  CHECK(Must(log->Page({}, 0, 10)).total == 2);
  LogFilter attempts;
  attempts.attempt_provider_id = kAcme;
  CHECK(Must(log->Page(attempts, 0, 10)).total == 2);
}

TEST_CASE("request log: sums by the minute are kept for eight days") {
  TempDir dir;
  TestClock clock;
  LogStoreOptions options = LogOptions(dir.File("hotel.db"));
  {
    auto log = Must(OpenLogStore(options, &clock));
    log->Record(RecordOf("old"));
    log->Record(RecordOf("young", std::chrono::hours(2)));
  }
  clock.wall += std::chrono::hours(24 * 8 + 1);
  auto log = Must(OpenLogStore(options, &clock));
  log->Close();  // behind the first pass
  const auto sums = Must(log->SumsSince(WallTime{}));
  REQUIRE(sums.size() == 1);
  CHECK(sums[0].requests == 1);
  CHECK(Must(log->Page({}, 0, 10)).total == 2);  // rows are kept for ever
}

TEST_CASE("request log: purging by age and of everything, with what belongs to the rows") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  auto log = Must(OpenLogStore(LogOptions(path), &clock));
  for (int i = 0; i < 10; ++i) log->Record(RecordOf(std::to_string(i), milliseconds(i)));
  REQUIRE(log->Flush(kLong));
  CHECK(Must(log->Purge(clock.wall + milliseconds(4))) == 4);
  CHECK(IdsOf(Must(log->Page({}, 0, 10)).entries) == "9 8 7 6 5 4");
  CHECK(Must(log->Purge(std::nullopt)) == 6);
  CHECK(Must(log->Page({}, 0, 10)).total == 0);
  CHECK(Must(log->Purge(std::nullopt)) == 0);
  RawDatabase raw(path);
  CHECK(raw.Value("SELECT count(*) || '' FROM request_logs") == "0");
  CHECK(raw.Value("SELECT count(*) || '' FROM request_attempts") == "0");
}

TEST_CASE("request log: the store and the log share one file") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  auto store = MustOpen(path, clock);
  auto log = Must(OpenLogStore(LogOptions(path), &clock));
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      log->Record(RecordOf(std::to_string(i)));
      log->Flush(kLong);
    }
  });
  int stored = 0;
  for (int i = 0; i < 50; ++i) {
    // With the short timeout of these tests a turn may be lost to the other; never more than that.
    const auto id = store->UpsertProvider(SpecOf("p" + std::to_string(i)));
    if (id.ok()) ++stored;
    if (!id.ok()) CHECK(absl::IsUnavailable(id.status()));
  }
  stop = true;
  writer.join();
  CHECK(stored > 0);
  CHECK(store->Snapshot()->providers().size() == static_cast<std::size_t>(stored));
  REQUIRE(log->Flush(kLong));
  CHECK(log->counts().lost == 0);
  CHECK(RawDatabase(path).Value("PRAGMA integrity_check") == "ok");
}

TEST_CASE("request log: a log without a file is refused") {
  TestClock clock;
  CHECK(absl::IsInvalidArgument(OpenLogStore(LogOptions(":memory:"), &clock).status()));
  CHECK(absl::IsInvalidArgument(OpenLogStore(LogOptions(""), &clock).status()));
}

}  // namespace
}  // namespace hotel::store
