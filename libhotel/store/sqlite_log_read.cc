// SqliteLog: questions.
#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hotel/log_store.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/mutex.h"
#include "libhotel/store/log_query.h"
#include "libhotel/store/log_scan.h"
#include "libhotel/store/sqlite_log.h"

namespace hotel::store {
namespace {

absl::Status CheckLimit(std::size_t limit) {
  if (limit >= 1 && limit <= LogReader::kMostPerPage) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("a page holds 1 to {} rows", LogReader::kMostPerPage));
}

}  // namespace

absl::StatusOr<LogPage> SqliteLog::Page(const LogFilter& filter, std::size_t offset,
                                        std::size_t limit, LogOrder order) {
  if (absl::Status status = CheckLimit(limit); !status.ok()) return status;
  if (offset > kMostSkipped) {
    return absl::InvalidArgumentError(fmt::format(
        "pages reach back {} rows; use the cursor or a time range to go further", kMostSkipped));
  }
  LogWish wish{&filter, order, offset, limit, std::nullopt, kMostCounted};
  const bool all = IsEmpty(filter);
  if (all) wish.count_up_to = 0;
  base::MutexLock lock(&reader_mutex_);
  absl::StatusOr<LogPage> page = ReadLog(*reader_, wish);
  if (page.ok() && all) {
    base::MutexLock rows_lock(&mutex_);
    page->total = rows_;
    page->total_exact = true;
  }
  return page;
}

absl::StatusOr<std::vector<LogEntry>> SqliteLog::Next(const LogFilter& filter, const LogEntry* last,
                                                      std::size_t limit) {
  if (absl::Status status = CheckLimit(limit); !status.ok()) return status;
  LogWish wish{&filter, LogOrder::kNewestFirst, 0, limit, std::nullopt, 0};
  if (last != nullptr)
    wish.behind = LogPlace{last->created_at.time_since_epoch().count(), last->seq};
  base::MutexLock lock(&reader_mutex_);
  absl::StatusOr<LogPage> page = ReadLog(*reader_, wish);
  if (!page.ok()) return page.status();
  return std::move(page->entries);
}

absl::StatusOr<std::optional<LogEntry>> SqliteLog::Find(std::string_view request_id) {
  base::MutexLock lock(&reader_mutex_);
  return FindLogEntry(*reader_, request_id);
}

absl::StatusOr<std::vector<UsageTotal>> SqliteLog::Totals(Scope scope) {
  base::MutexLock lock(&reader_mutex_);
  return ReadTotals(*reader_, scope);
}

absl::StatusOr<std::vector<UsageSums>> SqliteLog::SumsSince(WallTime from) {
  base::MutexLock lock(&reader_mutex_);
  return ReadSums(*reader_, from);
}

absl::StatusOr<std::vector<UsagePoint>> SqliteLog::SeriesSince(WallTime from,
                                                               std::chrono::minutes step) {
  base::MutexLock lock(&reader_mutex_);
  return ReadSeries(*reader_, from, step);
}

}  // namespace hotel::store
