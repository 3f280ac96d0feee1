// Providers (facts j). Keys go in and never come out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hotel/provider_check.h"

#include "libhotel/base/ids.h"
#include "libhotel/base/strings.h"
#include "libhotel/wire/upstream.h"
#include "server/api/answers.h"
#include "server/api/names.h"
#include "server/api/route.h"

namespace hotel::server::api {
namespace {

Json CapJson(const LastCap& cap) {
  Json json;
  json["phrase"] = cap.phrase;
  json["model"] = cap.model;
  json["entitled"] = cap.needs_payment;
  json["at"] = Time(cap.at);
  return json;
}

/// What only the log and the snapshot as a whole know of providers, by id.
struct Sums {
  std::map<std::string, std::int64_t> models;
  std::map<std::string, UsageTotal> usage;
  std::map<std::string, WallTime> discovered;
};

absl::StatusOr<Sums> ReadSums(const Context& context, const GroupSnapshot& snapshot) {
  Sums sums;
  for (const Model& model : snapshot.models()) ++sums.models[model.provider_id];
  for (const ProviderDiscovery& one : context.hotel->discovery().Status()) {
    if (one.last_success_at) sums.discovered.emplace(one.provider_id, *one.last_success_at);
  }
  auto totals = context.log->Totals(LogReader::Scope::kProvider);
  if (!totals.ok()) return totals.status();
  for (UsageTotal& total : *totals) sums.usage[total.name] = std::move(total);
  return sums;
}

const char* KeyStateName(KeyState state) {
  switch (state) {
    case KeyState::kKeyless:
      return "keyless";
    case KeyState::kReady:
      return "ready";
    case KeyState::kUndecryptable:
      return "undecryptable";
  }
  return "";
}

bool InFile(const Context& context, const Provider& provider) {
  return context.file.providers.count(provider.routing_name) != 0;
}

Json ProviderJson(const Context& context, const Provider& provider, const Sums& sums) {
  Json json;
  json["id"] = provider.id;
  json["name"] = provider.name;
  json["base_url"] = provider.base_url;
  json["provider_type"] = provider.type;
  json["masked_key"] = MaskedKey(provider);
  json["key_state"] = KeyStateName(provider.key_state);
  json["enabled"] = provider.enabled;
  json["autodiscovery_enabled"] = provider.autodiscovery_enabled;
  json["fixed_models"] = provider.fixed_models;
  json["read_only"] = InFile(context, provider);
  json["max_in_flight"] = nullptr;
  if (provider.max_in_flight != 0) json["max_in_flight"] = provider.max_in_flight;
  const auto discovered = sums.discovered.find(provider.id);
  json["last_discovered_at"] =
      discovered == sums.discovered.end() ? Json(nullptr) : Time(discovered->second);
  const auto usage = sums.usage.find(provider.id);
  const bool used = usage != sums.usage.end();
  json["last_used_at"] = used ? Time(usage->second.last_used_at) : Json(nullptr);
  json["created_at"] = Time(provider.created_at);
  json["updated_at"] = Time(provider.updated_at);
  const auto models = sums.models.find(provider.id);
  json["model_count"] = models == sums.models.end() ? 0 : models->second;
  json["total_tokens"] = used ? usage->second.tokens : 0;
  json["tokens_since"] = used ? Time(usage->second.counted_from) : Json(nullptr);
  // Only a provider that drew one has it.
  if (const auto cap = context.hotel->caps().Last(provider.id)) json["last_cap"] = CapJson(*cap);
  return json;
}

Reply ListProviders(const Context& context, const Call&) {
  const auto snapshot = context.hotel->groups().Snapshot();
  const auto sums = ReadSums(context, *snapshot);
  if (!sums.ok()) return StatusReply(sums.status());
  Json list = Json::array();
  for (const auto& provider : snapshot->providers()) {
    list.push_back(ProviderJson(context, *provider, *sums));
  }
  return JsonReply(list);
}

Reply ShowProvider(const Context& context, const std::string& id, int status) {
  const auto snapshot = context.hotel->groups().Snapshot();
  const auto provider = snapshot->FindProviderById(base::Lower(id));
  if (provider == nullptr) return Refusal(404, "provider not found");
  const auto sums = ReadSums(context, *snapshot);
  if (!sums.ok()) return StatusReply(sums.status());
  return JsonReply(ProviderJson(context, *provider, *sums), status);
}

Reply GetProvider(const Context& context, const Call& call) {
  if (!base::IsUuid(call.path[0])) return Refusal(400, "invalid provider id");
  return ShowProvider(context, call.path[0], 200);
}

/// What keeps a provider from being used as described, as the configuration's check would say.
/// `key_left_out`: nobody said that there is a key, or that the API wants none.
absl::Status CheckSpec(const Context& context, const ProviderSpec& spec, bool key_left_out) {
  const wire::ProviderType* const type = wire::FindProviderType(spec.type);
  if (type == nullptr) {
    return absl::InvalidArgumentError(fmt::format("unknown provider_type; known ones are: {}",
                                                  fmt::join(wire::ProviderTypeNames(), ", ")));
  }
  if (key_left_out && !type->key_optional) {
    return absl::InvalidArgumentError(fmt::format(
        "api_key is required for the provider type {}; \"\" says that its API wants none",
        type->name));
  }
  if (spec.models && spec.models->empty()) {
    return absl::InvalidArgumentError(
        "models is empty, so nothing could be asked of this provider; name its models, or null to "
        "allow any");
  }
  for (const ProviderProblem& problem : CheckProvider(spec, context.addresses)) {
    if (!problem.warning) {
      return absl::InvalidArgumentError(fmt::format("{}: {}", problem.field, problem.message));
    }
  }
  return absl::OkStatus();
}

constexpr std::int64_t kMaxInFlight = 10000;

/// `max_in_flight` of the body; null means none, 0 is no number of requests.
absl::StatusOr<int> MaxInFlight(const Json& value) {
  if (value.is_null()) return 0;
  const auto number = value.get<std::int64_t>();
  if (number >= 1 && number <= kMaxInFlight) return static_cast<int>(number);
  return absl::InvalidArgumentError(
      fmt::format("max_in_flight is 1 to {}, or null for none", kMaxInFlight));
}

std::optional<std::vector<std::string>> Models(const Json& value) {
  if (value.is_null()) return std::nullopt;
  return value.get<std::vector<std::string>>();
}

/// Discovery looks at the provider. What a fixed list says is known without asking, so where scans
/// would make groups at once, its groups are there before the answer. `routes_differ`: the list, or
/// whether it is in use, is not what it was.
void NoteChanged(const Context& context, const std::string& id, bool routes_differ) {
  const auto provider = context.hotel->groups().Snapshot()->FindProviderById(id);
  const DiscoverySettings settings = context.hotel->settings().Current()->global.discovery;
  if (routes_differ && settings.enabled && settings.on_provider_create && provider != nullptr &&
      provider->enabled && provider->fixed_models) {
    // What could not be done is told by an event, and the next sync tries again.
    context.hotel->discovery().SyncGroups().IgnoreError();
  }
  context.hotel->discovery().NoteProviderChanged(id);
}

Reply CreateProvider(const Context& context, const Call& call) {
  ProviderSpec spec;
  spec.name = call.body["name"].get<std::string>();
  spec.base_url = call.body["base_url"].get<std::string>();
  spec.type = call.body["provider_type"].get<std::string>();
  if (const Json* key = call.Find("api_key")) spec.api_key = Secret(key->get<std::string>());
  if (const Json* enabled = call.Find("enabled")) spec.enabled = enabled->get<bool>();
  if (const Json* asked = call.Find("autodiscovery_enabled")) {
    spec.autodiscovery_enabled = asked->get<bool>();
  }
  if (const Json* models = call.Find("models")) spec.models = Models(*models);
  if (const Json* most = call.Find("max_in_flight")) {
    const auto number = MaxInFlight(*most);
    if (!number.ok()) return StatusReply(number.status());
    spec.max_in_flight = *number;
  }
  if (absl::Status status = CheckSpec(context, spec, call.Find("api_key") == nullptr);
      !status.ok()) {
    return StatusReply(status);
  }
  const auto id = context.hotel->providers().CreateProvider(spec);
  if (!id.ok()) return StatusReply(id.status());
  NoteChanged(context, *id, true);
  return ShowProvider(context, *id, 201);
}

absl::StatusOr<ProviderPatch> PatchOf(const Call& call) {
  ProviderPatch patch;
  for (const auto& [name, field] :
       {std::pair{"name", &ProviderPatch::name}, std::pair{"provider_type", &ProviderPatch::type},
        std::pair{"base_url", &ProviderPatch::base_url}}) {
    if (const Json* value = call.Find(name)) patch.*field = value->get<std::string>();
  }
  if (const Json* key = call.Find("api_key")) {
    patch.api_key = key->is_null() ? Secret() : Secret(key->get<std::string>());
  }
  if (const Json* enabled = call.Find("enabled")) patch.enabled = enabled->get<bool>();
  if (const Json* asked = call.Find("autodiscovery_enabled")) {
    patch.autodiscovery_enabled = asked->get<bool>();
  }
  if (const Json* models = call.Find("models")) patch.models = Models(*models);
  if (const Json* most = call.Find("max_in_flight")) {
    const auto number = MaxInFlight(*most);
    if (!number.ok()) return number.status();
    patch.max_in_flight = *number;
  }
  return patch;
}

/// Who waits in line at the provider looks again.
void RefreshLine(const Context& context, const std::string& id) {
  const auto provider = context.hotel->groups().Snapshot()->FindProviderById(id);
  if (provider == nullptr) return;
  context.hotel->inflight().Refresh(
      {{provider->id, provider->routing_name, provider->max_in_flight}},
      std::chrono::steady_clock::now());
}

Reply UpdateProvider(const Context& context, const Call& call) {
  if (!base::IsUuid(call.path[0])) return Refusal(400, "invalid provider id");
  const std::string id = base::Lower(call.path[0]);
  const auto provider = context.hotel->groups().Snapshot()->FindProviderById(id);
  if (provider == nullptr) return Refusal(404, "provider not found");
  if (InFile(context, *provider)) {
    return OwnedByFile(context.file, fmt::format("provider '{}'", provider->name));
  }
  const auto patch = PatchOf(call);
  if (!patch.ok()) return StatusReply(patch.status());
  ProviderSpec spec;
  spec.name = patch->name.value_or(provider->name);
  spec.type = patch->type.value_or(provider->type);
  spec.base_url = patch->base_url.value_or(provider->base_url);
  if (patch->models) spec.models = *patch->models;
  if (provider->transport != nullptr) spec.transport = *provider->transport;
  const Json* const key = call.Find("api_key");
  const bool key_left_out =
      key != nullptr ? key->is_null()
                     : spec.type != provider->type && provider->key_state == KeyState::kKeyless;
  if (absl::Status status = CheckSpec(context, spec, key_left_out); !status.ok()) {
    return StatusReply(status);
  }
  const absl::Status updated = context.hotel->providers().UpdateProvider(id, *patch);
  if (!updated.ok()) return StatusReply(updated);
  if (patch->max_in_flight) RefreshLine(context, id);
  NoteChanged(context, id, patch->models || patch->enabled);
  return ShowProvider(context, id, 200);
}

Reply DeleteProvider(const Context& context, const Call& call) {
  if (!base::IsUuid(call.path[0])) return Refusal(400, "invalid provider id");
  const std::string id = base::Lower(call.path[0]);
  const auto provider = context.hotel->groups().Snapshot()->FindProviderById(id);
  if (provider == nullptr) return Refusal(404, "provider not found");
  if (InFile(context, *provider)) {
    return OwnedByFile(context.file, fmt::format("provider '{}'", provider->name));
  }
  const absl::Status deleted = context.hotel->providers().DeleteProvider(id);
  if (!deleted.ok()) return StatusReply(deleted);
  context.hotel->circuits().Reset(id, std::nullopt, std::chrono::steady_clock::now());
  context.hotel->caps().Forget(id);
  context.hotel->discovery().NoteProviderChanged(id);
  return NoContent();
}

}  // namespace

std::vector<Route> ProviderRoutes() {
  using T = FieldType;
  constexpr std::string_view kModels =
      "the whole list of its model ids; null: any id is sent, rows are made where one is named";
  constexpr std::string_view kAutodiscovery =
      "off: asked for its models only by hand; default true; without effect on a fixed list";
  std::vector<Route> routes;
  routes.push_back({"GET",
                    "/api/providers",
                    "List the providers",
                    ListProviders,
                    {},
                    {},
                    false,
                    200,
                    "an array of providers"});
  routes.push_back(
      {"POST",
       "/api/providers",
       "Add a provider",
       CreateProvider,
       {},
       {{"name", T::kString, "1 to 100 characters, unique with spaces as hyphens", true},
        {"base_url", T::kString,
         "https unless server.allow_http_providers; no `user:password@`, no query but "
         "`?api-version=<version>`",
         true},
        {"provider_type", T::kString, "one of the known types", true},
        {"api_key", T::kString,
         "stored encrypted; empty for an API that wants none; `custom` and the types of "
         "local servers may leave it out"},
        {"enabled", T::kBool, "default true"},
        {"autodiscovery_enabled", T::kBool, kAutodiscovery},
        {"max_in_flight", T::kInteger, "requests at a time, 1 to 10000; null: no ceiling", false,
         true},
        {"models", T::kStrings, kModels, false, true}},
       false,
       201,
       "the provider"});
  routes.push_back({"GET",
                    "/api/providers/{id}",
                    "Show a provider",
                    GetProvider,
                    {},
                    {},
                    false,
                    200,
                    "the provider"});
  routes.push_back({"PUT",
                    "/api/providers/{id}",
                    "Change what is given of a provider",
                    UpdateProvider,
                    {},
                    {{"name", T::kString, "a new name"},
                     {"base_url", T::kString, "a new address"},
                     {"provider_type", T::kString, "one of the known types"},
                     {"api_key", T::kString,
                      "a new key; empty for an API that wants none, or null for the types that may "
                      "leave it out",
                      false, true},
                     {"enabled", T::kBool, "off: no route leads to it"},
                     {"autodiscovery_enabled", T::kBool, kAutodiscovery},
                     {"max_in_flight", T::kInteger,
                      "requests at a time, 1 to 10000; null: no ceiling", false, true},
                     {"models", T::kStrings, kModels, false, true}},
                    false,
                    200,
                    "the provider"});
  routes.push_back({"DELETE",
                    "/api/providers/{id}",
                    "Delete a provider with its models",
                    DeleteProvider,
                    {},
                    {},
                    false,
                    204,
                    ""});
  return routes;
}

}  // namespace hotel::server::api
