#include "libhotel/store/migrations.h"

#include <array>
#include <chrono>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "libhotel/store/connection.h"
#include "tests/support/catch.h"
#include "tests/unit/store/store_fixture.h"

namespace hotel::store {
namespace {

std::unique_ptr<Connection> Connect(const std::string& path) {
  return Must(Connection::Open(path, std::chrono::milliseconds(5)));
}

/// The released steps and one that is yet to come.
std::vector<Migration> WithNextStep(const char* sql) {
  std::vector<Migration> steps(Migrations().begin(), Migrations().end());
  steps.push_back(Migration{"next", sql});
  return steps;
}

std::string Version(const std::string& path) {
  return RawDatabase(path).Value("PRAGMA user_version");
}

TEST_CASE("migrations: an empty file gets the whole schema and its mark") {
  TempDir dir;
  const std::string path = dir.File("hotel.db");
  auto connection = Connect(path);
  REQUIRE(Migrate(*connection, Migrations()).ok());
  CHECK(Version(path) == std::to_string(Migrations().size()));
  CHECK(RawDatabase(path).Value("PRAGMA application_id") == std::to_string(kApplicationId));
  CHECK(RawDatabase(path).Value("SELECT group_concat(name, ' ') FROM (SELECT name FROM"
                                " sqlite_schema WHERE type = 'table' ORDER BY name)") ==
        "model_failover_groups models provider_scans providers request_attempts request_columns"
        " request_logs request_minutes request_segments request_totals running_requests settings"
        " virtual_key_days virtual_keys");
  CHECK(Migrate(*connection, Migrations()).ok());
}

// The rows a file of version 1 holds, in the columns of seed 000.
constexpr char kVersionOneRows[] = R"sql(
  INSERT INTO providers (id, name, routing_name, provider_type, base_url, created_at, updated_at)
  VALUES ('aaaaaaaa-0000-4000-8000-000000000001', 'my provider', 'my-provider', 'openai',
          'https://a.test/v1', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
  INSERT INTO models (id, provider_id, model_id, created_at, updated_at)
  VALUES ('bbbbbbbb-0000-4000-8000-000000000001', 'aaaaaaaa-0000-4000-8000-000000000001',
          'z-ai/glm-4.6', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
  INSERT INTO model_failover_groups (id, display_model, priority_order, entry_enabled, created_at,
                                     updated_at)
  VALUES ('cccccccc-0000-4000-8000-000000000001', 'glm-4.6',
          '[ "bbbbbbbb-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002" ]',
          '{"bbbbbbbb-0000-4000-8000-000000000001": false}',
          '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z');
)sql";

void MakeVersionOne(const std::string& path) {
  auto connection = Connect(path);
  REQUIRE(Migrate(*connection, Migrations().first(1)).ok());
  RawDatabase(path).Run(kVersionOneRows);
}

TEST_CASE("migrations: a file of version 1 opens with what it holds") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  MakeVersionOne(path);
  const auto snapshot = MustOpen(path, clock)->Snapshot();
  REQUIRE(snapshot->FindProvider("my-provider") != nullptr);
  CHECK(snapshot->FindProvider("my-provider")->enabled);
  CHECK(snapshot->FindProvider("my-provider")->transport == nullptr);
  CHECK(snapshot->FindProvider("my-provider")->max_in_flight == 0);
  CHECK(snapshot->FindModel("bbbbbbbb-0000-4000-8000-000000000001")->model_id == "z-ai/glm-4.6");
  const FailoverGroup* group = snapshot->FindGroup("glm-4.6");
  REQUIRE(group != nullptr);
  REQUIRE(group->entries.size() == 2);
  CHECK_FALSE(group->entries[0].enabled);
  CHECK(group->entries[1].enabled);
  CHECK(group->updated_at - group->created_at == std::chrono::hours(24));
}

TEST_CASE("migrations: a later step keeps the rows of a file of version 1") {
  TempDir dir;
  const std::string path = dir.File("hotel.db");
  MakeVersionOne(path);
  auto connection = Connect(path);
  const auto steps = WithNextStep("ALTER TABLE models ADD COLUMN note TEXT NOT NULL DEFAULT 'n'");
  REQUIRE(Migrate(*connection, steps).ok());
  CHECK(Version(path) == std::to_string(steps.size()));
  CHECK(RawDatabase(path).Value("SELECT model_id || note FROM models") == "z-ai/glm-4.6n");
}

TEST_CASE("migrations: a step that fails leaves the version and the schema before it") {
  TempDir dir;
  const std::string path = dir.File("hotel.db");
  MakeVersionOne(path);
  auto connection = Connect(path);
  const auto steps = WithNextStep("CREATE TABLE half (id TEXT); SELECT no_such_function();");
  const absl::Status status = Migrate(*connection, steps);
  CHECK_FALSE(status.ok());
  CHECK(status.message().find("(next)") != absl::string_view::npos);
  CHECK(Version(path) == std::to_string(Migrations().size()));
  CHECK(RawDatabase(path).Value("SELECT count(*) FROM sqlite_schema WHERE name = 'half'") == "0");
  CHECK_FALSE(connection->in_transaction());
}

TEST_CASE("migrations: a database from a newer program is refused with both versions") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  MakeVersionOne(path);
  RawDatabase(path).Run("PRAGMA user_version = 99");
  const absl::Status status = TryOpen(path, clock).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(status.message().find("version 99") != absl::string_view::npos);
  CHECK(status.message().find("up to " + std::to_string(Migrations().size())) !=
        absl::string_view::npos);
  CHECK(Version(path) == "99");
}

TEST_CASE("migrations: another program's database is refused and left alone") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("other.db");
  RawDatabase(path).Run("CREATE TABLE theirs (id INTEGER)");
  CHECK(absl::IsFailedPrecondition(TryOpen(path, clock).status()));
  CHECK(RawDatabase(path).Value("SELECT group_concat(name) FROM sqlite_schema") == "theirs");
}

TEST_CASE("open: a file that is no database is DataLoss and left alone") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  const std::string text(5000, 'x');
  std::ofstream(path) << text;
  CHECK(absl::IsDataLoss(TryOpen(path, clock).status()));
  CHECK(FileBytes(path) == text);
}

TEST_CASE("open: a group whose columns do not decode is DataLoss and named") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  const std::array<const char*, 6> damages = {
      "priority_order = '{}'", "priority_order = '[1]'",         "priority_order = '[\"a\\\"b\"]'",
      "entry_enabled = '[]'",  "entry_enabled = '{\"a\":true}'", "created_at = 'yesterday'"};
  MakeVersionOne(path);
  for (const char* damage : damages) {
    RawDatabase(path).Run(std::string("UPDATE model_failover_groups SET ") + damage);
    const absl::Status status = TryOpen(path, clock).status();
    CHECK(absl::IsDataLoss(status));
    CHECK(status.message().find("'glm-4.6'") != absl::string_view::npos);
    RawDatabase(path).Run(std::string("DELETE FROM models; DELETE FROM providers;"
                                      "DELETE FROM model_failover_groups;") +
                          kVersionOneRows);
    CHECK(TryOpen(path, clock).ok());
  }
}

}  // namespace
}  // namespace hotel::store
