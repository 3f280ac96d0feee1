// What filters of the request log look at, by column: tables request_segments and request_columns.
//
// An index by each filter costs more than the row it leads to. So rows are only appended, and of
// every few thousand rows that follow one another the columns that filters ask for are kept side by
// side: a filter then reads two bytes a row, of segments that hold the value at all. Rows that are
// in no segment yet are put together in memory when they are asked for.
#ifndef HOTEL_STORE_LOG_SEGMENT_H_
#define HOTEL_STORE_LOG_SEGMENT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"

namespace hotel::store {

/// Rows of a segment at most.
inline constexpr std::size_t kSegmentRows = 2048;

/// Behind the number of every row.
inline constexpr std::int64_t kLastSeq = std::numeric_limits<std::int64_t>::max();

/// The numbers are part of the format.
enum class LogColumn : std::uint8_t {
  kPlace = 0,  ///< when the request arrived, and the row's number
  kRequestId = 1,
  kModel = 2,
  kProvider = 3,
  kKeyName = 4,
  kKeyId = 5,
  kClientIp = 6,
  kEndpoint = 7,
  kStatus = 8,
  kAttempts = 9,
};
inline constexpr std::size_t kLogColumns = 10;

/// Which rows a segment is of.
struct SegmentHead {
  std::int64_t first_seq = 0;
  std::int64_t last_seq = 0;
  std::size_t rows = 0;
  std::int64_t first_at = 0;  ///< the earliest arrival, in milliseconds since 1970
  std::int64_t last_at = 0;   ///< the latest
};

struct Segment {
  SegmentHead head;
  std::array<std::string, kLogColumns> columns;
};

/// Puts the first rows behind `after` and up to `last` together, kSegmentRows at most; without rows
/// when there are none.
absl::StatusOr<Segment> BuildSegment(Connection& connection, std::int64_t after, std::int64_t last);

/// The heads that are stored, by their rows' numbers.
absl::StatusOr<std::vector<SegmentHead>> ReadSegmentHeads(Connection& connection);
/// The number behind which rows are in no segment.
absl::StatusOr<std::int64_t> LastInSegments(Connection& connection);
absl::Status InsertSegment(Connection& connection, const Segment& segment);
/// Leaves its rows alone.
absl::Status DeleteSegment(Connection& connection, std::int64_t first_seq);

/// Rows that are in segments, and rows that are in none.
struct LogRowCounts {
  std::int64_t inside = 0;
  std::int64_t outside = 0;
};
absl::StatusOr<LogRowCounts> CountRows(Connection& connection);

/// Puts the first rows that are in no segment into one, in one transaction; returns how many.
absl::StatusOr<std::size_t> SealSegment(Connection& connection);

/// Reads columns of stored segments; the statement is prepared once.
class ColumnReader {
 public:
  /// `connection` must outlive the reader.
  static absl::StatusOr<ColumnReader> Prepare(Connection& connection);
  absl::StatusOr<std::string> Read(std::int64_t first_seq, LogColumn column);

 private:
  explicit ColumnReader(Statement statement) : statement_(std::move(statement)) {}
  Statement statement_;
};

}  // namespace hotel::store

#endif  // HOTEL_STORE_LOG_SEGMENT_H_
