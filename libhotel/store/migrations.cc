#include "libhotel/store/migrations.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <fmt/core.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"

namespace hotel::store {
namespace {

// Ids are UUIDs, times RFC 3339 UTC, lists and maps JSON, all as TEXT; flags are 0 or 1. (The
// request log's times are numbers.)
constexpr std::array kMigrations = {
    Migration{"providers, models and failover groups", R"sql(
      CREATE TABLE providers (
        id TEXT NOT NULL PRIMARY KEY,
        name TEXT NOT NULL,
        routing_name TEXT NOT NULL UNIQUE,
        provider_type TEXT NOT NULL,
        base_url TEXT NOT NULL,
        encrypted_key BLOB,
        key_nonce BLOB,
        key_salt BLOB,
        enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
        fixed_models INTEGER NOT NULL DEFAULT 0 CHECK (fixed_models IN (0, 1)),
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        CHECK ((encrypted_key IS NULL) = (key_nonce IS NULL)
               AND (encrypted_key IS NULL) = (key_salt IS NULL))
      ) STRICT;
      CREATE TABLE models (
        id TEXT NOT NULL PRIMARY KEY,
        provider_id TEXT NOT NULL REFERENCES providers (id) ON DELETE CASCADE,
        model_id TEXT NOT NULL,
        enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        UNIQUE (provider_id, model_id)
      ) STRICT;
      CREATE TABLE model_failover_groups (
        id TEXT NOT NULL PRIMARY KEY,
        display_model TEXT NOT NULL UNIQUE,
        display_name TEXT NOT NULL DEFAULT '',
        description TEXT NOT NULL DEFAULT '',
        priority_order TEXT NOT NULL,
        entry_enabled TEXT NOT NULL DEFAULT '{}',
        group_enabled INTEGER NOT NULL DEFAULT 1 CHECK (group_enabled IN (0, 1)),
        auto_created INTEGER NOT NULL DEFAULT 0 CHECK (auto_created IN (0, 1)),
        auto_disabled_at TEXT,
        floor_disabled_at TEXT,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL
      ) STRICT;
    )sql"},
    Migration{"how a provider is connected to", R"sql(
      ALTER TABLE providers ADD COLUMN ca_file TEXT NOT NULL DEFAULT '';
      ALTER TABLE providers ADD COLUMN unix_socket TEXT NOT NULL DEFAULT '';
      ALTER TABLE providers ADD COLUMN http2 INTEGER NOT NULL DEFAULT 0 CHECK (http2 IN (0, 1));
      ALTER TABLE providers ADD COLUMN encrypted_proxy BLOB;
      ALTER TABLE providers ADD COLUMN proxy_nonce BLOB;
      ALTER TABLE providers ADD COLUMN proxy_salt BLOB
        CHECK ((encrypted_proxy IS NULL) = (proxy_nonce IS NULL)
               AND (encrypted_proxy IS NULL) = (proxy_salt IS NULL));
    )sql"},
    Migration{"values set at run time", R"sql(
      CREATE TABLE settings (
        key TEXT NOT NULL PRIMARY KEY,
        value TEXT NOT NULL,
        updated_at TEXT NOT NULL
      ) STRICT;
    )sql"},
    Migration{"how many requests a provider may have", R"sql(
      ALTER TABLE providers ADD COLUMN max_in_flight INTEGER
        CHECK (max_in_flight BETWEEN 1 AND 10000);
    )sql"},
    // Times are milliseconds since 1970 here: these rows are sorted and cut by time. Each index is
    // one filter; with the time behind it, it also gives the order and the range.
    Migration{"the request log", R"sql(
      CREATE TABLE request_logs (
        seq INTEGER NOT NULL PRIMARY KEY,
        request_id TEXT NOT NULL,
        model_id TEXT NOT NULL,
        resolved_model_id TEXT,
        provider_id TEXT,
        provider_name TEXT,
        virtual_key_name TEXT,
        endpoint_type TEXT NOT NULL,
        streaming INTEGER NOT NULL CHECK (streaming IN (0, 1)),
        status_code INTEGER NOT NULL,
        error_kind TEXT,
        error_message TEXT,
        failover_attempt INTEGER NOT NULL,
        duration_ms INTEGER NOT NULL,
        ttft_ms INTEGER,
        tokens_prompt INTEGER,
        tokens_completion INTEGER,
        tokens_completion_reasoning INTEGER,
        tokens_prompt_cache_hit INTEGER,
        tokens_estimated INTEGER NOT NULL CHECK (tokens_estimated IN (0, 1)),
        attempts TEXT NOT NULL,
        created_at INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX request_logs_by_time ON request_logs (created_at);
      CREATE INDEX request_logs_by_request ON request_logs (request_id);
      CREATE INDEX request_logs_by_model ON request_logs (model_id, created_at);
      CREATE INDEX request_logs_by_provider ON request_logs (provider_id, created_at);
      CREATE INDEX request_logs_by_key ON request_logs (virtual_key_name, created_at);
      CREATE INDEX request_logs_by_endpoint ON request_logs (endpoint_type, created_at);
      CREATE INDEX request_logs_by_status ON request_logs (status_code, created_at);
      CREATE INDEX request_logs_by_class ON request_logs (status_code / 100, created_at);
      CREATE TABLE request_attempts (
        log_seq INTEGER NOT NULL,
        provider_id TEXT NOT NULL,
        status INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        PRIMARY KEY (log_seq, provider_id, status)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX request_attempts_by_provider
        ON request_attempts (provider_id, created_at, log_seq);
      CREATE INDEX request_attempts_by_answer
        ON request_attempts (provider_id, status, created_at, log_seq);
      CREATE INDEX request_attempts_by_status ON request_attempts (status, created_at, log_seq);
      CREATE TABLE request_totals (
        scope TEXT NOT NULL CHECK (scope IN ('model', 'provider')),
        name TEXT NOT NULL,
        requests INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        counted_from INTEGER NOT NULL,
        last_used_at INTEGER NOT NULL,
        PRIMARY KEY (scope, name)
      ) STRICT, WITHOUT ROWID;
    )sql"},
    Migration{"which models an operator switched off", R"sql(
      ALTER TABLE models ADD COLUMN disabled_manually INTEGER NOT NULL DEFAULT 0
        CHECK (disabled_manually IN (0, 1));
    )sql"},
    // Minutes since 1970; provider '' = nobody was asked.
    Migration{"requests by the minute", R"sql(
      CREATE TABLE request_minutes (
        minute INTEGER NOT NULL,
        provider_id TEXT NOT NULL,
        requests INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        tokens_prompt INTEGER NOT NULL,
        tokens_completion INTEGER NOT NULL,
        duration_ms INTEGER NOT NULL,
        PRIMARY KEY (minute, provider_id)
      ) STRICT, WITHOUT ROWID;
    )sql"},
    // Prices are dollars per million tokens. A provider without a row was never asked.
    Migration{"what listings tell about models", R"sql(
      ALTER TABLE models ADD COLUMN name TEXT NOT NULL DEFAULT '';
      ALTER TABLE models ADD COLUMN display_name TEXT NOT NULL DEFAULT '';
      ALTER TABLE models ADD COLUMN owned_by TEXT NOT NULL DEFAULT '';
      ALTER TABLE models ADD COLUMN context_length INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE models ADD COLUMN max_output_tokens INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE models ADD COLUMN input_price REAL;
      ALTER TABLE models ADD COLUMN output_price REAL;
      ALTER TABLE models ADD COLUMN cached_input_price REAL;
      ALTER TABLE models ADD COLUMN price_customized INTEGER NOT NULL DEFAULT 0
        CHECK (price_customized IN (0, 1));
      ALTER TABLE models ADD COLUMN details TEXT NOT NULL DEFAULT '{}';
      ALTER TABLE models ADD COLUMN last_seen_at TEXT;
      ALTER TABLE models ADD COLUMN missing_scans INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE models ADD COLUMN retired_at TEXT;
      ALTER TABLE providers ADD COLUMN autodiscovery_enabled INTEGER NOT NULL DEFAULT 1
        CHECK (autodiscovery_enabled IN (0, 1));
      CREATE TABLE provider_scans (
        provider_id TEXT NOT NULL PRIMARY KEY REFERENCES providers (id) ON DELETE CASCADE,
        checked_at TEXT NOT NULL,
        succeeded_at TEXT,
        last_error TEXT NOT NULL DEFAULT '',
        stale INTEGER NOT NULL DEFAULT 0 CHECK (stale IN (0, 1)),
        suspect_scans INTEGER NOT NULL DEFAULT 0
      ) STRICT, WITHOUT ROWID;
    )sql"},
    // A row is appended and nothing else; filters are answered from the columns of many rows at a
    // time (log_segment.h). `plain`: the row itself tells all about its one attempt.
    Migration{"the request log in segments", R"sql(
      DROP INDEX request_logs_by_time;
      DROP INDEX request_logs_by_request;
      DROP INDEX request_logs_by_model;
      DROP INDEX request_logs_by_provider;
      DROP INDEX request_logs_by_key;
      DROP INDEX request_logs_by_endpoint;
      DROP INDEX request_logs_by_status;
      DROP INDEX request_logs_by_class;
      DROP INDEX request_attempts_by_provider;
      DROP INDEX request_attempts_by_answer;
      DROP INDEX request_attempts_by_status;
      ALTER TABLE request_logs ADD COLUMN virtual_key_id TEXT;
      ALTER TABLE request_logs ADD COLUMN client_ip TEXT;
      ALTER TABLE request_logs ADD COLUMN cost_nanos INTEGER;
      ALTER TABLE request_logs ADD COLUMN plain INTEGER NOT NULL DEFAULT 0
        CHECK (plain IN (0, 1));
      CREATE TABLE request_segments (
        first_seq INTEGER NOT NULL PRIMARY KEY,
        last_seq INTEGER NOT NULL,
        rows INTEGER NOT NULL,
        first_at INTEGER NOT NULL,
        last_at INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE request_columns (
        id INTEGER NOT NULL PRIMARY KEY,
        data BLOB NOT NULL
      ) STRICT;
    )sql"},
    // Money is in billionths of a dollar; days are counted from 1970, in UTC. A key's days outlive
    // the rows of the log, so that a budget does not depend on how long these are kept.
    Migration{"virtual keys and what they used", R"sql(
      CREATE TABLE virtual_keys (
        id TEXT NOT NULL PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        key_hash TEXT NOT NULL UNIQUE,
        key_preview TEXT NOT NULL,
        enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
        from_file INTEGER NOT NULL DEFAULT 0 CHECK (from_file IN (0, 1)),
        rate_limit_rps INTEGER CHECK (rate_limit_rps BETWEEN 0 AND 10000),
        rate_limit_burst INTEGER CHECK (rate_limit_burst BETWEEN 1 AND 10000),
        rate_limit_tpm INTEGER CHECK (rate_limit_tpm BETWEEN 1 AND 100000000),
        allowed_providers TEXT,
        budget INTEGER CHECK (budget >= 0),
        budget_period TEXT CHECK (budget_period IN ('day', 'week', 'month')),
        requests INTEGER NOT NULL DEFAULT 0,
        tokens_prompt INTEGER NOT NULL DEFAULT 0,
        tokens_completion INTEGER NOT NULL DEFAULT 0,
        tokens_prompt_cache_hit INTEGER NOT NULL DEFAULT 0,
        tokens_completion_reasoning INTEGER NOT NULL DEFAULT 0,
        cost INTEGER NOT NULL DEFAULT 0,
        last_used_at TEXT,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        CHECK ((budget IS NULL) = (budget_period IS NULL))
      ) STRICT;
      CREATE TABLE virtual_key_days (
        key_id TEXT NOT NULL REFERENCES virtual_keys (id) ON DELETE CASCADE,
        day INTEGER NOT NULL,
        cost INTEGER NOT NULL,
        PRIMARY KEY (key_id, day)
      ) STRICT, WITHOUT ROWID;
    )sql"},
    Migration{"requests that are running", R"sql(
      CREATE TABLE running_requests (
        request_id TEXT NOT NULL PRIMARY KEY,
        model_id TEXT NOT NULL,
        virtual_key_name TEXT NOT NULL,
        virtual_key_id TEXT NOT NULL,
        client_ip TEXT NOT NULL,
        endpoint_type TEXT NOT NULL,
        streaming INTEGER NOT NULL CHECK (streaming IN (0, 1)),
        created_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
    )sql"},
};

/// The file's version; an error when it is not for this program to touch.
absl::StatusOr<std::int64_t> ReadVersion(Connection& connection, std::size_t newest) {
  absl::StatusOr<std::int64_t> version = connection.QueryInteger("PRAGMA user_version");
  if (!version.ok()) return version;
  absl::StatusOr<std::int64_t> application = connection.QueryInteger("PRAGMA application_id");
  if (!application.ok()) return application;
  if (*application != kApplicationId) {
    absl::StatusOr<std::int64_t> objects =
        connection.QueryInteger("SELECT count(*) FROM sqlite_schema");
    if (!objects.ok()) return objects;
    if (*objects != 0 || *version != 0 || *application != 0) {
      return absl::FailedPreconditionError(
          "the database file belongs to another program: name another path");
    }
  }
  if (*version < 0 || *version > static_cast<std::int64_t>(newest)) {
    return absl::FailedPreconditionError(fmt::format(
        "the database is of schema version {}, this program knows versions up to {}: use the newer "
        "program, or a backup from before its upgrade",
        *version, newest));
  }
  return version;
}

}  // namespace

std::span<const Migration> Migrations() { return kMigrations; }

absl::Status Migrate(Connection& connection, std::span<const Migration> steps) {
  for (;;) {
    absl::StatusOr<std::int64_t> version = ReadVersion(connection, steps.size());
    if (!version.ok()) return version.status();
    if (*version == static_cast<std::int64_t>(steps.size())) return absl::OkStatus();

    absl::StatusOr<Transaction> transaction = Transaction::Begin(&connection);
    if (!transaction.ok()) return transaction.status();
    // Another process may have taken this step while the lock was waited for.
    version = ReadVersion(connection, steps.size());
    if (!version.ok()) return version.status();
    if (*version == static_cast<std::int64_t>(steps.size())) return absl::OkStatus();
    absl::Status status = connection.RunScript(steps[static_cast<std::size_t>(*version)].sql);
    if (status.ok()) {
      status =
          connection.RunScript(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                           kApplicationId, *version + 1)
                                   .c_str());
    }
    if (status.ok()) status = transaction->Commit();
    if (!status.ok()) {
      return absl::Status(
          status.code(),
          fmt::format("upgrading the database to version {} ({}): {}", *version + 1,
                      steps[static_cast<std::size_t>(*version)].name,
                      std::string_view(status.message().data(), status.message().size())));
    }
  }
}

}  // namespace hotel::store
