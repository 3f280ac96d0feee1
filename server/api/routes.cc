#include <optional>
#include <utility>

#include "libhotel/base/strings.h"
#include "server/api/route.h"

namespace hotel::server::api {
namespace {

bool IsName(std::string_view segment) { return !segment.empty() && segment.front() == '{'; }

/// The values of the pattern's names; nullopt when the path is another one.
std::optional<std::vector<std::string>> MatchPath(std::string_view pattern, std::string_view path) {
  const auto wanted = base::Split(pattern, '/');
  const auto given = base::Split(path, '/');
  if (wanted.size() != given.size()) return std::nullopt;
  std::vector<std::string> values;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!IsName(wanted[i])) {
      if (wanted[i] != given[i]) return std::nullopt;
      continue;
    }
    std::optional<std::string> value = PercentDecode(given[i], false);
    if (!value || value->empty()) return std::nullopt;
    values.push_back(*std::move(value));
  }
  return values;
}

}  // namespace

const std::vector<Route>& Routes() {
  static const std::vector<Route>* const routes = [] {
    auto* rows = new std::vector<Route>;
    for (const auto family : {CircuitRoutes, StatusRoutes, DiscoveryRoutes, GroupRoutes,
                              ProviderRoutes, ModelRoutes, KeyRoutes, SettingRoutes, AppLogRoutes,
                              LogRoutes, StatsRoutes, SystemRoutes, EventRoutes, DocumentRoutes}) {
      for (Route& row : family()) rows->push_back(std::move(row));
    }
    return rows;
  }();
  return *routes;
}

Match FindRoute(std::string_view method, std::string_view path) {
  Match match;
  std::string_view pattern;
  for (const Route& route : Routes()) {
    auto values = MatchPath(route.pattern, path);
    // Later patterns that match as well are less exact than the first.
    if (!values || (!pattern.empty() && pattern != route.pattern)) continue;
    pattern = route.pattern;
    if (!match.allow.empty()) match.allow += ", ";
    match.allow += route.method;
    if (route.method != method) continue;
    match.route = &route;
    match.path = *std::move(values);
  }
  return match;
}

}  // namespace hotel::server::api
