// What requests added up to (facts j).
#include <algorithm>
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

/// A time that can be asked for, and how finely it is shown as a series.
struct Period {
  std::string_view name;
  std::chrono::hours length;
  std::chrono::minutes step;
};
constexpr Period kPeriods[] = {{"1h", std::chrono::hours(1), std::chrono::minutes(1)},
                               {"24h", std::chrono::hours(24), std::chrono::minutes(15)},
                               {"7d", std::chrono::hours(24 * 7), std::chrono::hours(1)}};

/// The one of the query; null when there is no such.
const Period* PeriodOf(const Call& call) {
  std::string_view name = call.query.Get("period");
  if (name.empty()) name = "24h";
  for (const Period& period : kPeriods) {
    if (period.name == name) return &period;
  }
  return nullptr;
}

Reply NoSuchPeriod() { return Refusal(400, "period must be one of: 1h, 24h, 7d"); }

WallTime Now() {
  return std::chrono::time_point_cast<WallTime::duration>(std::chrono::system_clock::now());
}

Reply ShowStats(const Context& context, const Call& call) {
  const Period* const period = PeriodOf(call);
  if (period == nullptr) return NoSuchPeriod();
  const WallTime from = Now() - period->length;
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
  json["period"] = period->name;
  AddSums(all, &json);
  json["providers"] = std::move(providers);
  return JsonReply(json);
}

Reply ShowSeries(const Context& context, const Call& call) {
  const Period* const period = PeriodOf(call);
  if (period == nullptr) return NoSuchPeriod();
  const auto step = std::chrono::duration_cast<WallTime::duration>(period->step);
  const WallTime now = Now();
  const WallTime last = now - now.time_since_epoch() % step;
  const WallTime first = last - period->length + step;
  const auto points = context.log->SeriesSince(first, period->step);
  if (!points.ok()) return StatusReply(points.status());
  Json json;
  json["period"] = period->name;
  json["step_seconds"] = std::chrono::seconds(period->step).count();
  json["points"] = Json::array();
  auto point = points->begin();
  for (WallTime at = first; at <= last; at += step) {
    Json row;
    row["at"] = Time(at);
    const bool any = point != points->end() && point->at == at;
    AddSums(any ? point->sums : UsageSums{}, &row);
    if (any) ++point;
    json["points"].push_back(std::move(row));
  }
  return JsonReply(json);
}

Reply ShowDistribution(const Context& context, const Call& call) {
  const Period* const period = PeriodOf(call);
  if (period == nullptr) return NoSuchPeriod();
  auto rows = context.log->SumsSince(Now() - period->length);
  if (!rows.ok()) return StatusReply(rows.status());
  const auto nobody = [](const UsageSums& row) { return row.provider_id.empty(); };
  rows->erase(std::remove_if(rows->begin(), rows->end(), nobody), rows->end());
  std::stable_sort(rows->begin(), rows->end(),
                   [](const UsageSums& a, const UsageSums& b) { return a.requests > b.requests; });
  std::int64_t requests = 0;
  for (const UsageSums& row : *rows) requests += row.requests;
  const auto snapshot = context.hotel->groups().Snapshot();
  Json json;
  json["period"] = period->name;
  json["requests"] = requests;
  json["providers"] = Json::array();
  for (const UsageSums& row : *rows) {
    const auto provider = snapshot->FindProviderById(row.provider_id);
    Json each;
    each["provider_id"] = row.provider_id;
    each["provider_name"] = provider == nullptr ? Json(nullptr) : Json(provider->name);
    each["share"] = static_cast<double>(row.requests) / static_cast<double>(requests);
    AddSums(row, &each);
    json["providers"].push_back(std::move(each));
  }
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
  routes.push_back(
      {"GET",
       "/api/stats/timeseries",
       "Show the requests of the last hour, day or week as a series",
       ShowSeries,
       {{"period",
         "1h (a point for each minute), 24h (the default: quarters of an hour) or 7d "
         "(hours)"}},
       {},
       false,
       200,
       "`period`, `step_seconds`, `points` with `at` (the beginning of the step) and the sums of "
       "`/api/stats`; steps without requests are there too"});
  routes.push_back({"GET",
                    "/api/stats/provider-distribution",
                    "Show how the requests were spread over the providers",
                    ShowDistribution,
                    {{"period", "1h, 24h (the default) or 7d, to the minute"}},
                    {},
                    false,
                    200,
                    "`period`, `requests`, `providers`, the busiest first, with `provider_id`, "
                    "`provider_name`, `share` (0 to 1) and the sums of `/api/stats`"});
  return routes;
}

}  // namespace hotel::server::api
