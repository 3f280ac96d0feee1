#include "libhotel/store/log_column.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hotel::store {
namespace {

// The numbers are copied as they lie in memory.
static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kMaxText = 0xFFFF;

template <typename T>
void Append(std::string* out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out->append(bytes, sizeof value);
}

template <typename T>
void AppendAll(std::string* out, const std::vector<T>& values) {
  out->append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

template <typename T>
T At(std::string_view bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

std::uint16_t Short(std::int64_t number) {
  return static_cast<std::uint16_t>(std::clamp<std::int64_t>(number, 0, 0xFFFF));
}

/// FNV-1a, folded.
std::uint32_t HashOf(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

/// What stands in front of a column: its texts.
struct PackedTexts {
  std::size_t count = 0;
  std::optional<std::uint16_t> number;  ///< of the wanted one
  std::string_view rest;                ///< what stands behind them
};

std::optional<PackedTexts> ReadTexts(std::string_view column, std::string_view wanted) {
  PackedTexts texts;
  if (column.size() < 2) return std::nullopt;
  texts.count = At<std::uint16_t>(column, 0);
  column.remove_prefix(2);
  for (std::size_t i = 0; i < texts.count; ++i) {
    if (column.size() < 2) return std::nullopt;
    const std::size_t size = At<std::uint16_t>(column, 0);
    if (column.size() < 2 + size) return std::nullopt;
    if (column.substr(2, size) == wanted) texts.number = static_cast<std::uint16_t>(i);
    column.remove_prefix(2 + size);
  }
  texts.rest = column;
  return texts;
}

bool Any(const RowMask& mask) {
  return std::any_of(mask.begin(), mask.end(), [](std::uint8_t row) { return row != 0; });
}

bool None(RowMask* mask) {
  std::fill(mask->begin(), mask->end(), std::uint8_t{0});
  return false;
}

/// Keeps the rows whose number fulfils `matches`.
template <typename T, typename Matches>
bool Keep(std::string_view numbers, RowMask* mask, Matches matches) {
  std::uint8_t any = 0;
  for (std::size_t i = 0; i < mask->size(); ++i) {
    (*mask)[i] = static_cast<std::uint8_t>((*mask)[i] & (matches(At<T>(numbers, i)) ? 1U : 0U));
    any = static_cast<std::uint8_t>(any | (*mask)[i]);
  }
  return any != 0;
}

}  // namespace

std::uint16_t TextList::NumberOf(std::string_view text) {
  text = text.substr(0, kMaxText);
  if (!numbers_.empty() && text == last_) return last_number_;
  auto found = numbers_.find(text);
  if (found == numbers_.end()) {
    found = numbers_.emplace(std::string(text), static_cast<std::uint16_t>(numbers_.size())).first;
    Append(&packed_, static_cast<std::uint16_t>(text.size()));
    packed_ += text;
  }
  last_ = text;
  last_number_ = found->second;
  return last_number_;
}

std::string TextList::Pack() const {
  std::string out;
  Append(&out, static_cast<std::uint16_t>(numbers_.size()));
  return out += packed_;
}

std::string TextColumn::Pack() const {
  std::string out = texts_.Pack();
  if (texts_.size() > 1) AppendAll(&out, rows_);
  return out;
}

void StatusColumn::Add(std::int64_t status) { rows_.push_back(Short(status)); }

std::string StatusColumn::Pack() const {
  std::string out;
  const bool one = std::all_of(rows_.begin(), rows_.end(),
                               [this](std::uint16_t row) { return row == rows_.front(); });
  if (one && !rows_.empty()) {
    Append(&out, rows_.front());
  } else {
    AppendAll(&out, rows_);
  }
  return out;
}

void AttemptColumn::Add(std::size_t row, std::string_view provider_id, std::int64_t status) {
  entries_.push_back(static_cast<std::uint16_t>(row));
  entries_.push_back(providers_.NumberOf(provider_id));
  entries_.push_back(Short(status));
}

std::string AttemptColumn::Pack() const {
  std::string out = providers_.Pack();
  AppendAll(&out, entries_);
  return out;
}

void RequestIdColumn::Add(std::string_view request_id) { rows_.push_back(HashOf(request_id)); }

std::string RequestIdColumn::Pack() const {
  std::string out;
  AppendAll(&out, rows_);
  return out;
}

void PlaceColumn::Add(std::int64_t at, std::int64_t seq) {
  if (times_.empty()) first_seq_ = seq;
  times_.push_back(at);
  numbers_.push_back(static_cast<std::uint32_t>(seq - first_seq_));
}

bool PlaceColumn::IsFar(std::int64_t seq) const {
  return !times_.empty() && seq - first_seq_ > std::numeric_limits<std::uint32_t>::max();
}

std::string PlaceColumn::Pack() const {
  std::string out;
  AppendAll(&out, times_);
  AppendAll(&out, numbers_);
  return out;
}

std::optional<bool> KeepText(std::string_view column, std::string_view value, RowMask* mask) {
  const std::optional<PackedTexts> texts = ReadTexts(column, value);
  if (!texts) return std::nullopt;
  if (texts->count > 1 && texts->rest.size() != mask->size() * sizeof(std::uint16_t)) {
    return std::nullopt;
  }
  if (!texts->number) return None(mask);
  if (texts->count == 1) return Any(*mask);
  return Keep<std::uint16_t>(texts->rest, mask, [wanted = *texts->number](std::uint16_t number) {
    return number == wanted;
  });
}

std::optional<bool> KeepStatus(std::string_view column, int wanted, int divisor, RowMask* mask) {
  const auto matches = [wanted, divisor](std::uint16_t status) {
    return status / divisor == wanted;
  };
  if (column.size() == sizeof(std::uint16_t)) {
    return matches(At<std::uint16_t>(column, 0)) ? Any(*mask) : None(mask);
  }
  if (column.size() != mask->size() * sizeof(std::uint16_t)) return std::nullopt;
  if (divisor == 1) {
    return Keep<std::uint16_t>(column, mask,
                               [wanted](std::uint16_t status) { return status == wanted; });
  }
  return Keep<std::uint16_t>(column, mask, matches);
}

std::optional<bool> KeepAttempts(std::string_view column, std::string_view provider_id,
                                 std::optional<int> status, RowMask* mask) {
  constexpr std::size_t kEntry = 3 * sizeof(std::uint16_t);
  const std::optional<PackedTexts> providers = ReadTexts(column, provider_id);
  if (!providers || providers->rest.size() % kEntry != 0) return std::nullopt;
  if (!provider_id.empty() && !providers->number) return None(mask);
  RowMask found(mask->size(), 0);
  const std::string_view entries = providers->rest;
  for (std::size_t i = 0; i < entries.size() / kEntry; ++i) {
    const std::size_t row = At<std::uint16_t>(entries, 3 * i);
    if (row >= found.size()) return std::nullopt;
    if (!provider_id.empty() && At<std::uint16_t>(entries, 3 * i + 1) != *providers->number) {
      continue;
    }
    if (status && At<std::uint16_t>(entries, 3 * i + 2) != *status) continue;
    found[row] = 1;
  }
  bool any = false;
  for (std::size_t i = 0; i < found.size(); ++i) {
    (*mask)[i] = static_cast<std::uint8_t>((*mask)[i] & found[i]);
    any = any || (*mask)[i] != 0;
  }
  return any;
}

std::optional<bool> KeepRequestId(std::string_view column, std::string_view request_id,
                                  RowMask* mask) {
  if (column.size() != mask->size() * sizeof(std::uint32_t)) return std::nullopt;
  return Keep<std::uint32_t>(
      column, mask, [wanted = HashOf(request_id)](std::uint32_t hash) { return hash == wanted; });
}

std::optional<Places> Places::Read(std::string_view column, std::size_t rows,
                                   std::int64_t first_seq) {
  const std::size_t times = rows * sizeof(std::int64_t);
  if (column.size() != times + rows * sizeof(std::uint32_t)) return std::nullopt;
  return Places(column.substr(0, times), column.substr(times), first_seq);
}

std::int64_t Places::at(std::size_t row) const { return At<std::int64_t>(times_, row); }

std::int64_t Places::seq(std::size_t row) const {
  return first_seq_ + At<std::uint32_t>(numbers_, row);
}

}  // namespace hotel::store
