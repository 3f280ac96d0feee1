// The query of a request target: `?a=1&b=two%20words`.
#ifndef SERVER_API_QUERY_H_
#define SERVER_API_QUERY_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hotel::server::api {

/// Resolves %XX, and '+' as a space when `plus`. nullopt for a broken escape.
std::optional<std::string> PercentDecode(std::string_view text, bool plus);

/// Names and values in order, decoded.
class Query {
 public:
  /// Reads what follows the '?' of `target`, if anything does. nullopt for a broken escape or a
  /// name that occurs twice.
  static std::optional<Query> Parse(std::string_view target);

  /// "" when it is not there or empty: an empty filter is no filter.
  std::string_view Get(std::string_view name) const;
  const std::vector<std::pair<std::string, std::string>>& items() const { return items_; }

 private:
  std::vector<std::pair<std::string, std::string>> items_;
};

}  // namespace hotel::server::api

#endif  // SERVER_API_QUERY_H_
