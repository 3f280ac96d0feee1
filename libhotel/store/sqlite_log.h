// The request log behind hotel::OpenLogStore.
//
// One thread writes; it owns no connection alone, because purging, which is asked for on other
// threads, takes turns with it. Reading has a connection of its own: in a write-ahead log readers
// and the writer do not wait for each other.
#ifndef HOTEL_STORE_SQLITE_LOG_H_
#define HOTEL_STORE_SQLITE_LOG_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "hotel/clock.h"
#include "hotel/log_store.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/mutex.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/log_row.h"
#include "libhotel/store/log_rows.h"
#include "libhotel/store/log_segment.h"
#include "libhotel/store/running_requests.h"

namespace hotel::store {

class SqliteLog final : public LogStore {
 public:
  static absl::StatusOr<std::unique_ptr<SqliteLog>> Open(LogStoreOptions options,
                                                         const Clock* clock);
  ~SqliteLog() override { Close(); }

  void Running(const RequestRecord& record) override;
  void Record(const RequestRecord& record) override;
  absl::StatusOr<LogPage> Page(const LogFilter& filter, std::size_t offset, std::size_t limit,
                               LogOrder order) override;
  absl::StatusOr<std::vector<LogEntry>> Next(const LogFilter& filter, const LogEntry* last,
                                             std::size_t limit) override;
  absl::StatusOr<std::optional<LogEntry>> Find(std::string_view request_id) override;
  absl::StatusOr<std::vector<UsageTotal>> Totals(Scope scope) override;
  absl::StatusOr<std::vector<UsageSums>> SumsSince(WallTime from) override;
  absl::StatusOr<std::vector<UsagePoint>> SeriesSince(WallTime from,
                                                      std::chrono::minutes step) override;
  absl::StatusOr<std::int64_t> Purge(std::optional<WallTime> before) override;
  bool Flush(Duration timeout) override;
  LogCounts counts() const noexcept override;
  void Close() override;

 private:
  struct Writer {
    std::unique_ptr<Connection> connection;
    LogInserter inserter;
    LogRowCounts rows;            ///< when it was opened
    std::size_t interrupted = 0;  ///< requests that it found cut
  };

  SqliteLog(LogStoreOptions options, const Clock* clock, Writer writer,
            std::unique_ptr<Connection> reader);

  // The writing thread.
  void Run();
  /// Takes a batch; waits for one when `wait` is set. False when there is nothing left to do.
  bool TakeBatch(bool wait);
  /// One try; what can not succeed later is given up.
  void WriteBatch();
  /// Puts one segment's worth of rows into a segment; false when there is no more to do for now.
  bool SealRows();
  void TellOfFailure(const absl::Status& status);
  void GiveUpBatch();
  /// Waits behind a failed write; ends early when the log is closed.
  void Rest();
  void PurgeByAge();
  /// Notes the requests of which it was told that they run.
  void NoteRunning();
  /// The process before left `requests` behind.
  void TellOfInterrupted(std::size_t requests);
  void TellOfLoss(bool last);

  const LogStoreOptions options_;
  const Clock* const clock_;

  // Of the writing thread.
  std::vector<LogRow> batch_;
  std::uint64_t told_lost_ = 0;
  std::optional<std::chrono::steady_clock::time_point> told_at_;
  std::chrono::steady_clock::time_point next_purge_{};
  std::chrono::steady_clock::time_point next_note_{};  ///< a pause behind a failure

  base::Mutex writer_mutex_;
  Writer writer_ HOTEL_GUARDED_BY(writer_mutex_);
  /// Rows that are in no segment.
  std::int64_t loose_ HOTEL_GUARDED_BY(writer_mutex_);
  base::Mutex reader_mutex_;
  std::unique_ptr<Connection> reader_ HOTEL_GUARDED_BY(reader_mutex_);

  mutable base::Mutex mutex_;        // held for moments; taken last
  std::condition_variable wake_;     // there is something to write, or the log is closed
  std::condition_variable settled_;  // written_ or lost_ has grown
  std::vector<LogRow> queue_ HOTEL_GUARDED_BY(mutex_);
  RunningRequests running_ HOTEL_GUARDED_BY(mutex_);
  std::uint64_t recorded_ HOTEL_GUARDED_BY(mutex_) = 0;
  std::uint64_t written_ HOTEL_GUARDED_BY(mutex_) = 0;
  std::uint64_t lost_ HOTEL_GUARDED_BY(mutex_) = 0;
  std::int64_t rows_ HOTEL_GUARDED_BY(mutex_) = 0;
  bool failing_ HOTEL_GUARDED_BY(mutex_) = false;
  bool closed_ HOTEL_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace hotel::store

#endif  // HOTEL_STORE_SQLITE_LOG_H_
