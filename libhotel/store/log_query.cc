#include "libhotel/store/log_query.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hotel/log_store.h"
#include "hotel/types.h"

#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"

namespace hotel::store {
namespace {

constexpr std::string_view kColumns =
    "seq, request_id, model_id, resolved_model_id, provider_id, provider_name, virtual_key_name,"
    " endpoint_type, streaming, status_code, error_kind, error_message, failover_attempt,"
    " duration_ms, ttft_ms, tokens_prompt, tokens_completion, tokens_completion_reasoning,"
    " tokens_prompt_cache_hit, tokens_estimated, attempts, created_at, virtual_key_id, client_ip,"
    " cost_nanos";

WallTime TimeAt(const Statement& statement, int column) {
  return WallTime(std::chrono::milliseconds(statement.Integer(column)));
}

LogEntry EntryOf(const Statement& statement) {
  LogEntry entry;
  entry.seq = statement.Integer(0);
  entry.request_id = statement.Text(1);
  entry.model_id = statement.Text(2);
  entry.resolved_model_id = statement.Text(3);
  entry.provider_id = statement.Text(4);
  entry.provider_name = statement.Text(5);
  entry.key_name = statement.Text(6);
  entry.endpoint = statement.Text(7);
  entry.streaming = statement.Bool(8);
  entry.status = static_cast<int>(statement.Integer(9));
  entry.error_kind = statement.Text(10);
  entry.error_message = statement.Text(11);
  entry.failover_attempt = static_cast<int>(statement.Integer(12));
  entry.duration_ms = statement.Integer(13);
  if (!statement.IsNull(14)) entry.ttft_ms = statement.Integer(14);
  if (!statement.IsNull(15)) {
    entry.usage = TokenUsage{statement.Integer(15), statement.Integer(16), statement.Integer(18),
                             statement.Integer(17), statement.Bool(19)};
  }
  entry.attempts = statement.Text(20);
  entry.created_at = TimeAt(statement, 21);
  entry.key_id = statement.Text(22);
  entry.client_ip = statement.Text(23);
  if (!statement.IsNull(24)) entry.cost = statement.Integer(24);
  return entry;
}

/// The rows with these numbers, in that order.
absl::StatusOr<std::vector<LogEntry>> ReadEntries(Connection& connection,
                                                  const std::vector<LogPlace>& places) {
  absl::StatusOr<Statement> statement = connection.Query(
      fmt::format("SELECT {} FROM request_logs WHERE seq = ?", kColumns), std::int64_t{0});
  if (!statement.ok()) return statement.status();
  std::vector<LogEntry> entries;
  entries.reserve(places.size());
  for (const LogPlace& place : places) {
    statement->Restart(place.seq);
    const absl::StatusOr<bool> row = statement->Step();
    if (!row.ok()) return row.status();
    if (!*row) return absl::DataLossError("the index of the request log names a row that is gone");
    entries.push_back(EntryOf(*statement));
  }
  return entries;
}

}  // namespace

absl::StatusOr<LogPage> ReadLog(Connection& connection, const LogWish& wish) {
  const absl::StatusOr<Transaction> moment = Transaction::BeginRead(&connection);
  if (!moment.ok()) return moment.status();
  const absl::StatusOr<LogMatches> matches = ScanLog(connection, wish);
  if (!matches.ok()) return matches.status();
  absl::StatusOr<std::vector<LogEntry>> entries = ReadEntries(connection, matches->places);
  if (!entries.ok()) return entries.status();
  return LogPage{*std::move(entries), matches->count, matches->exact};
}

bool IsEmpty(const LogFilter& filter) {
  return filter.model_id.empty() && filter.provider_id.empty() && filter.key_name.empty() &&
         filter.key_id.empty() && filter.client_ip.empty() && filter.endpoint.empty() &&
         !filter.status && !filter.status_class && !filter.from && !filter.to &&
         filter.attempt_provider_id.empty() && !filter.attempt_status;
}

absl::StatusOr<std::optional<LogEntry>> FindLogEntry(Connection& connection,
                                                     std::string_view request_id) {
  const absl::StatusOr<Transaction> moment = Transaction::BeginRead(&connection);
  if (!moment.ok()) return moment.status();
  const absl::StatusOr<std::optional<std::int64_t>> seq = FindRow(connection, request_id);
  if (!seq.ok()) return seq.status();
  if (!seq->has_value()) return std::optional<LogEntry>();
  absl::StatusOr<std::vector<LogEntry>> entries = ReadEntries(connection, {{0, **seq}});
  if (!entries.ok()) return entries.status();
  return std::optional<LogEntry>(std::move(entries->front()));
}

absl::StatusOr<std::vector<UsageTotal>> ReadTotals(Connection& connection, LogReader::Scope scope) {
  absl::StatusOr<Statement> statement = connection.Query(
      "SELECT name, requests, tokens, counted_from, last_used_at FROM request_totals"
      " WHERE scope = ? ORDER BY name",
      scope == LogReader::Scope::kModel ? "model" : "provider");
  if (!statement.ok()) return statement.status();
  std::vector<UsageTotal> totals;
  for (;;) {
    const absl::StatusOr<bool> more = statement->Step();
    if (!more.ok()) return more.status();
    if (!*more) return totals;
    totals.push_back({statement->Text(0), statement->Integer(1), statement->Integer(2),
                      TimeAt(*statement, 3), TimeAt(*statement, 4)});
  }
}

absl::StatusOr<std::vector<UsageSums>> ReadSums(Connection& connection, WallTime from) {
  absl::StatusOr<Statement> statement = connection.Query(
      "SELECT provider_id, sum(requests), sum(failed), sum(tokens_prompt), sum(tokens_completion),"
      " sum(duration_ms) FROM request_minutes WHERE minute >= ?"
      " GROUP BY provider_id ORDER BY provider_id",
      std::int64_t{std::chrono::floor<std::chrono::minutes>(from).time_since_epoch().count()});
  if (!statement.ok()) return statement.status();
  std::vector<UsageSums> all;
  for (;;) {
    const absl::StatusOr<bool> more = statement->Step();
    if (!more.ok()) return more.status();
    if (!*more) return all;
    all.push_back({statement->Text(0), statement->Integer(1), statement->Integer(2),
                   statement->Integer(3), statement->Integer(4), statement->Integer(5)});
  }
}

absl::StatusOr<std::vector<UsagePoint>> ReadSeries(Connection& connection, WallTime from,
                                                   std::chrono::minutes step) {
  absl::StatusOr<Statement> statement = connection.Query(
      "SELECT minute - minute % ? AS at, sum(requests), sum(failed), sum(tokens_prompt),"
      " sum(tokens_completion), sum(duration_ms) FROM request_minutes WHERE minute >= ?"
      " GROUP BY at ORDER BY at",
      std::int64_t{step.count()},
      std::int64_t{std::chrono::floor<std::chrono::minutes>(from).time_since_epoch().count()});
  if (!statement.ok()) return statement.status();
  std::vector<UsagePoint> points;
  for (;;) {
    const absl::StatusOr<bool> more = statement->Step();
    if (!more.ok()) return more.status();
    if (!*more) return points;
    points.push_back({WallTime(std::chrono::minutes(statement->Integer(0))),
                      {"", statement->Integer(1), statement->Integer(2), statement->Integer(3),
                       statement->Integer(4), statement->Integer(5)}});
  }
}

}  // namespace hotel::store
