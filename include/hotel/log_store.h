// The request log in the database: written behind the requests, read by filters.
//
// Records are handed to a thread that writes them in batches, so no request waits for the disk.
// While the database is locked or its disk full they wait in memory, up to a bound; beyond it rows
// are lost, and the loss is counted and told (field reports F187, F189).
#ifndef HOTEL_LOG_STORE_H_
#define HOTEL_LOG_STORE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/clock.h"
#include "hotel/events.h"
#include "hotel/request_log.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hotel {

/// One row of the log (facts m). "" stands for what a request did not have.
struct LogEntry {
  std::int64_t seq = 0;  ///< number of the row
  std::string request_id;
  std::string model_id;           ///< as requested
  std::string resolved_model_id;  ///< "" when it equals what was asked for
  std::string provider_id;
  std::string provider_name;  ///< routing form
  std::string key_name;       ///< of the virtual key
  std::string key_id;         ///< of the virtual key
  std::string client_ip;
  std::string endpoint;  ///< EndpointName
  bool streaming = false;
  int status = 0;             ///< what the client got
  std::string error_kind;     ///< ErrorKindName
  std::string error_message;  ///< cut to 1000 bytes
  int failover_attempt = 0;   ///< index of the attempt that served, or was the last
  std::int64_t duration_ms = 0;
  std::optional<std::int64_t> ttft_ms;
  std::optional<TokenUsage> usage;
  std::optional<std::int64_t> cost;  ///< in billionths of a dollar; RequestRecord::cost
  /// JSON array of the trail: `attempt`, `provider_id`, `provider`, `model`, `tries`,
  /// `duration_ms`, `breaker`, and where there is something to say `status`, `error_kind`,
  /// `detail`, `rate_limit`, `phrase`, `ttft_ms`, `hedged`.
  std::string attempts;
  WallTime created_at{};
};

/// Which rows; every field that holds something narrows it further.
struct LogFilter {
  std::string model_id;  ///< as requested
  std::string provider_id;
  std::string key_name;
  std::string key_id;
  std::string client_ip;
  std::string endpoint;
  std::optional<int> status;
  std::optional<int> status_class;  ///< 5 for 500 to 599
  std::optional<WallTime> from;     ///< inclusive
  std::optional<WallTime> to;       ///< exclusive
  /// Rows with an attempt at this provider, with that status, or with both in one attempt; whoever
  /// served in the end. Status 0 = an attempt without a response.
  std::string attempt_provider_id;
  std::optional<int> attempt_status;
};

enum class LogOrder { kNewestFirst, kOldestFirst };

struct LogPage {
  std::vector<LogEntry> entries;
  /// Rows that match; at least so many when it is not exact. With a filter they are counted up to
  /// LogReader::kMostCounted.
  std::int64_t total = 0;
  bool total_exact = true;
};

/// What was used since counting began; outlives the purging of rows.
struct UsageTotal {
  std::string name;           ///< requested model, or provider id
  std::int64_t requests = 0;  ///< that were served
  std::int64_t tokens = 0;    ///< prompt and completion
  WallTime counted_from{};
  WallTime last_used_at{};
};

/// What requests of some time added up to, for one provider.
struct UsageSums {
  std::string provider_id;  ///< that served, or failed last; "" = nobody was asked
  std::int64_t requests = 0;
  std::int64_t failed = 0;  ///< of them, those with an error kind
  std::int64_t tokens_prompt = 0;
  std::int64_t tokens_completion = 0;
  std::int64_t duration_ms = 0;  ///< of all requests together
};

/// The same for everybody together, of the minutes from `at` on.
struct UsagePoint {
  WallTime at{};
  UsageSums sums;  ///< its provider_id is ""
};

/// Questions to the log. Thread-safe; each waits for the disk, so not on a loop. Rows that are not
/// written yet are not seen. Unavailable when the database cannot be read.
class LogReader {
 public:
  static constexpr std::size_t kMostPerPage = 200;
  static constexpr std::size_t kMostSkipped = 100000;
  static constexpr std::int64_t kMostCounted = 10000;

  virtual ~LogReader() = default;

  /// `limit` rows (1 to kMostPerPage) behind the first `offset` (up to kMostSkipped), in order of
  /// arrival of the requests. InvalidArgument beyond these bounds: to go further back there are
  /// cursors.
  virtual absl::StatusOr<LogPage> Page(const LogFilter& filter, std::size_t offset,
                                       std::size_t limit,
                                       LogOrder order = LogOrder::kNewestFirst) = 0;

  /// The next `limit` rows, newest first, behind `last`, the last row of the page before; null =
  /// from the beginning. As fast at the millionth row as at the first.
  virtual absl::StatusOr<std::vector<LogEntry>> Next(const LogFilter& filter, const LogEntry* last,
                                                     std::size_t limit) = 0;

  /// The newest row of that request; nullopt when there is none.
  virtual absl::StatusOr<std::optional<LogEntry>> Find(std::string_view request_id) = 0;

  enum class Scope { kModel, kProvider };
  virtual absl::StatusOr<std::vector<UsageTotal>> Totals(Scope scope) = 0;

  /// Sums of the requests that arrived in the minute of `from` or later, by provider; of the last
  /// eight days at most. Outlive the purging of rows.
  virtual absl::StatusOr<std::vector<UsageSums>> SumsSince(WallTime from) = 0;

  /// The same as a series: one point for each `step` (a minute or more, counted from 1970 on) in
  /// which requests arrived, in order.
  virtual absl::StatusOr<std::vector<UsagePoint>> SeriesSince(WallTime from,
                                                              std::chrono::minutes step) = 0;
};

struct LogCounts {
  std::uint64_t written = 0;
  std::uint64_t lost = 0;     ///< found no room, or could not be stored
  std::uint64_t waiting = 0;  ///< recorded and not settled
  bool failing = false;       ///< the last write failed; rows wait for the next one
};

/// The log itself. Record takes a copy and returns; everything is thread-safe.
class LogStore : public RequestLog, public LogReader {
 public:
  /// Deletes the rows of requests that came before `before`; nullopt = all. Returns how many. Waits
  /// for the disk; others write in between. Totals stay.
  virtual absl::StatusOr<std::int64_t> Purge(std::optional<WallTime> before) = 0;

  /// Waits until everything recorded before is written or lost; false when `timeout` passed first.
  virtual bool Flush(Duration timeout) = 0;

  virtual LogCounts counts() const noexcept = 0;

  /// Writes what waits, with one last try, and stops. What is recorded later is lost. Idempotent;
  /// the destructor does it.
  virtual void Close() = 0;
};

struct LogStoreOptions {
  /// The database file; usually that of the store. Created and brought up to date as by
  /// OpenSqliteStore.
  std::string path;
  /// Records that may wait in memory, a kilobyte or two each.
  std::size_t max_waiting = 10000;
  /// How long a record may wait for others to be written with it; together with max_batch what a
  /// kill can take.
  Duration flush_interval = std::chrono::milliseconds(200);
  std::size_t max_batch = 1000;
  /// Pause after a write that failed.
  Duration retry_interval = std::chrono::seconds(1);
  /// How long a write waits for another process's lock.
  Duration busy_timeout = std::chrono::seconds(5);
  /// Age at which rows are deleted, asked at the start and every hour on the writing thread; null
  /// or 0 = never; nullopt = not known yet, asked again a second later.
  std::function<std::optional<Duration>()> retention;
  /// Told `request_log.write_failed` when writing begins to fail, and `request_log.rows_lost` with
  /// the count, at most once a minute, and `request_log.interrupted` behind the opening when the
  /// process before left requests running; may be null. Must outlive the log.
  EventSink* events = nullptr;
};

/// Opens the log. `clock` (of the retention) must outlive it. Errors as OpenSqliteStore;
/// InvalidArgument for a log without a file.
absl::StatusOr<std::unique_ptr<LogStore>> OpenLogStore(LogStoreOptions options, const Clock* clock);

}  // namespace hotel

#endif  // HOTEL_LOG_STORE_H_
