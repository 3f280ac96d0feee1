// Failover groups (seed 000, "API Reference").
#include <fmt/format.h>

#include "libhotel/base/ids.h"
#include "libhotel/base/strings.h"
#include "server/api/answers.h"
#include "server/api/names.h"
#include "server/api/route.h"

namespace hotel::server::api {
namespace {

/// One group as an answer.
Reply GroupReply(const Context& context, const FailoverGroup& group, int status) {
  const auto tokens = GroupTokens(context.log);
  if (!tokens.ok()) return StatusReply(tokens.status());
  const auto used = tokens->find(group.display_model);
  return JsonReply(GroupJson(group, *context.hotel->groups().Snapshot(),
                             used == tokens->end() ? 0 : used->second),
                   status);
}

Reply ListGroups(const Context& context, const Call&) {
  auto tokens = GroupTokens(context.log);
  if (!tokens.ok()) return StatusReply(tokens.status());
  const auto snapshot = context.hotel->groups().Snapshot();
  Json list;
  list["groups"] = Json::array();
  for (const FailoverGroup& group : snapshot->groups()) {
    list["groups"].push_back(GroupJson(group, *snapshot, (*tokens)[group.display_model]));
  }
  const auto synced = context.hotel->discovery().last_synced_at();
  list["last_synced_at"] = synced ? Time(*synced) : Json(nullptr);
  return JsonReply(list);
}

Reply GetGroup(const Context& context, const Call& call) {
  const auto group = context.hotel->groups().Get(call.path[0]);
  return group.ok() ? GroupReply(context, *group, 200) : StatusReply(group.status());
}

std::string TextOf(const Call& call, std::string_view name) {
  const Json* const value = call.Find(name);
  return value == nullptr ? "" : value->get<std::string>();
}

Reply CreateGroup(const Context& context, const Call& call) {
  NewFailoverGroup group;
  group.display_model = TextOf(call, "display_model");
  group.display_name = TextOf(call, "display_name");
  group.description = TextOf(call, "description");
  if (const Json* ids = call.Find("entry_ids")) group.entry_ids = *ids;
  const auto created = context.hotel->groups().Create(group);
  return created.ok() ? GroupReply(context, *created, 201) : StatusReply(created.status());
}

/// The refusal for a group that stands in the file; nullopt when it may be changed here.
std::optional<Reply> RefuseChange(const Context& context, const std::string& id) {
  const auto group = context.hotel->groups().Get(id);
  if (!group.ok() || context.file.groups.count(group->display_model) == 0) return std::nullopt;
  return OwnedByFile(context.file, fmt::format("failover group '{}'", group->display_model));
}

FailoverGroupPatch PatchOf(const Call& call) {
  FailoverGroupPatch patch;
  for (const auto& [name, field] : {std::pair{"display_model", &FailoverGroupPatch::display_model},
                                    std::pair{"display_name", &FailoverGroupPatch::display_name},
                                    std::pair{"description", &FailoverGroupPatch::description}}) {
    if (const Json* value = call.Find(name)) patch.*field = value->get<std::string>();
  }
  if (const Json* enabled = call.Find("group_enabled")) patch.group_enabled = enabled->get<bool>();
  if (const Json* order = call.Find("priority_order")) {
    patch.priority_order = order->get<std::vector<std::string>>();
  }
  if (const Json* toggles = call.Find("entry_enabled")) {
    patch.entry_enabled.emplace();
    for (const auto& [id, on] : toggles->items()) {
      patch.entry_enabled->emplace_back(id, on.get<bool>());
    }
  }
  return patch;
}

Reply UpdateGroup(const Context& context, const Call& call) {
  if (auto refusal = RefuseChange(context, call.path[0])) return *std::move(refusal);
  const auto updated = context.hotel->groups().Update(call.path[0], PatchOf(call));
  return updated.ok() ? GroupReply(context, *updated, 200) : StatusReply(updated.status());
}

Reply DeleteGroup(const Context& context, const Call& call) {
  if (auto refusal = RefuseChange(context, call.path[0])) return *std::move(refusal);
  const absl::Status deleted = context.hotel->groups().Delete(call.path[0]);
  return deleted.ok() ? NoContent() : StatusReply(deleted);
}

Reply GroupOfModel(const Context& context, const Call& call) {
  if (!base::IsUuid(call.path[0])) return Refusal(400, "invalid model id");
  const std::string id = base::Lower(call.path[0]);
  const auto snapshot = context.hotel->groups().Snapshot();
  for (const FailoverGroup& group : snapshot->groups()) {
    for (std::size_t i = 0; i < group.entries.size(); ++i) {
      if (group.entries[i].model_uuid != id) continue;
      Json json;
      json["id"] = group.id;
      json["display_model"] = group.display_model;
      json["position"] = i + 1;
      json["total_entries"] = group.entries.size();
      return JsonReply(json);
    }
  }
  return Refusal(404, "model not in any failover group");
}

Reply ListCandidates(const Context& context, const Call&) {
  const auto snapshot = context.hotel->groups().Snapshot();
  Json list = Json::array();
  for (const Model& model : snapshot->models()) {
    const auto provider = snapshot->FindProviderById(model.provider_id);
    if (model.enabled && provider != nullptr && provider->enabled) {
      list.push_back(ModelNames(model, *provider));
    }
  }
  return JsonReply(list);
}

}  // namespace

std::vector<Route> GroupRoutes() {
  using T = FieldType;
  std::vector<Route> routes;
  routes.push_back({"GET",
                    "/api/failover-groups",
                    "List the failover groups with their entries",
                    ListGroups,
                    {},
                    {},
                    false,
                    200,
                    "`groups`, `last_synced_at`"});
  routes.push_back(
      {"POST",
       "/api/failover-groups",
       "Create a failover group",
       CreateGroup,
       {},
       {{"display_model", T::kString, "the name behind `hotel/`, lower-cased, 1 to 128 characters",
         true},
        {"display_name", T::kString, "a label, up to 128 characters"},
        {"description", T::kString, "up to 500 characters"},
        {"entry_ids", T::kStrings, "UUIDs of models, in order of priority, at least 2"}},
       false,
       201,
       "the group"});
  routes.push_back(
      {"GET",
       "/api/failover-groups/candidates",
       "List the models that can be members: those that are enabled, of enabled providers",
       ListCandidates,
       {},
       {},
       false,
       200,
       "an array of models"});
  routes.push_back({"GET",
                    "/api/failover-groups/by-model/{model_uuid}",
                    "Find the failover group that holds a model",
                    GroupOfModel,
                    {},
                    {},
                    false,
                    200,
                    "`id`, `display_model`, `position` from 1, `total_entries`"});
  routes.push_back({"GET",
                    "/api/failover-groups/{id}",
                    "Show a failover group",
                    GetGroup,
                    {},
                    {},
                    false,
                    200,
                    "the group"});
  routes.push_back({"PUT",
                    "/api/failover-groups/{id}",
                    "Change what is given of a failover group",
                    UpdateGroup,
                    {},
                    {{"display_model", T::kString,
                      "a new name; an auto group that gets one is a custom group from then on"},
                     {"display_name", T::kString, "a label, up to 128 characters"},
                     {"description", T::kString, "up to 500 characters"},
                     {"group_enabled", T::kBool, "off: `hotel/<name>` answers 404"},
                     {"priority_order", T::kStrings, "UUIDs of models; replaces the members"},
                     {"entry_enabled", T::kToggles, "toggles of members by UUID, up to 100"}},
                    false,
                    200,
                    "the group"});
  routes.push_back({"DELETE",
                    "/api/failover-groups/{id}",
                    "Delete a failover group; its models stay. One that is not there is no error",
                    DeleteGroup,
                    {},
                    {},
                    false,
                    204,
                    ""});
  return routes;
}

}  // namespace hotel::server::api
