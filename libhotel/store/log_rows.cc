#include "libhotel/store/log_rows.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "hotel/log_store.h"
#include "hotel/types.h"

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/log_row.h"
#include "libhotel/store/log_segment.h"
#include "libhotel/store/running_requests.h"

namespace hotel::store {
namespace {

/// Rows in no segment that are deleted at a time.
constexpr std::int64_t kMostDeleted = 2000;

std::int64_t Milliseconds(WallTime time) { return time.time_since_epoch().count(); }

/// NULL for what a request did not have.
std::optional<StaticText> Given(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional<StaticText>(StaticText{text});
}

std::optional<std::int64_t> Tokens(const LogRow& row, std::int64_t TokenUsage::*field) {
  if (!row.usage) return std::nullopt;
  return (*row.usage).*field;
}

std::int64_t MinuteOf(WallTime time) {
  return std::chrono::floor<std::chrono::minutes>(time).time_since_epoch().count();
}

/// What requests that were served add to a model's or a provider's total.
struct Total {
  std::int64_t requests = 0;
  std::int64_t tokens = 0;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = 0;
};

/// Deletes the rows `first` to `last` that came before `end`, with their attempts; returns how
/// many.
absl::StatusOr<std::int64_t> DeleteRows(Connection& connection, std::int64_t first,
                                        std::int64_t last, std::int64_t end) {
  absl::Status status = connection.Run(
      "DELETE FROM request_attempts WHERE log_seq IN (SELECT seq FROM request_logs"
      " WHERE seq >= ? AND seq <= ? AND created_at < ?)",
      first, last, end);
  if (!status.ok()) return status;
  const std::int64_t changes = connection.total_changes();
  status = connection.Run("DELETE FROM request_logs WHERE seq >= ? AND seq <= ? AND created_at < ?",
                          first, last, end);
  if (!status.ok()) return status;
  return connection.total_changes() - changes;
}

/// The first segment with a row that came before `end`; without rows when there is none.
absl::StatusOr<SegmentHead> FirstBefore(Connection& connection, std::int64_t end) {
  absl::StatusOr<Statement> statement = connection.Query(
      "SELECT first_seq, last_seq, rows FROM request_segments WHERE first_at < ?"
      " ORDER BY first_seq LIMIT 1",
      end);
  if (!statement.ok()) return statement.status();
  const absl::StatusOr<bool> row = statement->Step();
  if (!row.ok()) return row.status();
  SegmentHead head;
  if (!*row) return head;
  head.first_seq = statement->Integer(0);
  head.last_seq = statement->Integer(1);
  head.rows = static_cast<std::size_t>(statement->Integer(2));
  return head;
}

/// Deletes what came before `end` in one segment, and puts the rest of it together anew.
absl::StatusOr<std::int64_t> DeleteInSegment(Connection& connection, const SegmentHead& head,
                                             std::int64_t end) {
  absl::StatusOr<std::int64_t> deleted = DeleteRows(connection, head.first_seq, head.last_seq, end);
  if (!deleted.ok()) return deleted;
  absl::Status status = DeleteSegment(connection, head.first_seq);
  if (!status.ok()) return status;
  absl::StatusOr<Segment> rest = BuildSegment(connection, head.first_seq - 1, head.last_seq);
  if (!rest.ok()) return rest.status();
  if (rest->head.rows > 0) status = InsertSegment(connection, *rest);
  if (!status.ok()) return status;
  return deleted;
}

/// The same for rows that are in no segment.
absl::StatusOr<std::int64_t> DeleteBehindSegments(Connection& connection, std::int64_t end) {
  const absl::StatusOr<std::int64_t> after = LastInSegments(connection);
  if (!after.ok()) return after.status();
  absl::StatusOr<Statement> range = connection.Query(
      "SELECT min(seq), max(seq) FROM (SELECT seq FROM request_logs WHERE seq > ?"
      " AND created_at < ? ORDER BY seq LIMIT ?)",
      *after, end, kMostDeleted);
  if (!range.ok()) return range.status();
  const absl::StatusOr<bool> row = range->Step();
  if (!row.ok()) return row.status();
  if (!*row || range->IsNull(0)) return 0;
  return DeleteRows(connection, range->Integer(0), range->Integer(1), end);
}

}  // namespace

absl::StatusOr<LogInserter> LogInserter::Prepare(Connection* connection) {
  absl::StatusOr<Statement> row = connection->Query(
      "INSERT INTO request_logs (request_id, model_id, resolved_model_id, provider_id,"
      " provider_name, virtual_key_name, endpoint_type, streaming, status_code, error_kind,"
      " error_message, failover_attempt, duration_ms, ttft_ms, tokens_prompt, tokens_completion,"
      " tokens_completion_reasoning, tokens_prompt_cache_hit, tokens_estimated, attempts,"
      " created_at, virtual_key_id, client_ip, cost_nanos, plain)"
      " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  if (!row.ok()) return row.status();
  absl::StatusOr<Statement> attempt = connection->Query(
      "INSERT OR IGNORE INTO request_attempts (log_seq, provider_id, status, created_at)"
      " VALUES (last_insert_rowid(), ?, ?, ?)");
  if (!attempt.ok()) return attempt.status();
  absl::StatusOr<Statement> total = connection->Query(
      "INSERT INTO request_totals (scope, name, requests, tokens, counted_from, last_used_at)"
      " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (scope, name) DO UPDATE SET"
      " requests = requests + excluded.requests, tokens = tokens + excluded.tokens,"
      " last_used_at = max(last_used_at, excluded.last_used_at)");
  if (!total.ok()) return total.status();
  absl::StatusOr<Statement> minute = connection->Query(
      "INSERT INTO request_minutes (minute, provider_id, requests, failed, tokens_prompt,"
      " tokens_completion, duration_ms) VALUES (?, ?, ?, ?, ?, ?, ?)"
      " ON CONFLICT (minute, provider_id) DO UPDATE SET requests = requests + excluded.requests,"
      " failed = failed + excluded.failed, tokens_prompt = tokens_prompt + excluded.tokens_prompt,"
      " tokens_completion = tokens_completion + excluded.tokens_completion,"
      " duration_ms = duration_ms + excluded.duration_ms");
  if (!minute.ok()) return minute.status();
  return LogInserter(connection, *std::move(row), *std::move(attempt), *std::move(total),
                     *std::move(minute));
}

absl::Status LogInserter::Insert(const std::vector<LogRow>& rows) {
  absl::StatusOr<Transaction> transaction = Transaction::Begin(connection_);
  if (!transaction.ok()) return transaction.status();
  for (const LogRow& row : rows) {
    absl::Status status = InsertRow(row);
    if (status.ok()) status = InsertAttempts(row);
    if (status.ok() && row.noted) {
      status = DeleteRunning(*connection_, row.text(LogRow::kRequestId));
    }
    if (!status.ok()) return status;
  }
  if (absl::Status status = AddTotals(rows); !status.ok()) return status;
  if (absl::Status status = AddMinutes(rows); !status.ok()) return status;
  return transaction->Commit();
}

absl::Status LogInserter::InsertRow(const LogRow& row) {
  row_.Restart(StaticText{row.text(LogRow::kRequestId)}, StaticText{row.text(LogRow::kModel)},
               Given(row.text(LogRow::kResolvedModel)), Given(row.text(LogRow::kProviderId)),
               Given(row.text(LogRow::kProvider)), Given(row.text(LogRow::kKeyName)),
               StaticText{EndpointName(row.endpoint)}, row.streaming, std::int64_t{row.status},
               Given(ErrorKindName(row.error_kind)), Given(row.text(LogRow::kErrorMessage)),
               std::int64_t{row.deciding_attempt}, row.duration_ms, row.ttft_ms,
               Tokens(row, &TokenUsage::prompt), Tokens(row, &TokenUsage::completion),
               Tokens(row, &TokenUsage::reasoning), Tokens(row, &TokenUsage::cached),
               row.usage && row.usage->estimated, StaticText{row.text(LogRow::kAttempts)},
               row.created_ms, Given(row.text(LogRow::kKeyId)), Given(row.text(LogRow::kClientIp)),
               row.cost, row.plain);
  return row_.RunToEnd();
}

absl::Status LogInserter::InsertAttempts(const LogRow& row) {
  for (const auto& [provider_id, status] : row.attempts) {
    attempt_.Restart(provider_id, std::int64_t{status}, row.created_ms);
    if (absl::Status done = attempt_.RunToEnd(); !done.ok()) return done;
  }
  return absl::OkStatus();
}

absl::Status LogInserter::AddTotals(const std::vector<LogRow>& rows) {
  for (const auto& [scope, name] : {std::pair(std::string_view("model"), LogRow::kModel),
                                    std::pair(std::string_view("provider"), LogRow::kProviderId)}) {
    absl::flat_hash_map<std::string_view, Total> totals;
    for (const LogRow& row : rows) {
      // Only what was served counts: the names in other requests are whatever their clients wrote.
      if (!row.usage) continue;
      Total& total = totals[row.text(name)];
      ++total.requests;
      total.tokens += row.usage->prompt + row.usage->completion;
      total.first = std::min(total.first, row.created_ms);
      total.last = std::max(total.last, row.created_ms);
    }
    for (const auto& [key, total] : totals) {
      total_.Restart(scope, key, total.requests, total.tokens, total.first, total.last);
      if (absl::Status status = total_.RunToEnd(); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

absl::Status LogInserter::AddMinutes(const std::vector<LogRow>& rows) {
  std::map<std::pair<std::int64_t, std::string_view>, UsageSums> minutes;
  for (const LogRow& row : rows) {
    const std::int64_t minute = MinuteOf(WallTime(std::chrono::milliseconds(row.created_ms)));
    UsageSums& sums = minutes[{minute, row.text(LogRow::kProviderId)}];
    ++sums.requests;
    if (row.error_kind != ErrorKind::kNone) ++sums.failed;
    if (row.usage) {
      sums.tokens_prompt += row.usage->prompt;
      sums.tokens_completion += row.usage->completion;
    }
    sums.duration_ms += row.duration_ms;
  }
  for (const auto& [key, sums] : minutes) {
    minute_.Restart(key.first, key.second, sums.requests, sums.failed, sums.tokens_prompt,
                    sums.tokens_completion, sums.duration_ms);
    if (absl::Status status = minute_.RunToEnd(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status DeleteMinutes(Connection& connection, WallTime before) {
  return connection.Run("DELETE FROM request_minutes WHERE minute < ?", MinuteOf(before));
}

absl::StatusOr<std::int64_t> DeleteSome(Connection& connection, std::optional<WallTime> before) {
  const std::int64_t end =
      before ? Milliseconds(*before) : std::numeric_limits<std::int64_t>::max();
  absl::StatusOr<Transaction> transaction = Transaction::Begin(&connection);
  if (!transaction.ok()) return transaction.status();
  const absl::StatusOr<SegmentHead> head = FirstBefore(connection, end);
  if (!head.ok()) return head.status();
  absl::StatusOr<std::int64_t> deleted = head->rows > 0 ? DeleteInSegment(connection, *head, end)
                                                        : DeleteBehindSegments(connection, end);
  if (!deleted.ok()) return deleted;
  if (absl::Status status = transaction->Commit(); !status.ok()) return status;
  return deleted;
}

}  // namespace hotel::store
