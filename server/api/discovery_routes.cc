// The lists of models that providers keep themselves, and the groups that follow from them (facts
// j, l; seed 000, "API Reference").
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "absl/status/status.h"
#include "libhotel/base/ids.h"
#include "libhotel/base/strings.h"
#include "server/api/answers.h"
#include "server/api/route.h"
#include "server/api/waiting.h"

namespace hotel::server::api {
namespace {

/// How long a request waits for the providers it has asked; what they say later counts all the
/// same.
constexpr std::chrono::seconds kPatience{60};
constexpr std::string_view kStillAsking =
    "the scan is still running; GET /api/discovery/status tells when it has ended";

Json ValueJson(const FieldChange::Value& value) {
  if (const auto* tokens = std::get_if<std::int64_t>(&value)) return *tokens;
  if (const auto* dollars = std::get_if<double>(&value)) return *dollars;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

/// An array with what `fill` writes into an object of each item.
template <typename T, typename Fill>
Json ListOf(const std::vector<T>& items, Fill fill) {
  Json list = Json::array();
  for (const T& item : items) fill(item, &list.emplace_back(Json::object()));
  return list;
}

Json Listed(const std::vector<std::string>& model_ids, std::string_view reason) {
  return ListOf(model_ids, [reason](const std::string& id, Json* one) {
    (*one)["model_id"] = id;
    (*one)["reason"] = reason;
  });
}

Json Updated(const std::vector<ModelUpdate>& updates) {
  return ListOf(updates, [](const ModelUpdate& update, Json* one) {
    (*one)["model_id"] = update.model_id;
    (*one)["changes"] = ListOf(update.changes, [](const FieldChange& change, Json* field) {
      (*field)["field"] = change.field;
      (*field)["old"] = ValueJson(change.before);
      (*field)["new"] = ValueJson(change.after);
    });
  });
}

Json Deleted(const GroupChanges& groups) {
  return ListOf(groups.deleted, [](const GroupChanges::Deleted& group, Json* one) {
    (*one)["display_model"] = group.display_model;
    (*one)["reason"] = group.reason;
    (*one)["provider_count"] = group.provider_count;
    (*one)["provider_names"] = group.provider_names;
  });
}

Json Switched(const std::vector<GroupChanges::Switched>& groups) {
  return ListOf(groups, [](const GroupChanges::Switched& group, Json* one) {
    (*one)["display_model"] = group.display_model;
    (*one)["effective_count"] = group.effective_count;
    (*one)["reason"] = group.reason;
  });
}

Json Purged(const GroupChanges& groups) {
  return ListOf(groups.purged, [](const GroupChanges::Purged& group, Json* one) {
    (*one)["group_display_model"] = group.group_display_model;
    (*one)["pruned_model_ids"] = group.pruned_model_ids;
  });
}

Json UpdatedGroups(const GroupChanges& groups) {
  return ListOf(groups.updated, [](const GroupChanges::Updated& group, Json* one) {
    (*one)["display_model"] = group.display_model;
    if (!group.removed_model_ids.empty()) (*one)["removed_model_ids"] = group.removed_model_ids;
    if (!group.added_model_ids.empty()) (*one)["added_model_ids"] = group.added_model_ids;
  });
}

void AddSection(Json* to, const char* name, Json section) {
  if (!section.empty()) (*to)[name] = std::move(section);
}

/// What a scan changed; sections without content are left out (facts l).
Json DiffJson(const DiscoveryResult& result) {
  Json diff = Json::object();
  AddSection(&diff, "added", Listed(result.models.added, "new_model"));
  AddSection(&diff, "reenabled", Listed(result.models.reenabled, "reappeared"));
  AddSection(&diff, "disabled", Listed(result.models.disabled, "not_listed"));
  AddSection(&diff, "updated", Updated(result.models.updated));
  AddSection(&diff, "failover_deleted_groups", Deleted(result.groups));
  AddSection(&diff, "failover_updated_groups", UpdatedGroups(result.groups));
  AddSection(&diff, "failover_disabled_groups", Switched(result.groups.disabled));
  AddSection(&diff, "failover_enabled_groups", Switched(result.groups.enabled));
  AddSection(&diff, "failover_purged_entries", Purged(result.groups));
  return diff;
}

Json ResultJson(const DiscoveryResult& result) {
  Json json;
  json["provider_id"] = result.provider_id;
  json["provider_name"] = result.provider_name;
  json["success"] = result.status.ok();
  if (!result.status.ok()) {
    json["error"] = std::string(result.status.message());
    return json;
  }
  json["models_found"] = result.models_found;
  if (result.suspect) json["suspect"] = true;
  json["diff"] = DiffJson(result);
  return json;
}

/// A copy that shares nothing with those that others wait for: copies of a status count together,
/// in a library that ThreadSanitizer does not see into.
DiscoveryResult Apart(DiscoveryResult result) {
  result.status = absl::Status(result.status.code(), std::string(result.status.message()));
  return result;
}

Reply Discover(const Context& context, const Call& call) {
  if (!base::IsUuid(call.path[0])) return Refusal(400, "invalid provider id");
  const std::string id = base::Lower(call.path[0]);
  const auto provider = context.hotel->groups().Snapshot()->FindProviderById(id);
  if (provider == nullptr) return Refusal(404, "provider not found");
  const Seat seat;
  if (!seat.taken()) return Seat::None();
  auto mailbox = std::make_shared<Mailbox<DiscoveryResult>>();
  context.hotel->discovery().Refresh(
      id, [mailbox](const DiscoveryResult& result) { mailbox->Put(Apart(result)); });
  const auto result = mailbox->Wait(kPatience);
  if (!result) return Refusal(504, kStillAsking);
  if (result->status.ok()) return JsonReply(ResultJson(*result));
  if (result->provider_name.empty()) return StatusReply(result->status);  // it was not asked
  return Refusal(502, std::string(result->status.message()));
}

Reply DiscoverAll(const Context& context, const Call&) {
  using Results = std::vector<DiscoveryResult>;
  const Seat seat;
  if (!seat.taken()) return Seat::None();
  auto mailbox = std::make_shared<Mailbox<Results>>();
  context.hotel->discovery().RefreshAll([mailbox](const Results& all) {
    Results own;
    for (const DiscoveryResult& result : all) own.push_back(Apart(result));
    mailbox->Put(std::move(own));
  });
  const auto results = mailbox->Wait(kPatience);
  if (!results) return Refusal(504, kStillAsking);
  Json json;
  json["results"] = Json::array();
  for (const DiscoveryResult& result : *results) json["results"].push_back(ResultJson(result));
  return JsonReply(json);
}

Reply ShowStatus(const Context& context, const Call&) {
  const auto snapshot = context.hotel->groups().Snapshot();
  Json json;
  json["providers"] = Json::array();
  for (const ProviderDiscovery& one : context.hotel->discovery().Status()) {
    const auto provider = snapshot->FindProviderById(one.provider_id);
    if (provider == nullptr) continue;
    Json row;
    row["provider_id"] = one.provider_id;
    row["provider_name"] = provider->name;
    row["autodiscovery_enabled"] = provider->autodiscovery_enabled;
    row["state"] = DiscoveryStateName(one.state);
    row["left_out"] = one.left_out;
    row["running"] = one.running;
    row["last_checked_at"] = one.last_checked_at ? Time(*one.last_checked_at) : Json(nullptr);
    row["last_success_at"] = one.last_success_at ? Time(*one.last_success_at) : Json(nullptr);
    row["last_error"] = OrNull(one.last_error);
    row["model_count"] = one.model_count;
    row["enabled_model_count"] = one.enabled_model_count;
    row["suspect_scans"] = one.suspect_scans;
    json["providers"].push_back(std::move(row));
  }
  const auto synced = context.hotel->discovery().last_synced_at();
  json["last_synced_at"] = synced ? Time(*synced) : Json(nullptr);
  return JsonReply(json);
}

Reply Sync(const Context& context, const Call&) {
  auto synced = context.hotel->discovery().SyncGroups();
  if (absl::IsUnavailable(synced.status())) return StatusReply(synced.status());
  GroupChanges changes;
  if (synced.ok()) {
    changes = *std::move(synced);
  } else {
    changes.errors.emplace_back(std::string(synced.status().message()));
  }
  Json json;
  json["deleted_groups"] = changes.deleted.empty() ? Json(nullptr) : Deleted(changes);
  AddSection(&json, "purged_entries", Purged(changes));
  AddSection(&json, "disabled_groups", Switched(changes.disabled));
  AddSection(&json, "enabled_groups", Switched(changes.enabled));
  AddSection(&json, "sync_errors", changes.errors);
  return JsonReply(json);
}

}  // namespace

std::vector<Route> DiscoveryRoutes() {
  std::vector<Route> routes;
  routes.push_back(
      {"POST",
       "/api/providers/discover-all",
       "Ask every provider without a fixed list for its models; nothing is disabled. 503: three "
       "wait",
       DiscoverAll,
       {},
       {},
       false,
       200,
       "`results`, as for one provider; `success` false with `error` where it failed"});
  routes.push_back({"POST",
                    "/api/providers/{id}/discover",
                    "Ask a provider for its models; nothing is disabled. 502: it did not say. 503: "
                    "three wait for scans",
                    Discover,
                    {},
                    {},
                    false,
                    200,
                    "`provider_id`, `provider_name`, `success`, `models_found`, `diff`"});
  routes.push_back({"GET",
                    "/api/discovery/status",
                    "Show when each provider was asked for its models and what came of it",
                    ShowStatus,
                    {},
                    {},
                    false,
                    200,
                    "`providers`, `last_synced_at`"});
  routes.push_back({"POST",
                    "/api/failover-groups/sync",
                    "Bring the failover groups in line with the models there are",
                    Sync,
                    {},
                    {},
                    false,
                    200,
                    "`deleted_groups`, null for none; `purged_entries`, `disabled_groups`, "
                    "`enabled_groups`, `sync_errors` where there are any"});
  return routes;
}

}  // namespace hotel::server::api
