// What this sidecar is and holds.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "server/api/answers.h"
#include "server/api/route.h"

namespace hotel::server::api {
namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "gcc " __VERSION__;
#endif

#ifdef NDEBUG
constexpr const char* kBuildType = "release";
#else
constexpr const char* kBuildType = "debug";
#endif

template <typename Rows, typename IsOn>
Json Count(const Rows& rows, const IsOn& is_on) {
  Json json;
  json["total"] = rows.size();
  json["enabled"] = std::count_if(rows.begin(), rows.end(), is_on);
  return json;
}

Json Counts(const Context& context) {
  const auto snapshot = context.hotel->groups().Snapshot();
  const auto keys = context.keys->Snapshot();
  Json json;
  json["providers"] =
      Count(snapshot->providers(), [](const auto& provider) { return provider->enabled; });
  json["models"] = Count(snapshot->models(), [](const Model& model) { return model.enabled; });
  json["failover_groups"] =
      Count(snapshot->groups(), [](const FailoverGroup& group) { return group.group_enabled; });
  json["virtual_keys"] =
      Count(keys->keys(), [](const VirtualKey& key) { return key.spec.enabled; });
  return json;
}

Json RequestLogJson(const LogStore& log) {
  const LogCounts counts = log.counts();
  Json json;
  json["written"] = counts.written;
  json["waiting"] = counts.waiting;
  json["lost"] = counts.lost;
  json["failing"] = counts.failing;
  return json;
}

Reply ShowSystem(const Context& context, const Call&) {
  const TimePoint now = std::chrono::steady_clock::now();
  const SystemFacts& facts = context.system;
  Json json;
  json["version"] = Hotel::Version();
  json["build"] = {{"type", kBuildType}, {"compiler", kCompiler}};
  json["started_at"] = Time(facts.started);
  json["uptime_seconds"] =
      std::chrono::duration_cast<std::chrono::seconds>(now - facts.started).count();
  json["listen"] = facts.listen;
  json["data_dir"] = facts.data_dir;
  json["config_file"] = OrNull(context.file.file);
  json["active_requests"] = context.hotel->router().active_calls();
  json["counts"] = Counts(context);
  json["request_log"] = RequestLogJson(*context.log);
  return JsonReply(json);
}

}  // namespace

std::vector<Route> SystemRoutes() {
  std::vector<Route> routes;
  routes.push_back({"GET",
                    "/api/system",
                    "Show what this sidecar is, since when it runs, and how much it holds",
                    ShowSystem,
                    {},
                    {},
                    false,
                    200,
                    "`version`, `build` (`type`, `compiler`), `started_at`, `uptime_seconds`, "
                    "`listen`, `data_dir`, `config_file`, `active_requests`, `counts` (`total` and "
                    "`enabled` of `providers`, `models`, `failover_groups`, `virtual_keys`), "
                    "`request_log` (`written`, `waiting`, `lost` rows of this run, `failing`)"});
  return routes;
}

}  // namespace hotel::server::api
