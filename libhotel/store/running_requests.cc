#include "libhotel/store/running_requests.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotel/request_log.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/log_row.h"
#include "libhotel/wire/endpoints.h"

namespace hotel::store {

void RunningRequests::Add(const RequestRecord& record) {
  LogRow row(record);
  std::string id(row.text(LogRow::kRequestId));
  if (entries_.try_emplace(std::move(id), Entry{std::move(row), false}).second) ++new_;
}

bool RunningRequests::End(std::string_view request_id) {
  if (entries_.empty()) return false;
  const auto it = entries_.find(request_id);
  if (it == entries_.end()) return false;
  const bool noted = it->second.noted;
  if (!noted) --new_;
  entries_.erase(it);
  return noted;
}

std::vector<LogRow> RunningRequests::TakeNew() {
  std::vector<LogRow> rows;
  if (new_ == 0) return rows;
  for (auto& [id, entry] : entries_) {
    if (entry.noted) continue;
    entry.noted = true;
    rows.push_back(entry.row);
  }
  new_ = 0;
  return rows;
}

void RunningRequests::PutBack(const std::vector<LogRow>& rows) {
  for (const LogRow& row : rows) {
    const auto it = entries_.find(row.text(LogRow::kRequestId));
    if (it == entries_.end() || !it->second.noted) continue;
    it->second.noted = false;
    ++new_;
  }
}

absl::Status InsertRunning(Connection& connection, const std::vector<LogRow>& rows) {
  absl::StatusOr<Transaction> transaction = Transaction::Begin(&connection);
  if (!transaction.ok()) return transaction.status();
  for (const LogRow& row : rows) {
    const absl::Status status = connection.Run(
        "INSERT OR REPLACE INTO running_requests (request_id, model_id, virtual_key_name,"
        " virtual_key_id, client_ip, endpoint_type, streaming, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        row.text(LogRow::kRequestId), row.text(LogRow::kModel), row.text(LogRow::kKeyName),
        row.text(LogRow::kKeyId), row.text(LogRow::kClientIp), EndpointName(row.endpoint),
        row.streaming, row.created_ms);
    if (!status.ok()) return status;
  }
  return transaction->Commit();
}

absl::Status DeleteRunning(Connection& connection, std::string_view request_id) {
  return connection.Run("DELETE FROM running_requests WHERE request_id = ?", request_id);
}

absl::StatusOr<std::vector<RequestRecord>> ReadInterrupted(Connection& connection) {
  absl::StatusOr<Statement> statement = connection.Query(
      "SELECT request_id, model_id, virtual_key_name, virtual_key_id, client_ip, endpoint_type,"
      " streaming, created_at FROM running_requests ORDER BY created_at");
  if (!statement.ok()) return statement.status();
  std::vector<RequestRecord> records;
  for (;;) {
    const absl::StatusOr<bool> row = statement->Step();
    if (!row.ok()) return row.status();
    if (!*row) return records;
    RequestRecord record;
    record.request_id = statement->Text(0);
    record.requested_model = statement->Text(1);
    record.key_name = statement->Text(2);
    record.key_id = statement->Text(3);
    record.client_ip = statement->Text(4);
    const std::string endpoint = statement->Text(5);
    for (const wire::EndpointRow& known : wire::Endpoints()) {
      if (known.name == endpoint) record.endpoint = known.endpoint;
    }
    record.streaming = statement->Integer(6) != 0;
    record.created_at = WallTime(std::chrono::milliseconds(statement->Integer(7)));
    record.error_kind = ErrorKind::kInternal;
    record.error_message = "request interrupted (stale)";
    records.push_back(std::move(record));
  }
}

}  // namespace hotel::store
