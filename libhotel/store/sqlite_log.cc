#include "libhotel/store/sqlite_log.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hotel/log_store.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/mutex.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/database_file.h"
#include "libhotel/store/log_rows.h"
#include "libhotel/store/log_segment.h"
#include "libhotel/store/migrations.h"
#include "libhotel/store/running_requests.h"

namespace hotel {
namespace store {
namespace {

using Steady = std::chrono::steady_clock;

constexpr Duration kPurgeInterval = std::chrono::hours(1);
constexpr std::chrono::hours kKeptMinutes{24 * 8};
constexpr Duration kAskAgain = std::chrono::seconds(1);
constexpr Duration kTellInterval = std::chrono::minutes(1);

/// Gives rows to the requests that the process before left running; returns how many.
absl::StatusOr<std::size_t> CloseInterrupted(Connection& connection, LogInserter* inserter) {
  const absl::StatusOr<std::vector<RequestRecord>> records = ReadInterrupted(connection);
  if (!records.ok()) return records.status();
  if (records->empty()) return std::size_t{0};
  std::vector<LogRow> rows;
  rows.reserve(records->size());
  for (const RequestRecord& record : *records) rows.emplace_back(record).noted = true;
  if (const absl::Status status = inserter->Insert(rows); !status.ok()) return status;
  return rows.size();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteLog>> SqliteLog::Open(LogStoreOptions options,
                                                           const Clock* clock) {
  if (options.path == kMemoryPath) {
    return absl::InvalidArgumentError("the request log needs a file");
  }
  auto connection = Connection::Open(options.path, options.busy_timeout, Durability::kCheckpoint);
  if (!connection.ok()) return connection.status();
  if (absl::Status migrated = Migrate(**connection, Migrations()); !migrated.ok()) return migrated;
  // The longer pages gather in the write-ahead log, the fewer are written twice.
  if (absl::Status set = (*connection)->RunScript("PRAGMA wal_autocheckpoint = 4000"); !set.ok()) {
    return set;
  }
  absl::StatusOr<LogInserter> inserter = LogInserter::Prepare(connection->get());
  if (!inserter.ok()) return inserter.status();
  const absl::StatusOr<std::size_t> interrupted = CloseInterrupted(**connection, &*inserter);
  if (!interrupted.ok()) return interrupted.status();
  absl::StatusOr<LogRowCounts> rows = CountRows(**connection);
  if (!rows.ok()) return rows.status();
  auto reader = Connection::Open(options.path, options.busy_timeout, Durability::kCheckpoint);
  if (!reader.ok()) return reader.status();
  return std::unique_ptr<SqliteLog>(
      new SqliteLog(std::move(options), clock,
                    Writer{*std::move(connection), *std::move(inserter), *rows, *interrupted},
                    *std::move(reader)));
}

SqliteLog::SqliteLog(LogStoreOptions options, const Clock* clock, Writer writer,
                     std::unique_ptr<Connection> reader)
    : options_(std::move(options)),
      clock_(clock),
      writer_(std::move(writer)),
      loose_(writer_.rows.outside),
      reader_(std::move(reader)),
      rows_(writer_.rows.inside + writer_.rows.outside),
      thread_([this] { Run(); }) {}

void SqliteLog::Running(const RequestRecord& record) {
  base::MutexLock lock(&mutex_);
  running_.Add(record);
  wake_.notify_one();
}

void SqliteLog::Record(const RequestRecord& record) {
  LogRow row(record);
  base::MutexLock lock(&mutex_);
  ++recorded_;
  row.noted = running_.End(row.text(LogRow::kRequestId));
  if (closed_ || queue_.size() >= options_.max_waiting) {
    ++lost_;
    settled_.notify_all();
    return;
  }
  queue_.push_back(std::move(row));
  // The first one starts the clock of the batch; the last one of a full batch ends it.
  if (queue_.size() == 1 || queue_.size() == options_.max_batch) wake_.notify_one();
}

void SqliteLog::Run() {
  {
    std::size_t interrupted;
    {
      base::MutexLock lock(&writer_mutex_);
      interrupted = writer_.interrupted;
    }
    TellOfInterrupted(interrupted);
  }
  bool more = SealRows();
  for (;;) {
    if (Steady::now() >= next_purge_) PurgeByAge();
    NoteRunning();
    if (!TakeBatch(!more)) break;
    if (!batch_.empty()) WriteBatch();
    more = SealRows();
    TellOfLoss(false);
    if (!batch_.empty()) Rest();
  }
  TellOfLoss(true);
}

bool SqliteLog::TakeBatch(bool wait) {
  base::MutexLock lock(&mutex_);
  if (!batch_.empty()) return true;  // it could not be written yet
  if (!wait && queue_.empty() && !closed_) return true;
  while (queue_.empty() && !closed_) {
    const bool note = running_.HasNew();
    if (note && Steady::now() >= next_note_) return true;
    const Steady::time_point until = note ? std::min(next_purge_, next_note_) : next_purge_;
    if (wake_.wait_until(lock.native(), until) == std::cv_status::timeout) return true;
  }
  if (queue_.empty()) return false;
  const Steady::time_point until =
      Steady::now() + std::chrono::duration_cast<Steady::duration>(options_.flush_interval);
  while (queue_.size() < options_.max_batch && !closed_) {
    if (wake_.wait_until(lock.native(), until) == std::cv_status::timeout) break;
  }
  if (queue_.size() <= options_.max_batch) {
    batch_.swap(queue_);
    return true;
  }
  const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(options_.max_batch);
  batch_.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
  queue_.erase(queue_.begin(), end);
  return true;
}

void SqliteLog::WriteBatch() {
  absl::Status status;
  {
    base::MutexLock lock(&writer_mutex_);
    status = writer_.inserter.Insert(batch_);
    if (status.ok()) loose_ += static_cast<std::int64_t>(batch_.size());
  }
  if (status.ok()) {
    base::MutexLock lock(&mutex_);
    failing_ = false;
    written_ += batch_.size();
    rows_ += static_cast<std::int64_t>(batch_.size());
    batch_.clear();
    settled_.notify_all();
    return;
  }
  TellOfFailure(status);
  bool closed;
  {
    base::MutexLock lock(&mutex_);
    closed = closed_;
  }
  // What was wrong with these rows will be wrong with them later; only a lock or a full disk
  // passes.
  if (closed || !absl::IsUnavailable(status)) GiveUpBatch();
}

void SqliteLog::TellOfFailure(const absl::Status& status) {
  {
    base::MutexLock lock(&mutex_);
    if (std::exchange(failing_, true)) return;
  }
  if (options_.events == nullptr) return;
  Event event;
  event.type = "request_log.write_failed";
  event.severity = Event::Severity::kWarning;
  event.source = "request-log";
  event.message = "The request log cannot be written; rows wait in memory";
  event.metadata = {{"reason", std::string(status.message())},
                    {"rows", static_cast<std::int64_t>(batch_.size())}};
  options_.events->OnEvent(event);
}

bool SqliteLog::SealRows() {
  base::MutexLock lock(&writer_mutex_);
  if (loose_ < static_cast<std::int64_t>(kSegmentRows)) return false;
  const absl::StatusOr<std::size_t> sealed = SealSegment(*writer_.connection);
  // Filters are slower until it succeeds, behind the next batch; a disk that cannot be written is
  // told of when that cannot be.
  if (!sealed.ok()) return false;
  loose_ = *sealed == 0 ? 0 : loose_ - static_cast<std::int64_t>(*sealed);
  return loose_ >= static_cast<std::int64_t>(kSegmentRows);
}

void SqliteLog::GiveUpBatch() {
  base::MutexLock lock(&mutex_);
  lost_ += batch_.size() + (closed_ ? queue_.size() : 0);
  if (closed_) queue_.clear();
  batch_.clear();
  settled_.notify_all();
}

void SqliteLog::Rest() {
  const Steady::time_point until =
      Steady::now() + std::chrono::duration_cast<Steady::duration>(options_.retry_interval);
  base::MutexLock lock(&mutex_);
  while (!closed_ && wake_.wait_until(lock.native(), until) != std::cv_status::timeout) {
  }
}

void SqliteLog::PurgeByAge() {
  const std::optional<Duration> retention =
      options_.retention ? options_.retention() : std::optional(Duration::zero());
  next_purge_ = Steady::now() + std::chrono::duration_cast<Steady::duration>(
                                    retention ? kPurgeInterval : kAskAgain);
  if (!retention) return;
  // What cannot be deleted now is deleted an hour later.
  {
    base::MutexLock lock(&writer_mutex_);
    static_cast<void>(DeleteMinutes(*writer_.connection, clock_->WallNow() - kKeptMinutes));
  }
  if (*retention <= Duration::zero()) return;
  static_cast<void>(
      Purge(clock_->WallNow() - std::chrono::duration_cast<WallTime::duration>(*retention)));
}

void SqliteLog::NoteRunning() {
  if (!batch_.empty() || Steady::now() < next_note_) return;  // nothing can be written now
  std::vector<LogRow> rows;
  {
    base::MutexLock lock(&mutex_);
    rows = running_.TakeNew();
  }
  if (rows.empty()) return;
  absl::Status status;
  {
    base::MutexLock lock(&writer_mutex_);
    status = InsertRunning(*writer_.connection, rows);
  }
  if (status.ok()) return;
  next_note_ =
      Steady::now() + std::chrono::duration_cast<Steady::duration>(options_.retry_interval);
  base::MutexLock lock(&mutex_);
  running_.PutBack(rows);
}

void SqliteLog::TellOfInterrupted(std::size_t requests) {
  if (requests == 0 || options_.events == nullptr) return;
  Event event;
  event.type = "request_log.interrupted";
  event.severity = Event::Severity::kWarning;
  event.source = "request-log";
  event.message = "Requests were running when the process before ended; their rows say so";
  event.metadata = {{"requests", static_cast<std::int64_t>(requests)}};
  options_.events->OnEvent(event);
}

void SqliteLog::TellOfLoss(bool last) {
  std::uint64_t lost;
  {
    base::MutexLock lock(&mutex_);
    lost = lost_;
  }
  if (lost == told_lost_ || options_.events == nullptr) return;
  const Steady::time_point now = Steady::now();
  if (!last && told_at_ && now - *told_at_ < kTellInterval) return;
  told_at_ = now;
  Event event;
  event.type = "request_log.rows_lost";
  event.severity = Event::Severity::kWarning;
  event.source = "request-log";
  event.message = "Rows of the request log were lost because they could not be written";
  event.metadata = {{"rows", static_cast<std::int64_t>(lost - told_lost_)},
                    {"rows_since_start", static_cast<std::int64_t>(lost)}};
  told_lost_ = lost;
  options_.events->OnEvent(event);
}

absl::StatusOr<std::int64_t> SqliteLog::Purge(std::optional<WallTime> before) {
  std::int64_t deleted = 0;
  for (;;) {
    absl::StatusOr<std::int64_t> some;
    {
      base::MutexLock lock(&writer_mutex_);
      some = DeleteSome(*writer_.connection, before);
      if (!some.ok()) return some.status();
      if (*some == 0) {
        const absl::StatusOr<LogRowCounts> left = CountRows(*writer_.connection);
        if (left.ok()) loose_ = left->outside;
        return deleted;
      }
    }
    deleted += *some;
    base::MutexLock lock(&mutex_);
    rows_ -= *some;
  }
}

bool SqliteLog::Flush(Duration timeout) {
  const auto until = Steady::now() + std::chrono::duration_cast<Steady::duration>(timeout);
  base::MutexLock lock(&mutex_);
  const std::uint64_t recorded = recorded_;
  while (written_ + lost_ < recorded) {
    if (settled_.wait_until(lock.native(), until) == std::cv_status::timeout) {
      return written_ + lost_ >= recorded;
    }
  }
  return true;
}

LogCounts SqliteLog::counts() const noexcept {
  base::MutexLock lock(&mutex_);
  return {written_, lost_, recorded_ - written_ - lost_, failing_};
}

void SqliteLog::Close() {
  {
    base::MutexLock lock(&mutex_);
    closed_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace store

absl::StatusOr<std::unique_ptr<LogStore>> OpenLogStore(LogStoreOptions options,
                                                       const Clock* clock) {
  return store::SqliteLog::Open(std::move(options), clock);
}

}  // namespace hotel
