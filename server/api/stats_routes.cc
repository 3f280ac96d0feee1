// What requests added up to (facts j).
#include <chrono>

#include "server/api/answers.h"
#include "server/api/route.h"

namespace hotel::server::api {
namespace {

/// The sums as members of `json`.
void AddSums(const UsageSums& sums, Json* json) {
  const bool none = sums.requests == 0;
  (*json)["requests"] = sums.requests;
  (*json)["failed"] = sums.failed;
  (*json)["error_rate"] =
      none ? 0.0 : static_cast<double>(sums.failed) / static_cast<double>(sums.requests);
  (*json)["tokens_prompt"] = sums.tokens_prompt;
  (*json)["tokens_completion"] = sums.tokens_completion;
  (*json)["avg_duration_ms"] = none ? Json(nullptr) : Json(sums.duration_ms / sums.requests);
}

Reply ShowStats(const Context& context, const Call& call) {
  std::string_view period = call.query.Get("period");
  if (period.empty()) period = "24h";
  std::chrono::hours hours{0};
  if (period == "1h") hours = std::chrono::hours(1);
  if (period == "24h") hours = std::chrono::hours(24);
  if (period == "7d") hours = std::chrono::hours(24 * 7);
  if (hours.count() == 0) return Refusal(400, "period must be one of: 1h, 24h, 7d");
  const auto from =
      std::chrono::time_point_cast<WallTime::duration>(std::chrono::system_clock::now()) - hours;
  const auto rows = context.log->SumsSince(from);
  if (!rows.ok()) return StatusReply(rows.status());
  const auto snapshot = context.hotel->groups().Snapshot();
  UsageSums all;
  Json providers = Json::array();
  for (const UsageSums& row : *rows) {
    all.requests += row.requests;
    all.failed += row.failed;
    all.tokens_prompt += row.tokens_prompt;
    all.tokens_completion += row.tokens_completion;
    all.duration_ms += row.duration_ms;
    if (row.provider_id.empty()) continue;
    const auto provider = snapshot->FindProviderById(row.provider_id);
    Json json;
    json["provider_id"] = row.provider_id;
    json["provider_name"] = provider == nullptr ? Json(nullptr) : Json(provider->name);
    AddSums(row, &json);
    providers.push_back(std::move(json));
  }
  Json json;
  json["period"] = period;
  AddSums(all, &json);
  json["providers"] = std::move(providers);
  return JsonReply(json);
}

}  // namespace

std::vector<Route> StatsRoutes() {
  std::vector<Route> routes;
  routes.push_back(
      {"GET",
       "/api/stats",
       "Add up the requests of the last hour, day or week",
       ShowStats,
       {{"period", "1h, 24h (the default) or 7d, to the minute"}},
       {},
       false,
       200,
       "`period`, `requests`, `failed`, `error_rate`, `tokens_prompt`, `tokens_completion`, "
       "`avg_duration_ms`, and the same for each of `providers`"});
  return routes;
}

}  // namespace hotel::server::api
