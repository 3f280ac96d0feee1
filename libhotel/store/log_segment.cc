#include "libhotel/store/log_segment.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/log_column.h"

namespace hotel::store {
namespace {

/// A segment ends early when its rows had more attempts than this together.
constexpr std::size_t kSegmentAttempts = 16384;
/// Numbers a segment's columns take in request_columns.
constexpr std::int64_t kColumnNumbers = 16;

std::int64_t ColumnId(std::int64_t first_seq, std::size_t column) {
  return first_seq * kColumnNumbers + static_cast<std::int64_t>(column);
}

/// The columns of a segment while rows are added.
class SegmentBuilder {
 public:
  /// `row` as BuildSegment selects it.
  void Add(const Statement& row) {
    const std::int64_t seq = row.Integer(0);
    if (places_.size() == 0) head_.first_seq = seq;
    head_.last_seq = seq;
    if (row.Bool(10)) attempts_.Add(places_.size(), row.TextView(4), row.Integer(9));
    places_.Add(row.Integer(1), seq);
    ids_.Add(row.TextView(2));
    for (std::size_t i = 0; i < kTexts; ++i) texts_[i].Add(row.TextView(3 + static_cast<int>(i)));
    statuses_.Add(row.Integer(9));
  }
  void AddAttempt(std::string_view provider_id, std::int64_t status) {
    attempts_.Add(places_.size() - 1, provider_id, status);
  }
  bool IsFull() const {
    return places_.size() >= kSegmentRows || attempts_.size() >= kSegmentAttempts;
  }
  bool IsFar(std::int64_t seq) const { return places_.IsFar(seq); }

  Segment Take() {
    Segment segment;
    segment.head = head_;
    segment.head.rows = places_.size();
    if (places_.size() == 0) return segment;
    const auto [first, last] = std::minmax_element(places_.times().begin(), places_.times().end());
    segment.head.first_at = *first;
    segment.head.last_at = *last;
    const auto set = [&segment](LogColumn column, std::string bytes) {
      segment.columns[static_cast<std::size_t>(column)] = std::move(bytes);
    };
    set(LogColumn::kPlace, places_.Pack());
    set(LogColumn::kRequestId, ids_.Pack());
    for (std::size_t i = 0; i < kTexts; ++i) {
      segment.columns[static_cast<std::size_t>(LogColumn::kModel) + i] = texts_[i].Pack();
    }
    set(LogColumn::kStatus, statuses_.Pack());
    set(LogColumn::kAttempts, attempts_.Pack());
    return segment;
  }

 private:
  static constexpr std::size_t kTexts = 6;  // from LogColumn::kModel on

  SegmentHead head_;
  PlaceColumn places_;
  RequestIdColumn ids_;
  std::array<TextColumn, kTexts> texts_;
  StatusColumn statuses_;
  AttemptColumn attempts_;
};

}  // namespace

absl::StatusOr<Segment> BuildSegment(Connection& connection, std::int64_t after,
                                     std::int64_t last) {
  absl::StatusOr<Statement> rows = connection.Query(
      "SELECT seq, created_at, request_id, model_id, provider_id, virtual_key_name, virtual_key_id,"
      " client_ip, endpoint_type, status_code, plain FROM request_logs WHERE seq > ? AND seq <= ?"
      " ORDER BY seq LIMIT ?",
      after, last, static_cast<std::int64_t>(kSegmentRows));
  if (!rows.ok()) return rows.status();
  absl::StatusOr<Statement> attempts = connection.Query(
      "SELECT log_seq, provider_id, status FROM request_attempts WHERE log_seq > ? AND log_seq <= ?"
      " ORDER BY log_seq",
      after, last);
  if (!attempts.ok()) return attempts.status();
  absl::StatusOr<bool> attempt = attempts->Step();
  if (!attempt.ok()) return attempt.status();
  SegmentBuilder builder;
  while (!builder.IsFull()) {
    const absl::StatusOr<bool> row = rows->Step();
    if (!row.ok()) return row.status();
    const std::int64_t seq = *row ? rows->Integer(0) : 0;
    if (!*row || builder.IsFar(seq)) break;
    builder.Add(*rows);
    while (*attempt && attempts->Integer(0) <= seq) {
      if (attempts->Integer(0) == seq) {
        builder.AddAttempt(attempts->TextView(1), attempts->Integer(2));
      }
      attempt = attempts->Step();
      if (!attempt.ok()) return attempt.status();
    }
  }
  return builder.Take();
}

absl::StatusOr<std::vector<SegmentHead>> ReadSegmentHeads(Connection& connection) {
  absl::StatusOr<Statement> statement = connection.Query(
      "SELECT first_seq, last_seq, rows, first_at, last_at FROM request_segments"
      " ORDER BY first_seq");
  if (!statement.ok()) return statement.status();
  std::vector<SegmentHead> heads;
  for (;;) {
    const absl::StatusOr<bool> more = statement->Step();
    if (!more.ok()) return more.status();
    if (!*more) return heads;
    const std::int64_t rows = statement->Integer(2);
    if (rows < 1 || rows > static_cast<std::int64_t>(kSegmentRows)) {
      return absl::DataLossError("the index of the request log is damaged");
    }
    heads.push_back({statement->Integer(0), statement->Integer(1), static_cast<std::size_t>(rows),
                     statement->Integer(3), statement->Integer(4)});
  }
}

absl::StatusOr<std::int64_t> LastInSegments(Connection& connection) {
  return connection.QueryInteger(
      "SELECT last_seq FROM request_segments ORDER BY first_seq DESC LIMIT 1");
}

absl::Status InsertSegment(Connection& connection, const Segment& segment) {
  const SegmentHead& head = segment.head;
  absl::Status status = connection.Run(
      "INSERT INTO request_segments (first_seq, last_seq, rows, first_at, last_at)"
      " VALUES (?, ?, ?, ?, ?)",
      head.first_seq, head.last_seq, static_cast<std::int64_t>(head.rows), head.first_at,
      head.last_at);
  for (std::size_t i = 0; status.ok() && i < segment.columns.size(); ++i) {
    status = connection.Run("INSERT INTO request_columns (id, data) VALUES (?, ?)",
                            ColumnId(head.first_seq, i), BlobView{segment.columns[i]});
  }
  return status;
}

absl::Status DeleteSegment(Connection& connection, std::int64_t first_seq) {
  absl::Status status =
      connection.Run("DELETE FROM request_segments WHERE first_seq = ?", first_seq);
  if (!status.ok()) return status;
  return connection.Run("DELETE FROM request_columns WHERE id >= ? AND id < ?",
                        ColumnId(first_seq, 0), ColumnId(first_seq + 1, 0));
}

absl::StatusOr<LogRowCounts> CountRows(Connection& connection) {
  const absl::StatusOr<std::int64_t> inside =
      connection.QueryInteger("SELECT coalesce(sum(rows), 0) FROM request_segments");
  if (!inside.ok()) return inside.status();
  const absl::StatusOr<std::int64_t> outside = connection.QueryInteger(
      "SELECT count(*) FROM request_logs WHERE seq > coalesce("
      "(SELECT last_seq FROM request_segments ORDER BY first_seq DESC LIMIT 1), 0)");
  if (!outside.ok()) return outside.status();
  return LogRowCounts{*inside, *outside};
}

absl::StatusOr<std::size_t> SealSegment(Connection& connection) {
  absl::StatusOr<Transaction> transaction = Transaction::Begin(&connection);
  if (!transaction.ok()) return transaction.status();
  const absl::StatusOr<std::int64_t> after = LastInSegments(connection);
  if (!after.ok()) return after.status();
  const absl::StatusOr<Segment> segment = BuildSegment(connection, *after, kLastSeq);
  if (!segment.ok()) return segment.status();
  if (segment->head.rows == 0) return std::size_t{0};
  absl::Status status = InsertSegment(connection, *segment);
  if (status.ok()) status = transaction->Commit();
  if (!status.ok()) return status;
  return segment->head.rows;
}

absl::StatusOr<ColumnReader> ColumnReader::Prepare(Connection& connection) {
  absl::StatusOr<Statement> statement =
      connection.Query("SELECT data FROM request_columns WHERE id = ?", std::int64_t{0});
  if (!statement.ok()) return statement.status();
  return ColumnReader(*std::move(statement));
}

absl::StatusOr<std::string> ColumnReader::Read(std::int64_t first_seq, LogColumn column) {
  statement_.Restart(ColumnId(first_seq, static_cast<std::size_t>(column)));
  const absl::StatusOr<bool> row = statement_.Step();
  if (!row.ok()) return row.status();
  // Without its row the column is empty, which no column is.
  return *row ? statement_.Bytes(0) : std::string();
}

}  // namespace hotel::store
