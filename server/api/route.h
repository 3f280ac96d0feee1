// One endpoint of the admin API, as a row of a table.
//
// The table says what is called how and with what. Matching, the checks of query and body, the
// OpenAPI document and the reference page are driven by it; handlers see requests that fit.
#ifndef SERVER_API_ROUTE_H_
#define SERVER_API_ROUTE_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "server/api/context.h"
#include "server/api/query.h"
#include "server/front.h"

namespace hotel::server::api {

using Json = nlohmann::ordered_json;

/// A member of the query.
struct Param {
  std::string_view name;
  std::string_view about;
};

enum class FieldType {
  kString,
  kBool,
  kInteger,
  kNumber,
  kStrings,  ///< array of strings
  kToggles,  ///< object of booleans
};

/// A member of the body.
struct Field {
  std::string_view name;
  FieldType type;
  std::string_view about;
  bool required = false;
  bool nullable = false;
};

/// A request that fits its route.
struct Call {
  const Request* request;
  std::vector<std::string> path;  ///< values of the pattern's names, decoded, in order
  Query query;
  Json body;  ///< an object; empty when the route takes no body

  /// The member's value; null when it was not given.
  const Json* Find(std::string_view name) const {
    const auto it = body.find(std::string(name));
    return it == body.end() ? nullptr : &*it;
  }
};

struct Route {
  std::string_view method;
  std::string_view pattern;  ///< "/api/models/{id}"
  std::string_view summary;
  std::function<Reply(const Context&, const Call&)> handle;
  std::vector<Param> query;
  std::vector<Field> body;
  /// The body is an object of any names with scalar values.
  bool free_body = false;
  int success = 200;
  /// What a success answers, in words.
  std::string_view answer;
  /// Not answered by `handle` but for as long as the client listens.
  bool streams = false;

  bool takes_body() const { return free_body || !body.empty(); }
};

/// Every route, in order: where two match a path, the first one is meant.
const std::vector<Route>& Routes();

// The routes of one family each.
std::vector<Route> DiscoveryRoutes();
std::vector<Route> GroupRoutes();
std::vector<Route> CircuitRoutes();
std::vector<Route> ProviderRoutes();
std::vector<Route> ModelRoutes();
std::vector<Route> KeyRoutes();
std::vector<Route> SettingRoutes();
std::vector<Route> LogRoutes();
std::vector<Route> StatsRoutes();
std::vector<Route> StatusRoutes();
std::vector<Route> SystemRoutes();
std::vector<Route> AppLogRoutes();
std::vector<Route> EventRoutes();
std::vector<Route> DocumentRoutes();

/// What `path` leads to.
struct Match {
  const Route* route = nullptr;   ///< null: nothing, or not with this method
  std::vector<std::string> path;  ///< see Call
  std::string allow;              ///< the methods of a path that exists; "" = there is no such path
};
Match FindRoute(std::string_view method, std::string_view path);

}  // namespace hotel::server::api

#endif  // SERVER_API_ROUTE_H_
