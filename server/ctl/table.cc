#include "server/ctl/table.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

#include "libhotel/base/strings.h"
#include "libhotel/base/utf8.h"

namespace hotel::ctl {
namespace {

/// Characters, for the width: a continuation byte of UTF-8 takes no room.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

struct PointRange {
  std::uint32_t first;
  std::uint32_t last;
};

/// What moves the cursor, turns the order of a line around, breaks it, or is not seen at all.
constexpr PointRange kHidden[] = {
    {0x00, 0x1f},        // C0 controls, ESC among them
    {0x7f, 0x9f},        // DEL and the C1 controls
    {0xad, 0xad},        // soft hyphen
    {0x61c, 0x61c},      // Arabic letter mark
    {0x180e, 0x180e},    // Mongolian vowel separator
    {0x200b, 0x200f},    // of no width; marks of direction
    {0x2028, 0x202e},    // separators of lines and paragraphs; embeddings and overrides
    {0x2060, 0x206f},    // of no width; isolates
    {0xfeff, 0xfeff},    // byte order mark
    {0xfff9, 0xfffb},    // interlinear annotation
    {0xe0000, 0xe007f},  // tags
};

bool IsHidden(std::uint32_t point) {
  return std::any_of(std::begin(kHidden), std::end(kHidden), [point](const PointRange& range) {
    return point >= range.first && point <= range.last;
  });
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t length = base::Utf8Length(text);
    if (length == 0) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
      continue;
    }
    const std::uint32_t point = base::CodePointOf(text.substr(0, length));
    if (IsHidden(point)) {
      shown += point < 0x80      ? fmt::format("\\x{:02x}", point)
               : point < 0x10000 ? fmt::format("\\u{:04x}", point)
                                 : fmt::format("\\U{:08x}", point);
    } else {
      shown.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return shown;
}

void Table::Print(std::ostream& out) const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  std::vector<std::vector<std::string>> rows;
  for (const auto& cells : rows_) {
    rows.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      rows.back().push_back(Printable(cells[i]));
      widths[i] = std::max(widths[i], Width(rows.back().back()));
    }
  }
  for (const auto& cells : rows) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      line += cells[i];
      if (i + 1 < cells.size()) line.append(widths[i] - Width(cells[i]) + 2, ' ');
    }
    out << line << '\n';
  }
}

}  // namespace hotel::ctl
