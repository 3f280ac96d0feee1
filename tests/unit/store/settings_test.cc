#include <memory>
#include <string>
#include <vector>

#include "hotel/live_settings.h"

#include "absl/status/status.h"
#include "tests/support/catch.h"
#include "tests/unit/store/store_fixture.h"

namespace hotel::store {
namespace {

std::string Rows(SqliteStore& store) {
  std::string text;
  for (const StoredSetting& row : Must(store.ReadSettings())) {
    text += row.key + "=" + row.value + ";";
  }
  return text;
}

TEST_CASE("settings: rows are written, overwritten and removed, and outlive the process") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  {
    const auto store = MustOpen(path, clock);
    CHECK(Rows(*store).empty());
    REQUIRE(store->WriteSettings({{"b", "2"}, {"a", "1"}}, {}).ok());
    REQUIRE(store->WriteSettings({{"b", "3"}, {"c", ""}}, {"a", "none"}).ok());
    CHECK(Rows(*store) == "b=3;c=;");
  }
  CHECK(Rows(*MustOpen(path, clock)) == "b=3;c=;");
  CHECK(RawDatabase(path).Value("SELECT updated_at FROM settings WHERE key = 'b'") ==
        "2026-09-01T10:00:00.123Z");
}

TEST_CASE("settings: a key that is removed and written in one call is there") {
  TempDir dir;
  TestClock clock;
  const auto store = MustOpen(dir.File("hotel.db"), clock);
  REQUIRE(store->WriteSettings({{"a", "1"}}, {}).ok());
  REQUIRE(store->WriteSettings({{"a", "2"}}, {"a"}).ok());
  CHECK(Rows(*store) == "a=2;");
}

TEST_CASE("settings: a change does not build a new group snapshot") {
  TempDir dir;
  TestClock clock;
  const auto store = MustOpen(dir.File("hotel.db"), clock);
  const auto before = store->Snapshot();
  REQUIRE(store->WriteSettings({{"a", "1"}}, {}).ok());
  CHECK(store->Snapshot() == before);
}

TEST_CASE("settings: a locked database refuses the change as a whole") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  const auto store = MustOpen(path, clock);
  REQUIRE(store->WriteSettings({{"a", "1"}}, {}).ok());
  {
    const auto other = Must(Connection::Open(path, std::chrono::milliseconds(5)));
    const auto held = Must(Transaction::Begin(other.get()));
    const absl::Status status = store->WriteSettings({{"b", "2"}}, {"a"});
    CHECK(status.code() == absl::StatusCode::kUnavailable);
  }
  CHECK(Rows(*store) == "a=1;");
}

}  // namespace
}  // namespace hotel::store
