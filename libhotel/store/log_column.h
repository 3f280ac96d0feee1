// One column of many rows of the request log, packed into bytes: for filters (log_segment.h).
//
// Numbers are little-endian. Texts are kept once each, with two bytes a row that name one; a column
// of one value has no more than that value.
#ifndef HOTEL_STORE_LOG_COLUMN_H_
#define HOTEL_STORE_LOG_COLUMN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "libhotel/base/string_hash.h"

namespace hotel::store {

/// Numbers texts in the order in which they come. Up to 65535 of them.
class TextList {
 public:
  std::uint16_t NumberOf(std::string_view text);
  std::size_t size() const { return numbers_.size(); }
  /// Their number and the texts.
  std::string Pack() const;

 private:
  absl::flat_hash_map<std::string, std::uint16_t, base::StringHash, base::StringEqual> numbers_;
  std::string packed_;
  std::string last_;  // the same text often comes again
  std::uint16_t last_number_ = 0;
};

class TextColumn {
 public:
  void Add(std::string_view text) { rows_.push_back(texts_.NumberOf(text)); }
  std::string Pack() const;

 private:
  TextList texts_;
  std::vector<std::uint16_t> rows_;
};

class StatusColumn {
 public:
  void Add(std::int64_t status);
  std::string Pack() const;

 private:
  std::vector<std::uint16_t> rows_;
};

class AttemptColumn {
 public:
  void Add(std::size_t row, std::string_view provider_id, std::int64_t status);
  /// How many were added.
  std::size_t size() const { return entries_.size() / 3; }
  std::string Pack() const;

 private:
  TextList providers_;
  std::vector<std::uint16_t> entries_;  // row, provider, status
};

class RequestIdColumn {
 public:
  void Add(std::string_view request_id);
  std::string Pack() const;

 private:
  std::vector<std::uint32_t> rows_;
};

/// Where rows stand: when their requests arrived, and their numbers.
class PlaceColumn {
 public:
  void Add(std::int64_t at, std::int64_t seq);
  std::size_t size() const { return times_.size(); }
  const std::vector<std::int64_t>& times() const { return times_; }
  /// True when a row of that number can not be added.
  bool IsFar(std::int64_t seq) const;
  std::string Pack() const;

 private:
  std::int64_t first_seq_ = 0;
  std::vector<std::int64_t> times_;
  std::vector<std::uint32_t> numbers_;  // from the first row's on
};

/// Of each row whether it is still among those that match.
using RowMask = std::vector<std::uint8_t>;

// Each of these clears the rows of `mask` that do not match and returns whether one is left;
// nullopt for bytes that are no such column.

/// `value` must not be empty: rows without one match nothing.
std::optional<bool> KeepText(std::string_view column, std::string_view value, RowMask* mask);
/// `divisor` 1 for a status, 100 for a class.
std::optional<bool> KeepStatus(std::string_view column, int wanted, int divisor, RowMask* mask);
/// Rows with one attempt that is at `provider_id` ("" = at any) and ended with `status`.
std::optional<bool> KeepAttempts(std::string_view column, std::string_view provider_id,
                                 std::optional<int> status, RowMask* mask);
/// Rows whose id may be this one.
std::optional<bool> KeepRequestId(std::string_view column, std::string_view request_id,
                                  RowMask* mask);

/// A packed PlaceColumn.
class Places {
 public:
  /// nullopt for bytes that are no such column. Views the bytes.
  static std::optional<Places> Read(std::string_view column, std::size_t rows,
                                    std::int64_t first_seq);
  std::int64_t at(std::size_t row) const;
  std::int64_t seq(std::size_t row) const;

 private:
  Places(std::string_view times, std::string_view numbers, std::int64_t first_seq)
      : times_(times), numbers_(numbers), first_seq_(first_seq) {}
  std::string_view times_;
  std::string_view numbers_;
  std::int64_t first_seq_;
};

}  // namespace hotel::store

#endif  // HOTEL_STORE_LOG_COLUMN_H_
