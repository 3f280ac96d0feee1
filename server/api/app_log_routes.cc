// The sidecar's own log (facts j).
#include <charconv>

#include <fmt/format.h>

#include "server/api/answers.h"
#include "server/api/route.h"
#include "server/app_log.h"

namespace hotel::server::api {
namespace {

constexpr std::uint64_t kDefaultLimit = 200;

Json LineJson(const AppLine& line) {
  Json json;
  json["id"] = line.id;
  json["timestamp"] = Time(line.at);
  json["level"] = LogLevelName(line.level);
  json["source"] = line.source;
  json["message"] = line.message;
  json["attributes"] = Json::object();
  for (const auto& [name, value] : line.attributes) {
    std::visit([&, key = name](const auto& each) { json["attributes"][key] = each; }, value);
  }
  return json;
}

bool ReadLevel(std::string_view text, LogLevel* level) {
  for (const LogLevel each :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarn, LogLevel::kError}) {
    if (text != LogLevelName(each)) continue;
    *level = each;
    return true;
  }
  return text.empty();
}

/// A whole number; `fallback` when it is not given, nullopt when it is none.
std::optional<std::uint64_t> ReadNumber(std::string_view text, std::uint64_t fallback) {
  if (text.empty()) return fallback;
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

Reply ListLines(const Context& context, const Call& call) {
  const auto limit = ReadNumber(call.query.Get("limit"), kDefaultLimit);
  if (!limit || *limit < 1 || *limit > AppLog::kKept) {
    return Refusal(400, fmt::format("limit must be a whole number from 1 to {}", AppLog::kKept));
  }
  AppLog::Filter filter;
  const auto after = ReadNumber(call.query.Get("after"), 0);
  if (!after) return Refusal(400, "after must be the id of a line");
  filter.after = *after;
  filter.source = call.query.Get("source");
  if (!ReadLevel(call.query.Get("level"), &filter.level)) {
    return Refusal(400, "level must be one of: debug, info, warn, error");
  }
  Json json;
  json["entries"] = Json::array();
  for (const AppLine& line : context.app_log->Lines(filter, *limit)) {
    json["entries"].push_back(LineJson(line));
  }
  return JsonReply(json);
}

Reply ClearLines(const Context& context, const Call&) {
  Json json;
  json["deleted"] = context.app_log->Clear();
  return JsonReply(json);
}

}  // namespace

std::vector<Route> AppLogRoutes() {
  std::vector<Route> routes;
  routes.push_back({"GET",
                    "/api/logs/app",
                    "Show the last lines of the sidecar's own log (finished requests are in "
                    "`/api/logs`)",
                    ListLines,
                    {{"limit", "1 to 1000, by default 200"},
                     {"after", "only lines behind the one with this id, oldest first"},
                     {"level", "debug, info, warn or error: this one and worse"},
                     {"source", "beginning of the source, such as `circuit-breaker`"}},
                    {},
                    false,
                    200,
                    "`entries`, oldest first, with `id`, `timestamp`, `level`, `source`, "
                    "`message`, `attributes`; the last thousand of this run are kept"});
  routes.push_back({"DELETE",
                    "/api/logs/app",
                    "Forget these lines; what was written to standard error stays",
                    ClearLines,
                    {},
                    {},
                    false,
                    200,
                    "`deleted`"});
  return routes;
}

}  // namespace hotel::server::api
