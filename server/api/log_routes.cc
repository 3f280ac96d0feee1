// The request log (facts j, m).
#include <charconv>
#include <chrono>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "hotel/key_store.h"

#include "libhotel/base/ids.h"
#include "libhotel/base/strings.h"
#include "libhotel/base/time_text.h"
#include "server/api/answers.h"
#include "server/api/route.h"

namespace hotel::server::api {
namespace {

constexpr std::size_t kDefaultPage = 50;

/// From the first output on, where that is known.
Json TokensPerSecond(const LogEntry& entry) {
  const std::int64_t milliseconds = entry.duration_ms - entry.ttft_ms.value_or(0);
  if (!entry.usage || entry.usage->completion <= 0 || milliseconds <= 0) return nullptr;
  return std::round(static_cast<double>(entry.usage->completion) * 1e5 /
                    static_cast<double>(milliseconds)) /
         100;
}

Json EntryJson(const LogEntry& entry, const KeySnapshot& keys) {
  Json json;
  json["id"] = entry.request_id;
  json["model_id"] = entry.model_id;
  json["resolved_model_id"] = OrNull(entry.resolved_model_id);
  json["provider_id"] = OrNull(entry.provider_id);
  json["provider_name"] = OrNull(entry.provider_name);
  json["virtual_key_id"] = OrNull(entry.key_id);
  json["virtual_key_name"] = OrNull(entry.key_name);
  json["virtual_key_deleted"] = !entry.key_id.empty() && keys.FindById(entry.key_id) == nullptr;
  json["client_ip"] = OrNull(entry.client_ip);
  json["endpoint_type"] = entry.endpoint;
  json["streaming"] = entry.streaming;
  json["status_code"] = entry.status;
  json["state"] = entry.error_kind.empty() ? "completed" : "failed";
  json["error_kind"] = OrNull(entry.error_kind);
  json["error_message"] = OrNull(entry.error_message);
  json["failover_attempt"] = entry.failover_attempt;
  json["duration_ms"] = entry.duration_ms;
  json["ttft_ms"] = entry.ttft_ms ? Json(*entry.ttft_ms) : Json(nullptr);
  json["tokens_per_second"] = TokensPerSecond(entry);
  json["tokens_prompt"] = nullptr;
  json["tokens_completion"] = nullptr;
  json["tokens_completion_reasoning"] = nullptr;
  json["tokens_prompt_cache_hit"] = nullptr;
  json["tokens_prompt_cache_miss"] = nullptr;
  json["tokens_estimated"] = entry.usage && entry.usage->estimated;
  if (entry.usage) {
    json["tokens_prompt"] = entry.usage->prompt;
    json["tokens_completion"] = entry.usage->completion;
    json["tokens_completion_reasoning"] = entry.usage->reasoning;
    json["tokens_prompt_cache_hit"] = entry.usage->cached;
    json["tokens_prompt_cache_miss"] = entry.usage->prompt - entry.usage->cached;
  }
  json["cost_usd"] = entry.cost ? Json(static_cast<double>(*entry.cost) / 1e9) : Json(nullptr);
  json["attempts"] = Json::parse(entry.attempts, nullptr, false);
  json["created_at"] = Time(entry.created_at);
  return json;
}

Json EntriesJson(const Context& context, const std::vector<LogEntry>& entries) {
  const std::shared_ptr<const KeySnapshot> keys = context.keys->Snapshot();
  Json list = Json::array();
  for (const LogEntry& entry : entries) list.push_back(EntryJson(entry, *keys));
  return list;
}

std::optional<std::int64_t> Number(std::string_view text) {
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

/// A whole number of the query within bounds; `fallback` when it is not given.
absl::StatusOr<std::int64_t> Bounded(const Call& call, std::string_view name, std::int64_t fallback,
                                     std::int64_t min, std::int64_t max) {
  const std::string_view text = call.query.Get(name);
  if (text.empty()) return fallback;
  const auto number = Number(text);
  if (number && *number >= min && *number <= max) return *number;
  return absl::InvalidArgumentError(
      fmt::format("{} must be a whole number from {} to {}", name, min, max));
}

absl::Status ReadTime(const Call& call, std::string_view name, std::optional<WallTime>* out) {
  const std::string_view text = call.query.Get(name);
  if (text.empty()) return absl::OkStatus();
  *out = base::ParseTime(text);
  if (out->has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{} must be a time such as 2026-09-01T10:00:00Z", name));
}

absl::Status ReadId(const Call& call, std::string_view name, std::string* out) {
  *out = base::Lower(call.query.Get(name));
  if (out->empty() || base::IsUuid(*out)) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{} must be an id (a UUID)", name));
}

absl::Status ReadStatusCode(std::string_view text, LogFilter* filter) {
  if (text.empty()) return absl::OkStatus();
  if (text.size() == 3 && text.substr(1) == "xx" && text[0] >= '1' && text[0] <= '9') {
    filter->status_class = text[0] - '0';
    return absl::OkStatus();
  }
  const auto number = Number(text);
  if (!number || *number < 0 || *number > 999) {
    return absl::InvalidArgumentError("status_code must be a status such as 429, or 4xx or 5xx");
  }
  filter->status = static_cast<int>(*number);
  return absl::OkStatus();
}

absl::StatusOr<LogFilter> ReadFilter(const Call& call) {
  LogFilter filter;
  filter.model_id = call.query.Get("model_id");
  filter.key_name = call.query.Get("virtual_key_name");
  filter.client_ip = call.query.Get("client_ip");
  filter.endpoint = call.query.Get("endpoint_type");
  for (const absl::Status& status :
       {ReadId(call, "provider_id", &filter.provider_id),
        ReadId(call, "virtual_key_id", &filter.key_id),
        ReadId(call, "attempt_provider_id", &filter.attempt_provider_id),
        ReadStatusCode(call.query.Get("status_code"), &filter),
        ReadTime(call, "from", &filter.from), ReadTime(call, "to", &filter.to)}) {
    if (!status.ok()) return status;
  }
  if (!call.query.Get("attempt_status").empty()) {
    const auto status = Bounded(call, "attempt_status", 0, 0, 999);
    if (!status.ok()) return status.status();
    filter.attempt_status = static_cast<int>(*status);
  }
  return filter;
}

Reply ListLogs(const Context& context, const Call& call) {
  const auto filter = ReadFilter(call);
  if (!filter.ok()) return StatusReply(filter.status());
  const auto most = static_cast<std::int64_t>(LogReader::kMostPerPage);
  const auto per_page = Bounded(call, "per_page", kDefaultPage, 1, most);
  if (!per_page.ok()) return StatusReply(per_page.status());
  const auto page = Bounded(call, "page", 1, 1, 1000000);
  if (!page.ok()) return StatusReply(page.status());
  const std::string_view sort = call.query.Get("sort_by");
  if (!sort.empty() && sort != "created_at") return Refusal(400, "sort_by must be created_at");
  const std::string_view way = call.query.Get("sort_dir");
  if (!way.empty() && way != "asc" && way != "desc") {
    return Refusal(400, "sort_dir must be asc or desc");
  }
  const auto result =
      context.log->Page(*filter, static_cast<std::size_t>((*page - 1) * *per_page),
                        static_cast<std::size_t>(*per_page),
                        way == "asc" ? LogOrder::kOldestFirst : LogOrder::kNewestFirst);
  if (!result.ok()) return StatusReply(result.status());
  Json json;
  json["entries"] = EntriesJson(context, result->entries);
  json["total"] = result->total;
  json["total_exact"] = result->total_exact;
  json["page"] = *page;
  json["per_page"] = *per_page;
  return JsonReply(json);
}

/// Names a row; nothing but this file reads it.
std::string CursorOf(const LogEntry& entry) {
  return fmt::format("{}-{}", entry.created_at.time_since_epoch().count(), entry.seq);
}

std::optional<LogEntry> ReadCursor(std::string_view text) {
  const std::size_t dash = text.find('-', 1);
  if (dash == std::string_view::npos) return std::nullopt;
  const auto at = Number(text.substr(0, dash));
  const auto seq = Number(text.substr(dash + 1));
  if (!at || !seq) return std::nullopt;
  LogEntry entry;
  entry.created_at = WallTime(std::chrono::milliseconds(*at));
  entry.seq = *seq;
  return entry;
}

Reply NextLogs(const Context& context, const Call& call) {
  const auto filter = ReadFilter(call);
  if (!filter.ok()) return StatusReply(filter.status());
  const auto most = static_cast<std::int64_t>(LogReader::kMostPerPage);
  const auto limit = Bounded(call, "limit", kDefaultPage, 1, most);
  if (!limit.ok()) return StatusReply(limit.status());
  const std::string_view cursor = call.query.Get("cursor");
  const std::optional<LogEntry> last = ReadCursor(cursor);
  if (!cursor.empty() && !last) return Refusal(400, "invalid cursor");
  const auto entries =
      context.log->Next(*filter, last ? &*last : nullptr, static_cast<std::size_t>(*limit));
  if (!entries.ok()) return StatusReply(entries.status());
  Json json;
  json["entries"] = EntriesJson(context, *entries);
  // A page that is not full is the last one.
  const bool more = static_cast<std::int64_t>(entries->size()) == *limit;
  json["next_cursor"] = more ? Json(CursorOf(entries->back())) : Json(nullptr);
  return JsonReply(json);
}

Reply GetLog(const Context& context, const Call& call) {
  const auto entry = context.log->Find(call.path[0]);
  if (!entry.ok()) return StatusReply(entry.status());
  if (!entry->has_value()) return Refusal(404, "log entry not found");
  return JsonReply(EntryJson(**entry, *context.keys->Snapshot()));
}

Reply PurgeLogs(const Context& context, const Call& call) {
  const auto age = call.body["older_than"].get<std::string>();
  std::optional<WallTime> before;
  if (age != "all") {
    constexpr std::pair<std::string_view, std::chrono::hours> kAges[] = {
        {"1h", std::chrono::hours(1)},
        {"1d", std::chrono::hours(24)},
        {"1w", std::chrono::hours(24 * 7)},
        {"1m", std::chrono::hours(24 * 30)}};
    const auto now =
        std::chrono::time_point_cast<WallTime::duration>(std::chrono::system_clock::now());
    for (const auto& [name, hours] : kAges) {
      if (age == name) before = now - hours;
    }
    if (!before) return Refusal(400, "older_than must be one of: 1h, 1d, 1w, 1m, all");
  }
  const auto purged = context.log->Purge(before);
  return purged.ok() ? NoContent() : StatusReply(purged.status());
}

std::vector<Param> FilterParams(std::vector<Param> more) {
  std::vector<Param> params = {
      {"model_id", "as requested"},
      {"provider_id", "that served, or failed last"},
      {"virtual_key_id", "id of the virtual key"},
      {"virtual_key_name", "name of the virtual key"},
      {"client_ip", "address the request came from"},
      {"endpoint_type", "chat, messages, embeddings, ..."},
      {"status_code", "429, a class such as 5xx, or 0"},
      {"from", "arrived at or after this time (RFC 3339)"},
      {"to", "arrived before this time"},
      {"attempt_provider_id", "with an attempt at this provider"},
      {"attempt_status", "with an attempt that was answered so; 0: without a response"},
  };
  params.insert(params.end(), more.begin(), more.end());
  return params;
}

}  // namespace

std::vector<Route> LogRoutes() {
  std::vector<Route> routes;
  routes.push_back({"GET",
                    "/api/logs",
                    "List finished requests, newest first",
                    ListLogs,
                    FilterParams({{"page", "from 1"},
                                  {"per_page", "1 to 200, default 50"},
                                  {"sort_by", "created_at"},
                                  {"sort_dir", "desc or asc"}}),
                    {},
                    false,
                    200,
                    "`entries`, `total`, `total_exact`, `page`, `per_page`"});
  routes.push_back({"GET",
                    "/api/logs/cursor",
                    "Walk over finished requests, newest first",
                    NextLogs,
                    FilterParams({{"cursor", "next_cursor of the page before"},
                                  {"limit", "1 to 200, default 50"}}),
                    {},
                    false,
                    200,
                    "`entries`, `next_cursor` (null at the end)"});
  routes.push_back({"DELETE",
                    "/api/logs/purge",
                    "Delete rows of the request log",
                    PurgeLogs,
                    {},
                    {{"older_than", FieldType::kString, "1h, 1d, 1w, 1m or all", true}},
                    false,
                    204,
                    ""});
  routes.push_back({"GET",
                    "/api/logs/{id}",
                    "Show a finished request by its id, the x-hotel-request-id of the answer",
                    GetLog,
                    {},
                    {},
                    false,
                    200,
                    "the row"});
  return routes;
}

}  // namespace hotel::server::api
