// Options that change while the sidecar runs (decisions 3 and 10; facts b).
#include <fmt/format.h>

#include "hotel/live_settings.h"

#include "server/api/answers.h"
#include "server/api/route.h"

namespace hotel::server::api {
namespace {

/// The flat key, for options that have one; with it goes its own spelling of the value.
Json FlatJson(const std::vector<SettingInfo>& settings) {
  Json json = Json::object();
  for (const SettingInfo& setting : settings) {
    const bool flat = !setting.flat_key.empty();
    json[flat ? setting.flat_key : setting.name] = flat ? setting.flat_value : setting.value;
  }
  json["app_version"] = Hotel::Version();
  return json;
}

Json DetailJson(const std::vector<SettingInfo>& settings) {
  Json list = Json::array();
  for (const SettingInfo& setting : settings) {
    Json json;
    json["name"] = setting.name;
    json["flat_key"] = OrNull(setting.flat_key);
    json["value"] = setting.value;
    json["default"] = setting.default_value;
    json["source"] = SettingOriginName(setting.origin);
    json["where"] = OrNull(setting.where);
    json["pinned"] = setting.pinned;
    json["type"] = setting.type;
    json["range"] = setting.range;
    json["help"] = setting.help;
    list.push_back(std::move(json));
  }
  return list;
}

Reply ListSettings(const Context& context, const Call& call) {
  const auto settings = context.hotel->settings().List();
  return JsonReply(call.query.Get("detail") == "1" ? DetailJson(settings) : FlatJson(settings));
}

/// The first of `names` that is no option; "" when all are.
template <typename Names>
std::string FirstUnknown(const std::vector<SettingInfo>& settings, const Names& names) {
  for (const std::string& name : names) {
    bool known = false;
    for (const SettingInfo& setting : settings) {
      known = known || name == setting.name || (!name.empty() && name == setting.flat_key);
    }
    if (!known) return name;
  }
  return "";
}

std::string ValueText(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Reply Changed(const Context& context, const absl::Status& status) {
  if (!status.ok()) return StatusReply(status);
  return JsonReply(FlatJson(context.hotel->settings().List()));
}

Reply PutSettings(const Context& context, const Call& call) {
  std::vector<std::string> names;
  std::vector<std::pair<std::string, std::string>> values;
  for (const auto& [name, value] : call.body.items()) {
    names.push_back(name);
    values.emplace_back(name, ValueText(value));
    if (values.back().second.size() > LiveSettings::kMaxValueBytes) {
      return Refusal(400,
                     fmt::format("a value has at most {} bytes", LiveSettings::kMaxValueBytes));
    }
  }
  if (const std::string unknown = FirstUnknown(context.hotel->settings().List(), names);
      !unknown.empty()) {
    return Refusal(400, fmt::format("unknown setting: {}", unknown.substr(0, 100)));
  }
  return Changed(context, context.hotel->settings().Put(values));
}

Reply ResetSettings(const Context& context, const Call& call) {
  return Changed(
      context, context.hotel->settings().Reset(call.body["keys"].get<std::vector<std::string>>()));
}

}  // namespace

std::vector<Route> SettingRoutes() {
  std::vector<Route> routes;
  routes.push_back({"GET",
                    "/api/settings",
                    "Show the options in force",
                    ListSettings,
                    {{"detail", "1: an array with source, place, default, range and meaning"}},
                    {},
                    false,
                    200,
                    "an object of values by runtime key, or by path where there is none"});
  routes.push_back({"PUT",
                    "/api/settings",
                    "Set options, all or nothing. One that the configuration file or the "
                    "environment pins answers 409 and says where",
                    PutSettings,
                    {},
                    {},
                    true,
                    200,
                    "as GET"});
  routes.push_back({"DELETE",
                    "/api/settings",
                    "Take back what was set here",
                    ResetSettings,
                    {},
                    {{"keys", FieldType::kStrings, "names of options; empty: all", true}},
                    false,
                    200,
                    "as GET"});
  return routes;
}

}  // namespace hotel::server::api
