#include "libhotel/store/log_scan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotel/log_store.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/log_column.h"
#include "libhotel/store/log_segment.h"

namespace hotel::store {
namespace {

absl::Status Damaged() { return absl::DataLossError("the index of the request log is damaged"); }

std::int64_t Milliseconds(WallTime time) { return time.time_since_epoch().count(); }

/// Reads a column of the segment at hand.
using ReadColumn = std::function<absl::StatusOr<std::string>(LogColumn)>;

/// One thing a filter asks of a row.
struct Condition {
  LogColumn column;
  std::function<std::optional<bool>(std::string_view, RowMask*)> keep;
};

std::vector<Condition> ConditionsOf(const LogFilter& filter) {
  std::vector<Condition> conditions;
  const auto text = [&conditions](LogColumn column, const std::string& value) {
    if (value.empty()) return;
    conditions.push_back({column, [&value](std::string_view bytes, RowMask* mask) {
                            return KeepText(bytes, value, mask);
                          }});
  };
  const auto status = [&conditions](std::optional<int> wanted, int divisor) {
    if (!wanted) return;
    conditions.push_back(
        {LogColumn::kStatus, [wanted = *wanted, divisor](std::string_view bytes, RowMask* mask) {
           return KeepStatus(bytes, wanted, divisor, mask);
         }});
  };
  text(LogColumn::kModel, filter.model_id);
  text(LogColumn::kProvider, filter.provider_id);
  text(LogColumn::kKeyName, filter.key_name);
  text(LogColumn::kKeyId, filter.key_id);
  text(LogColumn::kClientIp, filter.client_ip);
  text(LogColumn::kEndpoint, filter.endpoint);
  status(filter.status, 1);
  status(filter.status_class, 100);
  if (!filter.attempt_provider_id.empty() || filter.attempt_status) {
    conditions.push_back({LogColumn::kAttempts, [&filter](std::string_view bytes, RowMask* mask) {
                            return KeepAttempts(bytes, filter.attempt_provider_id,
                                                filter.attempt_status, mask);
                          }});
  }
  return conditions;
}

/// Collects the first rows of an order.
class Picker {
  // Here, since its type is deduced.
  auto Order() const {
    return [this](const LogPlace& a, const LogPlace& b) { return Before(a, b); };
  }

 public:
  explicit Picker(const LogWish& wish)
      : newest_(wish.order == LogOrder::kNewestFirst),
        wanted_(wish.offset + wish.limit),
        offset_(wish.offset) {}

  bool Before(const LogPlace& a, const LogPlace& b) const {
    const bool less = a.at != b.at ? a.at < b.at : a.seq < b.seq;
    return newest_ ? !less && (a.at != b.at || a.seq != b.seq) : less;
  }
  /// False when no row of the segment can be among those that are wanted.
  bool CanTake(const SegmentHead& head) const {
    if (!last_) return true;
    return newest_ ? head.last_at >= last_->at : head.first_at <= last_->at;
  }
  void Add(const LogPlace& place) {
    if (!last_ || Before(place, *last_)) places_.push_back(place);
  }
  /// Drops what is too many, now and then.
  void Shrink() {
    if (places_.size() <= wanted_ + std::min<std::size_t>(wanted_ / 2, 8192)) return;
    const auto end = places_.begin() + static_cast<std::ptrdiff_t>(wanted_);
    std::nth_element(places_.begin(), end - 1, places_.end(), Order());
    places_.erase(end, places_.end());
    last_ = places_.back();
  }
  std::vector<LogPlace> Take() {
    std::sort(places_.begin(), places_.end(), Order());
    const std::size_t begin = std::min(offset_, places_.size());
    const std::size_t end = std::min(wanted_, places_.size());
    return {places_.begin() + static_cast<std::ptrdiff_t>(begin),
            places_.begin() + static_cast<std::ptrdiff_t>(end)};
  }

 private:
  const bool newest_;
  const std::size_t wanted_;
  const std::size_t offset_;
  std::vector<LogPlace> places_;
  std::optional<LogPlace> last_;  // of as many as are wanted, when there are
};

class Scan {
 public:
  explicit Scan(const LogWish& wish)
      : wish_(wish), conditions_(ConditionsOf(*wish.filter)), picker_(wish) {
    if (wish.filter->from) from_ = Milliseconds(*wish.filter->from);
    if (wish.filter->to) to_ = Milliseconds(*wish.filter->to);
  }

  /// True when nothing in the segment, or in one behind it, is of interest any more.
  bool IsDone(const SegmentHead& head) const {
    return !picker_.CanTake(head) && (wish_.count_up_to == 0 || count_ > wish_.count_up_to);
  }

  absl::Status Take(const SegmentHead& head, const ReadColumn& read) {
    if (head.last_at < from_ || head.first_at >= to_) return absl::OkStatus();
    if (wish_.behind && !MayBeBehind(head)) return absl::OkStatus();
    mask_.assign(head.rows, 1);
    for (const Condition& condition : conditions_) {
      const absl::StatusOr<std::string> column = read(condition.column);
      if (!column.ok()) return column.status();
      const std::optional<bool> any = condition.keep(*column, &mask_);
      if (!any) return Damaged();
      if (!*any) return absl::OkStatus();
    }
    const bool cut = head.first_at < from_ || head.last_at >= to_ || wish_.behind.has_value();
    if (!cut && !picker_.CanTake(head)) {
      for (const std::uint8_t row : mask_) count_ += row;
      return absl::OkStatus();
    }
    const absl::StatusOr<std::string> column = read(LogColumn::kPlace);
    if (!column.ok()) return column.status();
    const std::optional<Places> places = Places::Read(*column, head.rows, head.first_seq);
    if (!places) return Damaged();
    for (std::size_t row = 0; row < head.rows; ++row) {
      if (mask_[row] == 0) continue;
      const LogPlace place{places->at(row), places->seq(row)};
      if (place.at < from_ || place.at >= to_) continue;
      if (wish_.behind && !picker_.Before(*wish_.behind, place)) continue;
      ++count_;
      picker_.Add(place);
    }
    picker_.Shrink();
    return absl::OkStatus();
  }

  LogMatches Finish() {
    LogMatches matches;
    matches.places = picker_.Take();
    matches.exact = count_ <= wish_.count_up_to;
    matches.count = std::min(count_, wish_.count_up_to);
    return matches;
  }

 private:
  bool MayBeBehind(const SegmentHead& head) const {
    return wish_.order == LogOrder::kNewestFirst ? head.first_at <= wish_.behind->at
                                                 : head.last_at >= wish_.behind->at;
  }

  const LogWish& wish_;
  const std::vector<Condition> conditions_;
  Picker picker_;
  std::int64_t from_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t to_ = kLastSeq;
  std::int64_t count_ = 0;
  RowMask mask_;
};

}  // namespace

absl::StatusOr<LogMatches> ScanLog(Connection& connection, const LogWish& wish) {
  absl::StatusOr<std::vector<SegmentHead>> heads = ReadSegmentHeads(connection);
  if (!heads.ok()) return heads.status();
  Scan scan(wish);
  // The rows that are in no segment yet: few, and the newest.
  std::int64_t after = heads->empty() ? 0 : heads->back().last_seq;
  for (;;) {
    const absl::StatusOr<Segment> segment = BuildSegment(connection, after, kLastSeq);
    if (!segment.ok()) return segment.status();
    if (segment->head.rows == 0) break;
    const absl::Status status = scan.Take(segment->head, [&segment](LogColumn column) {
      return segment->columns[static_cast<std::size_t>(column)];
    });
    if (!status.ok()) return status;
    after = segment->head.last_seq;
  }
  const bool newest = wish.order == LogOrder::kNewestFirst;
  std::sort(heads->begin(), heads->end(), [newest](const SegmentHead& a, const SegmentHead& b) {
    return newest ? a.last_at > b.last_at : a.first_at < b.first_at;
  });
  absl::StatusOr<ColumnReader> reader = ColumnReader::Prepare(connection);
  if (!reader.ok()) return reader.status();
  for (const SegmentHead& head : *heads) {
    if (scan.IsDone(head)) break;
    const absl::Status status = scan.Take(
        head, [&reader, &head](LogColumn column) { return reader->Read(head.first_seq, column); });
    if (!status.ok()) return status;
  }
  return scan.Finish();
}

absl::StatusOr<std::optional<std::int64_t>> FindRow(Connection& connection,
                                                    std::string_view request_id) {
  absl::StatusOr<std::vector<SegmentHead>> heads = ReadSegmentHeads(connection);
  if (!heads.ok()) return heads.status();
  absl::StatusOr<Statement> row = connection.Query(
      "SELECT seq FROM request_logs WHERE seq > ? AND request_id = ? ORDER BY seq DESC LIMIT 1",
      heads->empty() ? 0 : heads->back().last_seq, request_id);
  if (!row.ok()) return row.status();
  absl::StatusOr<bool> found = row->Step();
  if (!found.ok()) return found.status();
  if (*found) return std::optional(row->Integer(0));
  absl::StatusOr<ColumnReader> reader = ColumnReader::Prepare(connection);
  if (!reader.ok()) return reader.status();
  absl::StatusOr<Statement> check = connection.Query(
      "SELECT 1 FROM request_logs WHERE seq = ? AND request_id = ?", std::int64_t{0}, request_id);
  if (!check.ok()) return check.status();
  for (auto head = heads->rbegin(); head != heads->rend(); ++head) {
    const absl::StatusOr<std::string> column = reader->Read(head->first_seq, LogColumn::kRequestId);
    if (!column.ok()) return column.status();
    RowMask mask(head->rows, 1);
    const std::optional<bool> any = KeepRequestId(*column, request_id, &mask);
    if (!any) return Damaged();
    if (!*any) continue;
    const absl::StatusOr<std::string> bytes = reader->Read(head->first_seq, LogColumn::kPlace);
    if (!bytes.ok()) return bytes.status();
    const std::optional<Places> places = Places::Read(*bytes, head->rows, head->first_seq);
    if (!places) return Damaged();
    for (std::size_t i = head->rows; i-- > 0;) {
      if (mask[i] == 0) continue;
      // Two ids may have one hash.
      check->Restart(places->seq(i), request_id);
      found = check->Step();
      if (!found.ok()) return found.status();
      if (*found) return std::optional(places->seq(i));
    }
  }
  return std::optional<std::int64_t>();
}

}  // namespace hotel::store
