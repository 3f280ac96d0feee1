#include "libhotel/store/log_rows.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hotel/circuit_breaker.h"
#include "hotel/log_store.h"
#include "hotel/request_log.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/strings.h"
#include "libhotel/store/connection.h"
#include "libhotel/wire/json.h"

namespace hotel::store {
namespace {

constexpr std::size_t kMaxName = 256;
constexpr std::size_t kMaxMessage = 1000;
/// A request visits every member of its group at worst, and some twice.
constexpr std::size_t kMaxAttempts = 2000;

std::int64_t Milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

std::int64_t Milliseconds(WallTime time) { return time.time_since_epoch().count(); }

void Cut(std::string* text, std::size_t bytes) {
  if (text->size() > bytes) text->resize(base::TruncateUtf8(*text, bytes).size());
}

std::optional<std::string_view> Given(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

void AppendText(std::string* out, std::string_view name, std::string_view text) {
  if (!text.empty())
    fmt::format_to(std::back_inserter(*out), ",\"{}\":{}", name, wire::JsonString(text));
}

void AppendAttempt(std::string* out, const AttemptRecord& attempt) {
  fmt::format_to(std::back_inserter(*out),
                 "{{\"attempt\":{},\"provider_id\":{},\"provider\":{},\"model\":{}",
                 attempt.attempt, wire::JsonString(attempt.provider_id),
                 wire::JsonString(attempt.provider), wire::JsonString(attempt.model));
  if (attempt.status) fmt::format_to(std::back_inserter(*out), ",\"status\":{}", *attempt.status);
  AppendText(out, "error_kind", ErrorKindName(attempt.error_kind));
  AppendText(out, "detail", attempt.detail);
  AppendText(out, "rate_limit", attempt.rate_limit);
  AppendText(out, "phrase", attempt.phrase);
  fmt::format_to(std::back_inserter(*out), ",\"tries\":{},\"duration_ms\":{}", attempt.tries,
                 Milliseconds(attempt.duration));
  if (attempt.ttft) {
    fmt::format_to(std::back_inserter(*out), ",\"ttft_ms\":{}", Milliseconds(*attempt.ttft));
  }
  if (attempt.hedged) *out += ",\"hedged\":true";
  fmt::format_to(std::back_inserter(*out), ",\"breaker\":\"{}\"}}",
                 BreakerEffectName(attempt.breaker));
}

/// The attempt that served; without one, the last that reached a provider; 0 when none did.
int DecidingAttempt(const RequestRecord& record) {
  int last = 0;
  for (const AttemptRecord& attempt : record.attempts) {
    if (attempt.attempt < 0) continue;
    if (attempt.error_kind == ErrorKind::kNone && record.error_kind == ErrorKind::kNone) {
      return attempt.attempt;
    }
    last = std::max(last, attempt.attempt);
  }
  return last;
}

std::optional<std::int64_t> Ttft(const RequestRecord& record) {
  if (!record.ttft) return std::nullopt;
  return Milliseconds(*record.ttft);
}

std::optional<std::int64_t> Tokens(const RequestRecord& record, std::int64_t TokenUsage::*field) {
  if (!record.usage) return std::nullopt;
  return (*record.usage).*field;
}

std::int64_t MinuteOf(WallTime time) {
  return std::chrono::floor<std::chrono::minutes>(time).time_since_epoch().count();
}

}  // namespace

RequestRecord ForLog(const RequestRecord& record) {
  RequestRecord copy = record;
  for (std::string* name : {&copy.request_id, &copy.requested_model, &copy.resolved_model,
                            &copy.provider_id, &copy.provider, &copy.key_name}) {
    Cut(name, kMaxName);
  }
  Cut(&copy.error_message, kMaxMessage);
  if (copy.attempts.size() > kMaxAttempts) copy.attempts.resize(kMaxAttempts);
  for (AttemptRecord& attempt : copy.attempts) {
    Cut(&attempt.model, kMaxName);
    Cut(&attempt.detail, kMaxMessage);
  }
  return copy;
}

std::string EncodeAttempts(const std::vector<AttemptRecord>& attempts) {
  std::string json = "[";
  for (const AttemptRecord& attempt : attempts) {
    if (json.size() > 1) json += ',';
    AppendAttempt(&json, attempt);
  }
  return json += ']';
}

absl::StatusOr<LogInserter> LogInserter::Prepare(Connection* connection) {
  absl::StatusOr<Statement> row = connection->Query(
      "INSERT INTO request_logs (request_id, model_id, resolved_model_id, provider_id,"
      " provider_name, virtual_key_name, endpoint_type, streaming, status_code, error_kind,"
      " error_message, failover_attempt, duration_ms, ttft_ms, tokens_prompt, tokens_completion,"
      " tokens_completion_reasoning, tokens_prompt_cache_hit, tokens_estimated, attempts,"
      " created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
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

absl::Status LogInserter::Insert(const std::vector<RequestRecord>& records) {
  absl::StatusOr<Transaction> transaction = Transaction::Begin(connection_);
  if (!transaction.ok()) return transaction.status();
  Totals totals;
  for (const RequestRecord& record : records) {
    absl::Status status = InsertRow(record);
    if (status.ok()) status = InsertAttempts(record);
    if (!status.ok()) return status;
    // Only what was served counts: the names in other requests are whatever their clients wrote.
    if (!record.usage) continue;
    const std::int64_t at = Milliseconds(record.created_at);
    for (const auto& [scope, name] :
         {std::pair<std::string, std::string>{"model", record.requested_model},
          std::pair<std::string, std::string>{"provider", record.provider_id}}) {
      Total& total = totals.try_emplace({scope, name}, Total{0, 0, at, at}).first->second;
      ++total.requests;
      total.tokens += record.usage->prompt + record.usage->completion;
      total.first = std::min(total.first, at);
      total.last = std::max(total.last, at);
    }
  }
  if (absl::Status status = AddTotals(totals); !status.ok()) return status;
  if (absl::Status status = AddMinutes(records); !status.ok()) return status;
  return transaction->Commit();
}

absl::Status LogInserter::InsertRow(const RequestRecord& record) {
  row_.Restart(record.request_id, record.requested_model, Given(record.resolved_model),
               Given(record.provider_id), Given(record.provider), Given(record.key_name),
               EndpointName(record.endpoint), record.streaming, std::int64_t{record.status},
               Given(ErrorKindName(record.error_kind)), Given(record.error_message),
               std::int64_t{DecidingAttempt(record)}, Milliseconds(record.duration), Ttft(record),
               Tokens(record, &TokenUsage::prompt), Tokens(record, &TokenUsage::completion),
               Tokens(record, &TokenUsage::reasoning), Tokens(record, &TokenUsage::cached),
               record.usage && record.usage->estimated, EncodeAttempts(record.attempts),
               Milliseconds(record.created_at));
  return row_.RunToEnd();
}

absl::Status LogInserter::InsertAttempts(const RequestRecord& record) {
  const std::int64_t at = Milliseconds(record.created_at);
  for (const AttemptRecord& attempt : record.attempts) {
    attempt_.Restart(attempt.provider_id, std::int64_t{attempt.status.value_or(0)}, at);
    if (absl::Status status = attempt_.RunToEnd(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status LogInserter::AddTotals(const Totals& totals) {
  for (const auto& [key, total] : totals) {
    total_.Restart(key.first, key.second, total.requests, total.tokens, total.first, total.last);
    if (absl::Status status = total_.RunToEnd(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status LogInserter::AddMinutes(const std::vector<RequestRecord>& records) {
  std::map<std::pair<std::int64_t, std::string>, UsageSums> minutes;
  for (const RequestRecord& record : records) {
    UsageSums& sums = minutes[{MinuteOf(record.created_at), record.provider_id}];
    ++sums.requests;
    if (record.error_kind != ErrorKind::kNone) ++sums.failed;
    if (record.usage) {
      sums.tokens_prompt += record.usage->prompt;
      sums.tokens_completion += record.usage->completion;
    }
    sums.duration_ms += Milliseconds(record.duration);
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

absl::StatusOr<std::int64_t> DeleteOldest(Connection& connection, std::optional<WallTime> before,
                                          std::size_t limit) {
  constexpr std::string_view kOldest =
      "(SELECT seq FROM request_logs WHERE created_at < ? ORDER BY created_at, seq LIMIT ?)";
  const std::int64_t end =
      before ? Milliseconds(*before) : std::numeric_limits<std::int64_t>::max();
  const auto most = static_cast<std::int64_t>(limit);
  absl::StatusOr<Transaction> transaction = Transaction::Begin(&connection);
  if (!transaction.ok()) return transaction.status();
  absl::Status status = connection.Run(
      fmt::format("DELETE FROM request_attempts WHERE log_seq IN {}", kOldest), end, most);
  if (!status.ok()) return status;
  const std::int64_t changes = connection.total_changes();
  status =
      connection.Run(fmt::format("DELETE FROM request_logs WHERE seq IN {}", kOldest), end, most);
  if (!status.ok()) return status;
  const std::int64_t deleted = connection.total_changes() - changes;
  status = transaction->Commit();
  if (!status.ok()) return status;
  return deleted;
}

}  // namespace hotel::store
