// How the providers are doing (R78-R82, R85, R90).
#include <chrono>
#include <map>

#include <fmt/format.h>

#include "hotel/discovery.h"

#include "libhotel/decide/provider_status.h"
#include "libhotel/observe/request_health.h"
#include "server/api/answers.h"
#include "server/api/names.h"
#include "server/api/route.h"

namespace hotel::server::api {
namespace {

using decide::ProviderStatus;

/// What the status of one provider is made of.
struct Signs {
  ProviderDiscovery discovery;
  decide::ProviderHealth health;
  const ProviderView* circuits = nullptr;  ///< null: nothing was ever charged or credited

  CircuitState circuit() const {
    return circuits == nullptr ? CircuitState::kClosed : circuits->row().state;
  }
};

Json ErrorJson(const decide::LastError& error) {
  Json json;
  json["message"] = error.text;
  json["status"] = error.status == 0 ? Json(nullptr) : Json(error.status);
  json["model"] = error.model;
  json["at"] = Time(error.at);
  return json;
}

Json HealthJson(const decide::ProviderHealth& health) {
  Json json;
  json["window_seconds"] = std::chrono::seconds(decide::OutcomeWindow::kLength).count();
  json["requests"] = health.sums.requests;
  json["errors"] = health.sums.errors;
  json["last_error"] = health.last_error ? ErrorJson(*health.last_error) : Json(nullptr);
  json["models_total"] = health.models_total;
  json["models_failing"] = health.models_failing;
  json["models"] = Json::array();
  for (const decide::ModelHealth& model : health.models) {
    Json row;
    row["model"] = model.model;
    row["requests"] = model.sums.requests;
    row["errors"] = model.sums.errors;
    row["failing"] = model.sums.failing();
    row["last_error"] = model.last_error ? ErrorJson(*model.last_error) : Json(nullptr);
    json["models"].push_back(std::move(row));
  }
  return json;
}

Json ConfigJson(const Context& context, const Provider& provider) {
  Json json;
  json["base_url"] = provider.base_url;
  json["enabled"] = provider.enabled;
  json["fixed_models"] = provider.fixed_models;
  json["max_in_flight"] = nullptr;
  if (provider.max_in_flight != 0) json["max_in_flight"] = provider.max_in_flight;
  json["read_only"] = context.file.providers.count(provider.routing_name) != 0;
  return json;
}

Json RuntimeJson(const ProviderDiscovery& discovery) {
  const auto time = [](const std::optional<WallTime>& at) {
    return at ? Time(*at) : Json(nullptr);
  };
  Json json;
  json["discovery_state"] = DiscoveryStateName(discovery.state);
  json["left_out"] = discovery.left_out;
  json["last_checked_at"] = time(discovery.last_checked_at);
  json["last_success_at"] = time(discovery.last_success_at);
  json["model_count"] = discovery.model_count;
  json["enabled_model_count"] = discovery.enabled_model_count;
  return json;
}

std::string CircuitReason(const ProviderView& view, CircuitState state) {
  std::size_t such = 0;
  for (const CircuitView& circuit : view.circuits) such += circuit.state == state ? 1 : 0;
  std::string reason = fmt::format("{} of {} circuits {} {}", such, view.circuits.size(),
                                   such == 1 ? "is" : "are", CircuitStateName(state));
  const CircuitView& row = view.row();
  if (!row.key.model.empty()) reason += fmt::format("; model {}", row.key.model);
  if (!row.last_cause.empty()) reason += fmt::format(": {}", row.last_cause);
  return reason;
}

std::string ReasonOf(ProviderStatus status, const Signs& signs) {
  switch (status) {
    case ProviderStatus::kDisabled:
      return "switched off";
    case ProviderStatus::kHealthy:
      return "its models were listed";
    case ProviderStatus::kConfigured:
      return "its models are not asked for";
    case ProviderStatus::kStarting:
      return "its models are being asked for";
    case ProviderStatus::kDegraded: {
      const decide::ModelHealth& worst = signs.health.models.front();
      return fmt::format("{} of {} requests for {} failed within ten minutes", worst.sums.errors,
                         worst.sums.requests, worst.model);
    }
    case ProviderStatus::kRecovering:
    case ProviderStatus::kCircuitOpen:
      return CircuitReason(*signs.circuits, signs.circuit());
    case ProviderStatus::kOffline:
      return "its models were listed before and cannot be listed now";
    case ProviderStatus::kUnhealthy:
      return "its models could never be listed";
  }
  return "";
}

/// What went wrong last: with the listing, while that fails, else with a request.
Json LastErrorOf(const Signs& signs) {
  if (!signs.discovery.last_error.empty()) return signs.discovery.last_error;
  if (!signs.health.last_error) return nullptr;
  const decide::LastError& error = *signs.health.last_error;
  return error.status == 0 ? error.text : fmt::format("{}: {}", error.status, error.text);
}

Json ProviderStatusJson(const Context& context, const Provider& provider, ProviderStatus status,
                        const Signs& signs) {
  Json json;
  json["id"] = provider.id;
  json["name"] = provider.name;
  json["type"] = provider.type;
  json["status"] = decide::ProviderStatusName(status);
  json["status_label"] = decide::ProviderStatusLabel(status);
  json["status_reason"] = ReasonOf(status, signs);
  json["last_error"] = LastErrorOf(signs);
  json["config"] = ConfigJson(context, provider);
  json["runtime"] = RuntimeJson(signs.discovery);
  json["circuit_state"] = CircuitStateName(signs.circuit());
  json["request_health"] = HealthJson(signs.health);
  return json;
}

Reply ShowStatus(const Context& context, const Call&) {
  const auto snapshot = context.hotel->groups().Snapshot();
  const auto circuits = context.hotel->circuits().Providers(std::chrono::steady_clock::now());
  std::map<std::string, ProviderDiscovery> discovery;
  for (ProviderDiscovery& each : context.hotel->discovery().Status()) {
    discovery[each.provider_id] = std::move(each);
  }
  std::map<ProviderStatus, int> counts;
  Json providers = Json::array();
  for (const auto& provider : snapshot->providers()) {
    Signs signs;
    signs.discovery = discovery[provider->id];
    signs.health = context.health->Of(provider->id);
    for (const ProviderView& view : circuits) {
      if (view.provider_id == provider->id) signs.circuits = &view;
    }
    const ProviderStatus status = decide::StatusOf(
        {provider->enabled, signs.discovery.state, signs.health.degraded, signs.circuit()});
    ++counts[status];
    providers.push_back(ProviderStatusJson(context, *provider, status, signs));
  }
  Json json;
  json["summary"]["total"] = providers.size();
  for (const ProviderStatus status : decide::kProviderStatuses) {
    json["summary"][decide::ProviderStatusName(status)] = counts[status];
  }
  json["providers"] = std::move(providers);
  return JsonReply(json);
}

}  // namespace

std::vector<Route> StatusRoutes() {
  std::vector<Route> routes;
  routes.push_back(
      {"GET",
       "/api/providers/status",
       "Show how the providers are doing: the worst of what discovery, the last ten minutes' "
       "requests and the circuits say",
       ShowStatus,
       {},
       {},
       false,
       200,
       "`summary` with `total` and the number of providers of each status; `providers` with `id`, "
       "`name`, `type`, `status` (healthy, configured, starting, degraded, recovering, "
       "circuit_open, offline, unhealthy, disabled), `status_label`, `status_reason`, "
       "`last_error`, `config`, `runtime`, `circuit_state`, `request_health`"});
  return routes;
}

}  // namespace hotel::server::api
