// Circuits: their state, and forgetting it (facts d).
#include <chrono>
#include <set>

#include "libhotel/base/ids.h"
#include "libhotel/base/strings.h"
#include "server/api/answers.h"
#include "server/api/route.h"

namespace hotel::server::api {
namespace {

TimePoint Now() { return std::chrono::steady_clock::now(); }

std::int64_t Milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

/// What is zero, false or not known is left out.
void AddState(const CircuitView& circuit, bool quota_pinned, Json* json) {
  (*json)["state"] = CircuitStateName(circuit.state);
  if (circuit.consecutive_fails != 0) (*json)["consecutive_fails"] = circuit.consecutive_fails;
  if (circuit.opened_at) (*json)["opened_at"] = Time(*circuit.opened_at);
  if (circuit.cooldown) (*json)["cooldown_ms"] = Milliseconds(*circuit.cooldown);
  if (circuit.next_retry_at) (*json)["next_retry_at"] = Time(*circuit.next_retry_at);
  if (quota_pinned) (*json)["quota_pinned"] = true;
  if (circuit.pin_source != PinSource::kNone) {
    (*json)["pin_source"] = PinSourceName(circuit.pin_source);
  }
  if (circuit.backed_off) (*json)["backed_off"] = true;
  if (circuit.failed_probes != 0) (*json)["failed_probes"] = circuit.failed_probes;
}

Json CircuitJson(const CircuitView& circuit) {
  Json json;
  json["model"] = circuit.key.model;
  AddState(circuit, circuit.quota_pinned, &json);
  if (!circuit.last_cause.empty()) json["last_cause"] = circuit.last_cause;
  if (circuit.last_status != 0) json["last_status"] = circuit.last_status;
  if (circuit.last_at) json["last_at"] = Time(*circuit.last_at);
  return json;
}

Json ProviderJson(const ProviderView& view, const GroupSnapshot& snapshot) {
  const auto provider = snapshot.FindProviderById(view.provider_id);
  Json json;
  json["provider_id"] = view.provider_id;
  json["provider_name"] = provider == nullptr ? view.provider_name : provider->name;
  AddState(view.row(), view.quota_pinned, &json);
  json["provider_open"] = view.provider_open;
  if (const auto open = view.open_models(); !open.empty()) json["open_models"] = open;
  json["circuits"] = Json::array();
  for (const CircuitView& circuit : view.circuits) json["circuits"].push_back(CircuitJson(circuit));
  return json;
}

/// Providers of group members that nothing was ever sent to: they count as closed.
int NeverRouted(const GroupSnapshot& snapshot, const std::vector<ProviderView>& views) {
  std::set<std::string> members;
  for (const FailoverGroup& group : snapshot.groups()) {
    for (const GroupEntry& entry : group.entries) {
      if (const Model* model = snapshot.FindModel(entry.model_uuid)) {
        members.insert(model->provider_id);
      }
    }
  }
  for (const ProviderView& view : views) members.erase(view.provider_id);
  return static_cast<int>(members.size());
}

Reply Status(const Context& context, const Call& call) {
  const auto snapshot = context.hotel->groups().Snapshot();
  const auto views = context.hotel->circuits().Providers(Now());
  const CircuitSummary summary = Summarize(views);
  Json json;
  json["closed"] = summary.closed + NeverRouted(*snapshot, views);
  json["half_open"] = summary.half_open;
  json["open"] = summary.open;
  if (call.query.Get("detail") == "1") {
    json["providers"] = Json::array();
    for (const ProviderView& view : views)
      json["providers"].push_back(ProviderJson(view, *snapshot));
  }
  return JsonReply(json);
}

Reply ResetAll(const Context& context, const Call&) {
  const ResetResult result = context.hotel->circuits().ResetAll(Now());
  Json json;
  json["cleared"] = result.cleared;
  json["recovered"] = result.recovered;
  return JsonReply(json);
}

Reply ResetProvider(const Context& context, const Call& call) {
  if (!base::IsUuid(call.path[0])) return Refusal(400, "invalid provider id");
  const std::string id = base::Lower(call.path[0]);
  const std::string_view model = call.query.Get("model");
  const ResetResult result = context.hotel->circuits().Reset(
      id, model.empty() ? std::nullopt : std::optional(model), Now());
  Json json;
  json["provider_id"] = id;
  json["previous_state"] = CircuitStateName(result.previous);
  json["reset"] = result.recovered > 0;
  if (!model.empty()) json["model"] = model;
  return JsonReply(json);
}

Reply ResetGroup(const Context& context, const Call& call) {
  const auto group = context.hotel->groups().Get(call.path[0]);
  if (!group.ok()) return StatusReply(group.status());
  const auto snapshot = context.hotel->groups().Snapshot();
  ResetResult sum;
  for (const GroupEntry& entry : group->entries) {
    const Model* const model = snapshot->FindModel(entry.model_uuid);
    if (model == nullptr) continue;
    const ResetResult result =
        context.hotel->circuits().Reset(model->provider_id, model->model_id, Now());
    sum.cleared += result.cleared;
    sum.recovered += result.recovered;
  }
  Json json;
  json["group_id"] = group->id;
  json["display_model"] = group->display_model;
  json["entries"] = group->entries.size();
  json["cleared"] = sum.cleared;
  json["recovered"] = sum.recovered;
  return JsonReply(json);
}

}  // namespace

std::vector<Route> CircuitRoutes() {
  std::vector<Route> routes;
  routes.push_back({"GET",
                    "/api/failover-groups/circuit-breaker-status",
                    "Count the providers by their most degraded circuit",
                    Status,
                    {{"detail", "1: also `providers` with their circuits"}},
                    {},
                    false,
                    200,
                    "`closed`, `half_open`, `open`, with detail `providers`"});
  routes.push_back(
      {"POST",
       "/api/failover-groups/circuit-breaker/reset",
       "Forget every circuit",
       ResetAll,
       {},
       {},
       false,
       200,
       "`cleared`, `recovered`: circuits forgotten, and those of them that were not closed"});
  routes.push_back({"POST",
                    "/api/failover-groups/circuit-breaker/{provider_id}/reset",
                    "Forget the circuits of a provider",
                    ResetProvider,
                    {{"model", "only the circuit of this upstream model id"}},
                    {},
                    false,
                    200,
                    "`provider_id`, `previous_state`, `reset`, with a model `model`"});
  routes.push_back({"POST",
                    "/api/failover-groups/{id}/circuit-breaker/reset",
                    "Forget the circuits of a group's members",
                    ResetGroup,
                    {},
                    {},
                    false,
                    200,
                    "`group_id`, `display_model`, `entries`, `cleared`, `recovered`"});
  return routes;
}

}  // namespace hotel::server::api
