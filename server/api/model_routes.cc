// Models (facts j).
#include <fmt/format.h>

#include "libhotel/base/ids.h"
#include "libhotel/base/strings.h"
#include "server/api/answers.h"
#include "server/api/names.h"
#include "server/api/route.h"

namespace hotel::server::api {
namespace {

Json ModelJson(const Model& model, const Provider& provider) {
  Json json;
  json["id"] = model.id;
  json["model_id"] = model.model_id;
  json["name"] = BaseModelName(model.model_id);
  json["display_name"] = model.model_id;
  json["provider_id"] = provider.id;
  json["provider_name"] = provider.name;
  json["provider_enabled"] = provider.enabled;
  json["owned_by"] = OwnerOf(model.model_id);
  json["enabled"] = model.enabled;
  json["disabled_manually"] = model.disabled_manually;
  json["created_at"] = Time(model.created_at);
  return json;
}

/// "true" and "false" of a query; nullopt when it is neither. "" passes everything.
std::optional<bool> Passes(std::string_view wanted, bool value) {
  if (wanted.empty()) return true;
  if (wanted != "true" && wanted != "false") return std::nullopt;
  return (wanted == "true") == value;
}

Reply ListModels(const Context& context, const Call& call) {
  const std::string provider_id = base::Lower(call.query.Get("provider_id"));
  if (!provider_id.empty() && !base::IsUuid(provider_id))
    return Refusal(400, "invalid provider id");
  for (const std::string_view name : {"provider_enabled", "enabled"}) {
    if (!Passes(call.query.Get(name), true)) {
      return Refusal(400, fmt::format("{} must be true or false", name));
    }
  }
  const auto snapshot = context.hotel->groups().Snapshot();
  Json list = Json::array();
  for (const Model& model : snapshot->models()) {
    const auto provider = snapshot->FindProviderById(model.provider_id);
    if (provider == nullptr || (!provider_id.empty() && provider->id != provider_id)) continue;
    if (!*Passes(call.query.Get("provider_enabled"), provider->enabled)) continue;
    if (!*Passes(call.query.Get("enabled"), model.enabled)) continue;
    list.push_back(ModelJson(model, *provider));
  }
  return JsonReply(list);
}

/// The model of the path, or the refusal: not there, or said by the file.
std::optional<Reply> RefuseChange(const Context& context, const Call& call, Model* out) {
  if (!base::IsUuid(call.path[0])) return Refusal(400, "invalid model id");
  const auto snapshot = context.hotel->groups().Snapshot();
  const Model* const model = snapshot->FindModel(base::Lower(call.path[0]));
  if (model == nullptr) return Refusal(404, "model not found");
  *out = *model;
  const auto provider = snapshot->FindProviderById(model->provider_id);
  if (provider->fixed_models && context.file.providers.count(provider->routing_name) != 0) {
    return OwnedByFile(context.file,
                       fmt::format("the list of models of provider '{}'", provider->name));
  }
  return std::nullopt;
}

Reply PatchModel(const Context& context, const Call& call) {
  Model model;
  if (auto refusal = RefuseChange(context, call, &model)) return *std::move(refusal);
  const absl::Status changed =
      context.hotel->providers().SetModelEnabled(model.id, call.body["enabled"].get<bool>());
  if (!changed.ok()) return StatusReply(changed);
  const auto snapshot = context.hotel->groups().Snapshot();
  const Model* const now = snapshot->FindModel(model.id);
  if (now == nullptr) return Refusal(404, "model not found");
  return JsonReply(ModelJson(*now, *snapshot->FindProviderById(now->provider_id)));
}

Reply DeleteModel(const Context& context, const Call& call) {
  Model model;
  if (auto refusal = RefuseChange(context, call, &model)) return *std::move(refusal);
  const absl::Status deleted = context.hotel->providers().DeleteModel(model.id);
  return deleted.ok() ? NoContent() : StatusReply(deleted);
}

}  // namespace

std::vector<Route> ModelRoutes() {
  std::vector<Route> routes;
  routes.push_back({"GET",
                    "/api/models",
                    "List the models",
                    ListModels,
                    {{"provider_id", "only those of this provider"},
                     {"provider_enabled", "true or false"},
                     {"enabled", "true or false"}},
                    {},
                    false,
                    200,
                    "an array of models"});
  routes.push_back({"PATCH",
                    "/api/models/{id}",
                    "Switch a model on or off",
                    PatchModel,
                    {},
                    {{"enabled", FieldType::kBool, "off: no route leads to it", true}},
                    false,
                    200,
                    "the model"});
  routes.push_back({"DELETE",
                    "/api/models/{id}",
                    "Delete a model; groups that name it skip it",
                    DeleteModel,
                    {},
                    {},
                    false,
                    204,
                    ""});
  return routes;
}

}  // namespace hotel::server::api
