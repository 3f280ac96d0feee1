#include "server/api/query.h"

#include "libhotel/base/strings.h"

namespace hotel::server::api {
std::optional<std::string> PercentDecode(std::string_view text, bool plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 2 < text.size() ? base::HexDigit(text[i + 1]) : -1;
      const int low = high >= 0 ? base::HexDigit(text[i + 2]) : -1;
      if (low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

std::optional<Query> Query::Parse(std::string_view target) {
  Query query;
  const std::size_t mark = target.find('?');
  if (mark == std::string_view::npos) return query;
  for (const std::string_view item : base::Split(target.substr(mark + 1), '&')) {
    if (item.empty()) continue;
    const std::size_t equals = item.find('=');
    std::optional<std::string> name = PercentDecode(item.substr(0, equals), true);
    std::optional<std::string> value = PercentDecode(
        equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1), true);
    if (!name || !value) return std::nullopt;
    for (const auto& [known, unused] : query.items_) {
      if (known == *name) return std::nullopt;
    }
    query.items_.emplace_back(*std::move(name), *std::move(value));
  }
  return query;
}

std::string_view Query::Get(std::string_view name) const {
  for (const auto& [known, value] : items_) {
    if (known == name) return value;
  }
  return {};
}

}  // namespace hotel::server::api
