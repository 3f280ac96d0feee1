// Models (facts j).
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "libhotel/base/ids.h"
#include "libhotel/base/strings.h"
#include "server/api/answers.h"
#include "server/api/names.h"
#include "server/api/route.h"
#include "server/api/try_model.h"
#include "server/api/waiting.h"

namespace hotel::server::api {
namespace {

Json PriceJson(std::optional<double> dollars) { return dollars ? Json(*dollars) : Json(nullptr); }

/// A list as the text that clients of this API expect.
std::string ListText(const std::vector<std::string>& list) { return Json(list).dump(); }

Json ModelJson(const Model& model, const Provider& provider) {
  Json json;
  json["id"] = model.id;
  json["model_id"] = model.model_id;
  json["name"] = model.name.empty() ? BaseModelName(model.model_id) : model.name;
  json["display_name"] = DisplayNameOf(model);
  json["provider_id"] = provider.id;
  json["provider_name"] = provider.name;
  json["provider_enabled"] = provider.enabled;
  json["capabilities"] = ListText(model.details.capabilities);
  json["context_length"] = TokensOrNull(model.context_length);
  json["max_output_tokens"] = TokensOrNull(model.max_output_tokens);
  json["input_price_per_million"] = PriceJson(model.prices.input);
  json["output_price_per_million"] = PriceJson(model.prices.output);
  json["input_price_per_million_cache_hit"] = PriceJson(model.prices.cached_input);
  json["price_customized"] = model.prices.set_by_operator;
  json["owned_by"] = OwnerOf(model);
  json["description"] = model.details.description;
  json["params"] = ListText(model.details.parameters);
  json["modality"] = model.details.modality;
  json["input_modalities"] = ListText(model.details.input_modalities);
  json["output_modalities"] = ListText(model.details.output_modalities);
  json["enabled"] = model.enabled;
  json["disabled_manually"] = model.disabled_manually;
  json["created_at"] = Time(model.created_at);
  json["last_seen_at"] = model.last_seen_at ? Time(*model.last_seen_at) : Json(nullptr);
  return json;
}

/// "true" and "false" of a query; nullopt when it is neither. "" passes everything.
std::optional<bool> Passes(std::string_view wanted, bool value) {
  if (wanted.empty()) return true;
  if (wanted != "true" && wanted != "false") return std::nullopt;
  return (wanted == "true") == value;
}

/// A model and whose it is.
struct Row {
  const Model* model;
  std::shared_ptr<const Provider> provider;
};

/// The rows the query asks for; pointers into `snapshot`.
absl::StatusOr<std::vector<Row>> FindRows(const GroupSnapshot& snapshot, const Call& call) {
  const std::string provider_id = base::Lower(call.query.Get("provider_id"));
  if (!provider_id.empty() && !base::IsUuid(provider_id)) {
    return absl::InvalidArgumentError("invalid provider id");
  }
  for (const std::string_view name : {"provider_enabled", "enabled"}) {
    if (!Passes(call.query.Get(name), true)) {
      return absl::InvalidArgumentError(fmt::format("{} must be true or false", name));
    }
  }
  std::vector<Row> rows;
  for (const Model& model : snapshot.models()) {
    auto provider = snapshot.FindProviderById(model.provider_id);
    if (provider == nullptr || (!provider_id.empty() && provider->id != provider_id)) continue;
    if (!*Passes(call.query.Get("provider_enabled"), provider->enabled)) continue;
    if (!*Passes(call.query.Get("enabled"), model.enabled)) continue;
    rows.push_back({&model, std::move(provider)});
  }
  return rows;
}

Reply ListModels(const Context& context, const Call& call) {
  const auto snapshot = context.hotel->groups().Snapshot();
  const auto rows = FindRows(*snapshot, call);
  if (!rows.ok()) return StatusReply(rows.status());
  Json list = Json::array();
  for (const Row& row : *rows) list.push_back(ModelJson(*row.model, *row.provider));
  return JsonReply(list);
}

/// What orders the pages: rows that come and go do not move the others.
std::pair<std::int64_t, std::string_view> KeyOf(const Model& model) {
  return {model.created_at.time_since_epoch().count(), model.id};
}

std::optional<std::pair<std::int64_t, std::string>> ReadCursor(std::string_view cursor) {
  const std::size_t mark = cursor.find('_');
  std::int64_t created = 0;
  if (mark == std::string_view::npos || !base::IsUuid(cursor.substr(mark + 1))) return std::nullopt;
  const char* const end = cursor.data() + mark;
  const auto read = std::from_chars(cursor.data(), end, created);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return std::pair{created, base::Lower(cursor.substr(mark + 1))};
}

Reply PageOfModels(const Context& context, const Call& call) {
  constexpr std::size_t kDefaultLimit = 50;
  constexpr std::size_t kMostLimit = 200;
  std::size_t limit = kDefaultLimit;
  if (const std::string_view text = call.query.Get("limit"); !text.empty()) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), limit);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size() || limit < 1 ||
        limit > kMostLimit) {
      return Refusal(400, fmt::format("limit must be 1 to {}", kMostLimit));
    }
  }
  const std::string_view cursor = call.query.Get("cursor");
  const auto after = ReadCursor(cursor);
  if (!cursor.empty() && !after) return Refusal(400, "invalid cursor");
  const auto snapshot = context.hotel->groups().Snapshot();
  auto rows = FindRows(*snapshot, call);
  if (!rows.ok()) return StatusReply(rows.status());
  std::sort(rows->begin(), rows->end(),
            [](const Row& a, const Row& b) { return KeyOf(*a.model) < KeyOf(*b.model); });
  Json json;
  json["entries"] = Json::array();
  json["next_cursor"] = nullptr;
  json["total"] = rows->size();
  const auto enabled = static_cast<std::size_t>(
      std::count_if(rows->begin(), rows->end(), [](const Row& row) { return row.model->enabled; }));
  json["enabled_total"] = enabled;
  json["parked_total"] = rows->size() - enabled;
  const Model* last = nullptr;
  for (const Row& row : *rows) {
    if (after && KeyOf(*row.model) <= std::pair<std::int64_t, std::string_view>(*after)) continue;
    if (json["entries"].size() == limit) {
      json["next_cursor"] =
          fmt::format("{}_{}", last->created_at.time_since_epoch().count(), last->id);
      break;
    }
    json["entries"].push_back(ModelJson(*row.model, *row.provider));
    last = row.model;
  }
  return JsonReply(json);
}

/// The refusal for a model that stands in a list of the file; nullopt when it may be switched and
/// deleted here.
std::optional<Reply> RefuseListed(const Context& context, const GroupSnapshot& snapshot,
                                  const Model& model) {
  const auto provider = snapshot.FindProviderById(model.provider_id);
  if (!provider->fixed_models || context.file.providers.count(provider->routing_name) == 0) {
    return std::nullopt;
  }
  return OwnedByFile(context.file,
                     fmt::format("the list of models of provider '{}'", provider->name));
}

/// The model of the path, or the refusal.
std::optional<Reply> FindModel(const Call& call, const GroupSnapshot& snapshot,
                               const Model** model) {
  if (!base::IsUuid(call.path[0])) return Refusal(400, "invalid model id");
  *model = snapshot.FindModel(base::Lower(call.path[0]));
  if (*model == nullptr) return Refusal(404, "model not found");
  return std::nullopt;
}

ModelPatch PatchOf(const Call& call) {
  ModelPatch patch;
  if (const Json* on = call.Find("enabled")) patch.enabled = on->get<bool>();
  if (const Json* name = call.Find("display_name")) patch.display_name = name->get<std::string>();
  for (const auto& [name, field] :
       {std::pair{"context_length", &ModelPatch::context_length},
        std::pair{"max_output_tokens", &ModelPatch::max_output_tokens}}) {
    if (const Json* tokens = call.Find(name)) patch.*field = tokens->get<std::int64_t>();
  }
  for (const auto& [name, field] :
       {std::pair{"input_price_per_million", &ModelPatch::input_price},
        std::pair{"output_price_per_million", &ModelPatch::output_price},
        std::pair{"input_price_per_million_cache_hit", &ModelPatch::cached_input_price}}) {
    const Json* dollars = call.Find(name);
    if (dollars == nullptr) continue;
    (patch.*field).emplace();
    if (!dollars->is_null()) *(patch.*field) = dollars->get<double>();
  }
  return patch;
}

Reply PatchModel(const Context& context, const Call& call) {
  const auto before = context.hotel->groups().Snapshot();
  const Model* model = nullptr;
  if (auto refusal = FindModel(call, *before, &model)) return *std::move(refusal);
  const ModelPatch patch = PatchOf(call);
  if (patch.enabled) {
    if (auto refusal = RefuseListed(context, *before, *model)) return *std::move(refusal);
  }
  const absl::Status changed = context.hotel->providers().UpdateModel(model->id, patch);
  if (!changed.ok()) return StatusReply(changed);
  const auto after = context.hotel->groups().Snapshot();
  const Model* const now = after->FindModel(model->id);
  if (now == nullptr) return Refusal(404, "model not found");
  return JsonReply(ModelJson(*now, *after->FindProviderById(now->provider_id)));
}

Reply DeleteModel(const Context& context, const Call& call) {
  const auto snapshot = context.hotel->groups().Snapshot();
  const Model* model = nullptr;
  if (auto refusal = FindModel(call, *snapshot, &model)) return *std::move(refusal);
  if (auto refusal = RefuseListed(context, *snapshot, *model)) return *std::move(refusal);
  const absl::Status deleted = context.hotel->providers().DeleteModel(model->id);
  return deleted.ok() ? NoContent() : StatusReply(deleted);
}

Reply DeleteModels(const Context& context, const Call& call) {
  constexpr std::size_t kMost = 1000;
  const auto ids = call.body["ids"].get<std::vector<std::string>>();
  if (ids.empty() || ids.size() > kMost) {
    return Refusal(400, fmt::format("ids holds 1 to {} model ids", kMost));
  }
  const auto snapshot = context.hotel->groups().Snapshot();
  for (const std::string& id : ids) {
    if (!base::IsUuid(id)) return Refusal(400, "invalid model id");
    const Model* const model = snapshot->FindModel(base::Lower(id));
    if (model == nullptr) continue;
    if (auto refusal = RefuseListed(context, *snapshot, *model)) return *std::move(refusal);
  }
  const auto deleted = context.hotel->providers().DeleteModels(ids);
  if (!deleted.ok()) return StatusReply(deleted.status());
  Json json;
  json["deleted"] = *deleted;
  return JsonReply(json);
}

Reply TestModel(const Context& context, const Call& call) {
  const auto snapshot = context.hotel->groups().Snapshot();
  const Model* model = nullptr;
  if (auto refusal = FindModel(call, *snapshot, &model)) return *std::move(refusal);
  const auto provider = snapshot->FindProviderById(model->provider_id);
  if (!provider->enabled) {
    return StatusReply(absl::FailedPreconditionError(
        fmt::format("provider '{}' is switched off", provider->name)));
  }
  const Seat seat;
  if (!seat.taken()) return Seat::None();
  const auto outcome = TryModel(context, *model, *provider);
  return outcome.ok() ? JsonReply(*outcome) : StatusReply(outcome.status());
}

}  // namespace

std::vector<Route> ModelRoutes() {
  using T = FieldType;
  constexpr std::string_view kDollars = "US dollars, 0 to 1000; null: unknown";
  const std::vector<Param> filter = {{"provider_id", "only those of this provider"},
                                     {"provider_enabled", "true or false"},
                                     {"enabled", "true or false"}};
  std::vector<Param> pages = filter;
  pages.push_back({"cursor", "next_cursor of the page before"});
  pages.push_back({"limit", "1 to 200, default 50"});
  std::vector<Route> routes;
  routes.push_back({"GET",
                    "/api/models",
                    "List the models",
                    ListModels,
                    filter,
                    {},
                    false,
                    200,
                    "an array of models"});
  routes.push_back({"GET",
                    "/api/models/cursor",
                    "List the models page by page, oldest first",
                    PageOfModels,
                    pages,
                    {},
                    false,
                    200,
                    "`entries`, `next_cursor` (null at the end), `total`, `enabled_total`, "
                    "`parked_total`"});
  routes.push_back({"POST",
                    "/api/models/bulk-delete",
                    "Delete models, from groups too; ids of none are passed over",
                    DeleteModels,
                    {},
                    {{"ids", T::kStrings, "UUIDs of models, 1 to 1000", true}},
                    false,
                    200,
                    "`deleted`, how many there were"});
  routes.push_back({"POST",
                    "/api/models/{id}/test",
                    "Send the model one small request, for half a minute at most: a direct one, "
                    "which counts for "
                    "its circuit and stands in the log under the key name `admin`. 503: three wait "
                    "for providers",
                    TestModel,
                    {},
                    {},
                    false,
                    200,
                    "`success`, `duration_ms`, `ttft_ms` (null without a stream), `status` of the "
                    "provider (null "
                    "for none), `request_id`; `response` or `error`"});
  routes.push_back(
      {"PATCH",
       "/api/models/{id}",
       "Change what is given of a model",
       PatchModel,
       {},
       {{"enabled", T::kBool, "off: no route leads to it"},
        {"display_name", T::kString, "1 to 128 characters"},
        {"context_length", T::kInteger, "256 to 2000000; a provider's own word on it wins"},
        {"max_output_tokens", T::kInteger, "1 to 128000; a provider's own word on it wins"},
        {"input_price_per_million", T::kNumber, kDollars, false, true},
        {"output_price_per_million", T::kNumber, kDollars, false, true},
        {"input_price_per_million_cache_hit", T::kNumber, kDollars, false, true}},
       false,
       200,
       "the model"});
  routes.push_back({"DELETE",
                    "/api/models/{id}",
                    "Delete a model, from groups too",
                    DeleteModel,
                    {},
                    {},
                    false,
                    204,
                    ""});
  return routes;
}

}  // namespace hotel::server::api
