// SqliteStore: models.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "hotel/failover_group.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/ids.h"
#include "libhotel/base/strings.h"
#include "libhotel/store/model_rows.h"
#include "libhotel/store/provider_rows.h"
#include "libhotel/store/provider_rules.h"
#include "libhotel/store/sqlite_store.h"
#include "libhotel/store/text_rules.h"

namespace hotel::store {
namespace {

constexpr std::size_t kMostLabel = 128;
constexpr double kMostDollars = 1000;

absl::Status ModelNotFound() { return absl::NotFoundError("model not found"); }

absl::Status CheckTokens(std::string_view name, std::optional<std::int64_t> tokens,
                         std::int64_t least, std::int64_t most) {
  if (!tokens || (*tokens >= least && *tokens <= most)) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{} is {} to {}", name, least, most));
}

absl::Status CheckPrice(std::string_view name, const std::optional<std::optional<double>>& price) {
  if (!price || !*price || (**price >= 0 && **price <= kMostDollars)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{} is 0 to {} dollars per million tokens", name, kMostDollars));
}

absl::Status CheckPatch(const ModelPatch& patch) {
  absl::Status status;
  if (patch.display_name) {
    status = CheckCharacters("display_name", base::Trim(*patch.display_name), 1, kMostLabel);
  }
  if (status.ok()) status = CheckTokens("context_length", patch.context_length, 256, 2'000'000);
  if (status.ok()) status = CheckTokens("max_output_tokens", patch.max_output_tokens, 1, 128'000);
  if (status.ok()) status = CheckPrice("input_price_per_million", patch.input_price);
  if (status.ok()) status = CheckPrice("output_price_per_million", patch.output_price);
  if (status.ok()) {
    status = CheckPrice("input_price_per_million_cache_hit", patch.cached_input_price);
  }
  return status;
}

Model Patched(Model model, const ModelPatch& patch) {
  if (patch.enabled && (model.enabled != *patch.enabled ||
                        // What a list had switched off already becomes the operator's word.
                        model.disabled_manually == *patch.enabled)) {
    model.enabled = *patch.enabled;
    model.disabled_manually = !*patch.enabled;
    model.missing_scans = 0;
    model.retired_at.reset();
  }
  if (patch.display_name) model.display_name = base::Trim(*patch.display_name);
  model.context_length = patch.context_length.value_or(model.context_length);
  model.max_output_tokens = patch.max_output_tokens.value_or(model.max_output_tokens);
  ModelPrices& prices = model.prices;
  if (patch.input_price) prices.input = *patch.input_price;
  if (patch.output_price) prices.output = *patch.output_price;
  if (patch.cached_input_price) prices.cached_input = *patch.cached_input_price;
  if (patch.input_price || patch.output_price || patch.cached_input_price) {
    prices.set_by_operator = prices.input || prices.output || prices.cached_input;
  }
  return model;
}

}  // namespace

absl::StatusOr<std::string> SqliteStore::EnsureModel(std::string_view provider_id,
                                                     std::string_view model_id) {
  absl::StatusOr<std::string> wanted = NormalizeModelId(model_id);
  if (!wanted.ok()) return wanted.status();
  const std::string provider = base::Lower(provider_id);
  std::string id;
  auto snapshot = Write([&](Writer& writer) -> absl::Status {
    Connection& connection = *writer.connection;
    absl::StatusOr<std::optional<ProviderRow>> row = ReadProvider(connection, provider);
    if (!row.ok()) return row.status();
    if (!row->has_value()) return absl::NotFoundError("provider not found");
    absl::StatusOr<std::vector<Model>> models = ReadModelsOf(connection, provider);
    if (!models.ok()) return models.status();
    for (const Model& model : *models) {
      if (model.model_id != *wanted) continue;
      id = model.id;
      return absl::OkStatus();
    }
    if ((*row)->fixed_models) {
      return absl::InvalidArgumentError(
          fmt::format("provider '{}' has a fixed list of models, and '{}' is not in it",
                      (*row)->name, *wanted));
    }
    Model model;
    model.id = id = base::NewUuid();
    model.provider_id = provider;
    model.model_id = *wanted;
    return InsertModel(connection, model, clock_->WallNow());
  });
  if (!snapshot.ok()) return snapshot.status();
  return id;
}

absl::Status SqliteStore::SetModelEnabled(std::string_view model_uuid, bool enabled) {
  ModelPatch patch;
  patch.enabled = enabled;
  return UpdateModel(model_uuid, patch);
}

absl::Status SqliteStore::UpdateModel(std::string_view model_uuid, const ModelPatch& patch) {
  if (absl::Status status = CheckPatch(patch); !status.ok()) return status;
  const std::string id = base::Lower(model_uuid);
  return Write([&](Writer& writer) -> absl::Status {
           absl::StatusOr<std::optional<Model>> before = ReadModel(*writer.connection, id);
           if (!before.ok()) return before.status();
           if (!before->has_value()) return ModelNotFound();
           const Model after = Patched(**before, patch);
           if (after == **before) return absl::OkStatus();
           absl::Status status = store::UpdateModel(*writer.connection, after, clock_->WallNow());
           if (!status.ok() || after.enabled == (*before)->enabled) return status;
           return KeepFloors(writer);
         })
      .status();
}

absl::Status SqliteStore::DeleteModel(std::string_view model_uuid) {
  const auto deleted = DeleteModels({std::string(model_uuid)});
  if (!deleted.ok()) return deleted.status();
  return *deleted == 0 ? ModelNotFound() : absl::OkStatus();
}

absl::StatusOr<std::size_t> SqliteStore::DeleteModels(const std::vector<std::string>& model_uuids) {
  std::size_t deleted = 0;
  absl::Status status = Write([&](Writer& writer) -> absl::Status {
                          for (const std::string& uuid : model_uuids) {
                            const std::string id = base::Lower(uuid);
                            absl::StatusOr<std::optional<Model>> model =
                                ReadModel(*writer.connection, id);
                            if (!model.ok()) return model.status();
                            if (!model->has_value()) continue;
                            absl::Status gone = store::DeleteModel(*writer.connection, id);
                            if (!gone.ok()) return gone;
                            ++deleted;
                          }
                          return deleted == 0 ? absl::OkStatus() : KeepFloors(writer);
                        }).status();
  if (!status.ok()) return status;
  return deleted;
}

}  // namespace hotel::store
