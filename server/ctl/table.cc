#include "server/ctl/table.h"

#include <algorithm>

#include "libhotel/base/strings.h"

namespace hotel::ctl {
namespace {

/// Characters, for the width: a continuation byte of UTF-8 takes no room.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t length = base::Utf8Length(text);
    const auto first = static_cast<unsigned char>(text.front());
    // C1 controls are two bytes, C2 80 to C2 9F.
    const bool c1 = length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    if (length == 0 || first < 0x20 || first == 0x7f || c1) {
      shown += '?';
    } else {
      shown.append(text.substr(0, length));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
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
