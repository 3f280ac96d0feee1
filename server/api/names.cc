#include "server/api/names.h"

#include <utility>

#include "libhotel/base/lower_case.h"
#include "libhotel/base/strings.h"
#include "server/api/answers.h"

namespace hotel::server::api {
namespace {

Json EntryJson(const GroupEntry& entry, const GroupSnapshot& snapshot) {
  const Model* const model = snapshot.FindModel(entry.model_uuid);
  const std::shared_ptr<const Provider> provider =
      model == nullptr ? nullptr : snapshot.FindProviderById(model->provider_id);
  Json json;
  // Between two looks at the snapshot a member may lose its model.
  json["model_uuid"] = entry.model_uuid;
  json["model_id"] = model == nullptr ? "" : model->model_id;
  json["provider_id"] = model == nullptr ? "" : model->provider_id;
  json["provider_name"] = provider == nullptr ? "" : provider->name;
  json["display_name"] = model == nullptr ? "" : DisplayNameOf(*model);
  json["enabled"] = entry.enabled;
  json["model_enabled"] = model != nullptr && model->enabled;
  json["provider_enabled"] = provider != nullptr && provider->enabled;
  json["disabled_manually"] = model != nullptr && model->disabled_manually;
  json["context_length"] = TokensOrNull(model == nullptr ? 0 : model->context_length);
  json["owned_by"] = model == nullptr ? "" : OwnerOf(*model);
  return json;
}

}  // namespace

std::string_view OwnerOf(std::string_view model_id) {
  const std::size_t slash = model_id.find('/');
  return slash == std::string_view::npos ? std::string_view() : model_id.substr(0, slash);
}

std::string DisplayNameOf(const Model& model) {
  if (!model.display_name.empty()) return model.display_name;
  return model.name.empty() ? model.model_id : model.name;
}

std::string_view OwnerOf(const Model& model) {
  return model.owned_by.empty() ? OwnerOf(model.model_id) : std::string_view(model.owned_by);
}

Json TokensOrNull(std::int64_t tokens) { return tokens == 0 ? Json(nullptr) : Json(tokens); }

std::string MaskedKey(const Provider& provider) {
  constexpr std::size_t kShort = 12;
  constexpr std::size_t kHead = 3;
  constexpr std::size_t kTail = 4;
  if (provider.key_state != KeyState::kReady) return "";
  const std::string_view key = provider.api_key.Reveal();
  if (key.size() < kShort) return "...";
  return std::string(key.substr(0, kHead)) + "..." + std::string(key.substr(key.size() - kTail));
}

Json ModelNames(const Model& model, const Provider& provider) {
  Json json;
  json["model_uuid"] = model.id;
  json["model_id"] = model.model_id;
  json["provider_id"] = model.provider_id;
  json["provider_name"] = provider.name;
  json["display_name"] = DisplayNameOf(model);
  json["context_length"] = TokensOrNull(model.context_length);
  json["owned_by"] = OwnerOf(model);
  return json;
}

Json GroupJson(const FailoverGroup& group, const GroupSnapshot& snapshot, std::int64_t tokens) {
  Json json;
  json["id"] = group.id;
  json["display_model"] = group.display_model;
  json["display_name"] = group.display_name;
  json["description"] = group.description;
  json["group_enabled"] = group.group_enabled;
  json["auto_created"] = group.auto_created;
  json["auto_disabled"] =
      !group.group_enabled && (group.auto_disabled_at || group.floor_disabled_at);
  json["entries"] = Json::array();
  for (const GroupEntry& entry : group.entries) {
    json["entries"].push_back(EntryJson(entry, snapshot));
  }
  json["total_tokens"] = tokens;
  json["created_at"] = Time(group.created_at);
  json["updated_at"] = Time(group.updated_at);
  return json;
}

absl::StatusOr<std::map<std::string, std::int64_t>> GroupTokens(LogStore* log) {
  constexpr std::string_view kPrefix = "hotel/";
  absl::StatusOr<std::vector<UsageTotal>> totals = log->Totals(LogReader::Scope::kModel);
  if (!totals.ok()) return totals.status();
  std::map<std::string, std::int64_t> tokens;
  for (const UsageTotal& total : *totals) {
    if (!base::StartsWith(total.name, kPrefix)) continue;
    // hotel/GLM-4.6 and hotel/glm-4.6 are one group.
    tokens[base::LowerCase(std::string_view(total.name).substr(kPrefix.size()))] += total.tokens;
  }
  return tokens;
}

}  // namespace hotel::server::api
