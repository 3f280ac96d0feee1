// Databases that earlier versions of the program left behind.
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "hotel/defaults.h"
#include "hotel/log_store.h"

#include "absl/status/status.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/migrations.h"
#include "tests/support/catch.h"
#include "tests/unit/store/fault_vfs.h"
#include "tests/unit/store/log_fixture.h"
#include "tests/unit/store/store_fixture.h"

namespace hotel::store {
namespace {

/// What a program of a version wrote beyond what the one before it did. Where a step only adds
/// something that earlier programs did not know, there is nothing.
struct Rows {
  std::size_t since;
  const char* sql;
};

constexpr Rows kRows[] = {
    {1, R"sql(
      INSERT INTO providers (id, name, routing_name, provider_type, base_url, created_at, updated_at)
      VALUES ('aaaaaaaa-0000-4000-8000-000000000001', 'acme', 'acme', 'openai',
              'https://a.test/v1', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
      INSERT INTO models (id, provider_id, model_id, created_at, updated_at)
      VALUES ('bbbbbbbb-0000-4000-8000-000000000001', 'aaaaaaaa-0000-4000-8000-000000000001',
              'z-ai/glm-4.6', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
      INSERT INTO model_failover_groups (id, display_model, priority_order, created_at, updated_at)
      VALUES ('cccccccc-0000-4000-8000-000000000001', 'glm-4.6',
              '["bbbbbbbb-0000-4000-8000-000000000001"]',
              '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z');)sql"},
    {2, "UPDATE providers SET ca_file = '/etc/ca.pem';"},
    {3, "INSERT INTO settings VALUES ('log_retention', '24h', '2026-01-01T00:00:00.000Z');"},
    {4, "UPDATE providers SET max_in_flight = 7;"},
    {5, R"sql(
      INSERT INTO request_logs (request_id, model_id, resolved_model_id, provider_id, provider_name,
        virtual_key_name, endpoint_type, streaming, status_code, error_kind, error_message,
        failover_attempt, duration_ms, ttft_ms, tokens_prompt, tokens_completion,
        tokens_completion_reasoning, tokens_prompt_cache_hit, tokens_estimated, attempts,
        created_at)
      VALUES ('first', 'hotel/glm', 'z-ai/glm', 'aaaaaaaa-0000-4000-8000-000000000001', 'acme',
              'dev', 'chat', 1, 200, NULL, NULL, 1, 1500, 300, 10, 20, 2, 3, 0,
              '[{"attempt":0},{"attempt":1}]', 1000000),
             ('second', 'hotel/glm', NULL, NULL, NULL, NULL, 'chat', 0, 503, 'no_available_provider',
              'nobody is there', 0, 3, NULL, NULL, NULL, NULL, NULL, 0, '[]', 2000000);
      INSERT INTO request_attempts VALUES (1, 'gone', 429, 1000000),
             (1, 'aaaaaaaa-0000-4000-8000-000000000001', 200, 1000000);
      INSERT INTO request_totals VALUES ('model', 'hotel/glm', 5, 600, 1000000, 2000000);)sql"},
    {6, "UPDATE models SET enabled = 0, disabled_manually = 1;"},
    {7, R"sql(
      INSERT INTO request_minutes
      VALUES (29804280, 'aaaaaaaa-0000-4000-8000-000000000001', 2, 1, 10, 20, 1503);)sql"},
    {8, "UPDATE models SET display_name = 'GLM', input_price = 0.5;"},
    {9, "UPDATE request_logs SET client_ip = '127.0.0.1' WHERE seq = 1;"},
    {10, R"sql(
      INSERT INTO virtual_keys (id, name, key_hash, key_preview, created_at, updated_at)
      VALUES ('dddddddd-0000-4000-8000-000000000001', 'dev', 'hash', 'sk-...1234',
              '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');)sql"},
    {11, R"sql(
      INSERT INTO running_requests
      VALUES ('cut', 'hotel/glm', 'dev', '', '127.0.0.1', 'chat', 1, 3000000);)sql"},
};

/// The file as the program of that version left it.
void Make(const std::string& path, std::size_t version) {
  auto connection = Must(Connection::Open(path, milliseconds(5)));
  for (std::size_t step = 1; step <= version; ++step) {
    REQUIRE(Migrate(*connection, Migrations().first(step)).ok());
    for (const Rows& rows : kRows) {
      if (rows.since == step) REQUIRE(connection->RunScript(rows.sql).ok());
    }
  }
}

/// Everything that was written up to that version is there.
void Check(const std::string& path, std::size_t version) {
  TestClock clock;
  {
    const auto store = MustOpen(path, clock);
    const auto snapshot = store->Snapshot();
    const auto provider = snapshot->FindProvider("acme");
    REQUIRE(provider != nullptr);
    CHECK((provider->transport != nullptr) == (version >= 2));
    if (version >= 2) CHECK(provider->transport->ca_file == "/etc/ca.pem");
    CHECK(provider->max_in_flight == (version >= 4 ? 7 : 0));
    const Model* model = snapshot->FindModel("bbbbbbbb-0000-4000-8000-000000000001");
    REQUIRE(model != nullptr);
    CHECK(model->model_id == "z-ai/glm-4.6");
    CHECK(model->enabled == (version < 6));
    CHECK(model->disabled_manually == (version >= 6));
    const FailoverGroup* group = snapshot->FindGroup("glm-4.6");
    REQUIRE(group != nullptr);
    CHECK(group->entries.size() == 1);
    const auto settings = Must(store->ReadSettings());
    REQUIRE(settings.size() == (version >= 3 ? 1U : 0U));
    if (version >= 3) CHECK(settings[0].value == "24h");
  }
  auto log = Must(OpenLogStore(LogOptions(path), &clock));
  // What was running is a row by now.
  const std::int64_t rows = version >= 11 ? 3 : version >= 5 ? 2 : 0;
  CHECK(Must(log->Page({}, 0, 10)).total == rows);
  if (version >= 5) {
    CHECK(IdsOf(Must(log->Page({}, 0, 10)).entries) ==
          (version >= 11 ? "cut second first" : "second first"));
    const LogEntry entry = Must(log->Find("first")).value();
    CHECK(entry.key_name == "dev");
    CHECK((entry.usage == TokenUsage{10, 20, 3, 2, false}));
    CHECK(entry.attempts == R"([{"attempt":0},{"attempt":1}])");
    CHECK(entry.client_ip == (version >= 9 ? "127.0.0.1" : ""));
    LogFilter filter;
    filter.attempt_provider_id = "gone";
    filter.attempt_status = 429;
    CHECK(IdsOf(Must(log->Page(filter, 0, 10)).entries) == "first");
    CHECK(Must(log->Find("second")).value().error_message == "nobody is there");
    CHECK(Must(log->Totals(LogReader::Scope::kModel)).at(0).tokens == 600);
  }
  if (version >= 7) CHECK(Must(log->SumsSince(WallTime{})).back().requests == 2);
  // Rows that come on top stand beside them.
  log->Record(RecordOf("third"));
  REQUIRE(log->Flush(kLong));
  CHECK(Must(log->Find("third")).value().seq == rows + 1);
  log.reset();
  RawDatabase raw(path);
  CHECK(raw.Value("PRAGMA user_version") == std::to_string(Migrations().size()));
  CHECK(raw.Value("PRAGMA integrity_check") == "ok");
  CHECK(raw.Value("SELECT count(*) || '' FROM pragma_foreign_key_check") == "0");
  if (version >= 8) CHECK(raw.Value("SELECT display_name || input_price FROM models") == "GLM0.5");
  if (version >= 10) CHECK(raw.Value("SELECT name || key_hash FROM virtual_keys") == "devhash");
}

TEST_CASE("upgrade: a file of every earlier version opens and loses nothing") {
  // Whoever adds a step adds what the version before it left behind.
  REQUIRE(Migrations().size() <= 1 + std::size(kRows));
  for (std::size_t version = 1; version <= Migrations().size(); ++version) {
    INFO("version " << version);
    TempDir dir;
    Make(dir.File("hotel.db"), version);
    Check(dir.File("hotel.db"), version);
  }
}

TEST_CASE("upgrade: rows of a long log get their segments behind the start") {
  TempDir dir;
  TestClock clock;
  const std::string path = dir.File("hotel.db");
  Make(path, 7);
  RawDatabase raw(path);
  raw.Run(
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 7000)"
      " INSERT INTO request_logs (request_id, model_id, endpoint_type, streaming, status_code,"
      " failover_attempt, duration_ms, tokens_estimated, attempts, created_at)"
      " SELECT 'r' || i, 'm' || (i % 3), 'chat', 0, 200, 0, 1, 0, '[]', 3000000 + i FROM n");
  auto log = Must(OpenLogStore(LogOptions(path), &clock));
  LogFilter filter;
  filter.model_id = "m1";
  // Whether they have them or not.
  CHECK(Must(log->Page(filter, 0, 1)).total == 2334);
  while (raw.Value("SELECT count(*) || '' FROM request_segments") != "3") std::this_thread::yield();
  CHECK(Must(log->Page(filter, 0, 1)).total == 2334);
  CHECK(Must(log->Find("r1")).value().seq == 3);
  CHECK(Must(log->Page({}, 0, 1)).total == 7002);
}

TEST_CASE("upgrade: whichever disk operation fails on the way, the next start has all of it") {
  for (const FaultVfs::Disk disk : {FaultVfs::Disk::kFull, FaultVfs::Disk::kBroken}) {
    bool failed = true;
    int most = 0;
    for (int nth = 1; failed; ++nth) {
      INFO("operation " << nth);
      TempDir dir;
      const std::string path = dir.File("hotel.db");
      Make(path, 7);
      {
        FaultVfs vfs;
        vfs.FailAt(nth, disk, true);
        TestClock clock;
        const auto opened = TryOpen(path, clock);
        failed = vfs.failures() > 0;
        CHECK(opened.ok() == !failed);
        vfs.Heal();
      }
      CHECK(std::stoi(RawDatabase(path).Value("PRAGMA user_version")) >= 7);
      Check(path, 7);
      most = nth;
    }
    CHECK(most > 5);
  }
}

}  // namespace
}  // namespace hotel::store
