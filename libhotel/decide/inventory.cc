#include "libhotel/decide/inventory.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace hotel::decide {
namespace {

/// A model that can be missed: it is in use and was listed before.
bool IsKnown(const Model& model) { return model.enabled && model.last_seen_at.has_value(); }

FieldChange::Value ValueOf(const std::string& text) {
  if (text.empty()) return std::monostate{};
  return text;
}
FieldChange::Value ValueOf(std::int64_t tokens) {
  if (tokens == 0) return std::monostate{};
  return tokens;
}
FieldChange::Value ValueOf(std::optional<double> dollars) {
  if (!dollars) return std::monostate{};
  return *dollars;
}

/// Takes over what a listing says; what it leaves open stays as it was.
class Merge {
 public:
  Merge(Model* row, ModelUpdate* update) : row_(row), update_(update) {}

  void From(const ListedModel& listed) {
    Take("name", row_->name, listed.name, !listed.name.empty());
    Take("owned_by", row_->owned_by, listed.owned_by, !listed.owned_by.empty());
    Take("context_length", row_->context_length, listed.context_length, listed.context_length != 0);
    Take("max_output_tokens", row_->max_output_tokens, listed.max_output_tokens,
         listed.max_output_tokens != 0);
    if (!row_->prices.set_by_operator) {
      TakePrice("input_price_per_million", &ModelPrices::input, listed.prices);
      TakePrice("output_price_per_million", &ModelPrices::output, listed.prices);
      TakePrice("input_price_per_million_cache_hit", &ModelPrices::cached_input, listed.prices);
    }
    if (listed.details != ModelDetails()) row_->details = listed.details;
  }

 private:
  template <typename T>
  void Take(const char* field, T& held, const T& said, bool is_said) {
    if (!is_said || held == said) return;
    update_->changes.push_back({field, ValueOf(held), ValueOf(said)});
    held = said;
  }
  void TakePrice(const char* field, std::optional<double> ModelPrices::*price,
                 const ModelPrices& said) {
    Take(field, row_->prices.*price, said.*price, (said.*price).has_value());
  }

  Model* row_;
  ModelUpdate* update_;
};

void PlanListed(const ListedModel& listed, Model row, WallTime now, InventoryPlan* plan) {
  ModelUpdate update{listed.model_id, {}};
  Merge(&row, &update).From(listed);
  if (!row.enabled && !row.disabled_manually) {
    row.enabled = true;
    plan->report.reenabled.push_back(row.model_id);
  }
  row.last_seen_at = now;
  row.missing_scans = 0;
  row.retired_at.reset();
  if (!update.changes.empty()) plan->report.updated.push_back(std::move(update));
  plan->changed.push_back(std::move(row));
}

void PlanNew(const std::string& provider_id, const ListedModel& listed, WallTime now,
             InventoryPlan* plan) {
  Model row;
  row.provider_id = provider_id;
  row.model_id = listed.model_id;
  ModelUpdate ignored;
  Merge(&row, &ignored).From(listed);
  row.last_seen_at = now;
  plan->report.added.push_back(row.model_id);
  plan->added.push_back(std::move(row));
}

void PlanMissing(const std::vector<const Model*>& missing, WallTime now, InventoryPlan* plan) {
  for (const Model* model : missing) {
    Model row = *model;
    if (++row.missing_scans >= kMissingScans) {
      row.enabled = false;
      row.disabled_manually = false;
      row.retired_at = now;
      plan->report.disabled.push_back(row.model_id);
    }
    plan->changed.push_back(std::move(row));
  }
}

std::unordered_set<std::string_view> IdsOf(const std::vector<ListedModel>& listing) {
  std::unordered_set<std::string_view> ids;
  for (const ListedModel& model : listing) ids.insert(model.model_id);
  return ids;
}

}  // namespace

InventoryPlan PlanInventory(const std::string& provider_id, const std::vector<Model>& rows,
                            const std::vector<ListedModel>& listing, bool may_disable,
                            WallTime now) {
  std::unordered_map<std::string_view, const Model*> row_by_id;
  for (const Model& row : rows) row_by_id.emplace(row.model_id, &row);
  InventoryPlan plan;
  for (const ListedModel& listed : listing) {
    const auto row = row_by_id.find(listed.model_id);
    if (row == row_by_id.end()) {
      PlanNew(provider_id, listed, now, &plan);
    } else {
      PlanListed(listed, *row->second, now, &plan);
    }
  }
  const auto listed = IdsOf(listing);
  std::size_t known = 0;
  std::vector<const Model*> missing;
  for (const Model& row : rows) {
    if (!IsKnown(row)) continue;
    ++known;
    if (listed.count(row.model_id) == 0) missing.push_back(&row);
  }
  plan.suspect = missing.size() > kMassVanish && 2 * missing.size() > known;
  if (may_disable && !plan.suspect) PlanMissing(missing, now, &plan);
  return plan;
}

bool LacksKnownModels(const std::string& provider_id, const std::vector<Model>& models,
                      const std::vector<ListedModel>& listing) {
  const auto listed = IdsOf(listing);
  return std::any_of(models.begin(), models.end(), [&](const Model& model) {
    return model.provider_id == provider_id && IsKnown(model) && listed.count(model.model_id) == 0;
  });
}

void Unite(std::vector<ListedModel>* listing, std::vector<ListedModel> more) {
  std::unordered_set<std::string> ids;
  for (const ListedModel& model : *listing) ids.insert(model.model_id);
  for (ListedModel& model : more) {
    if (ids.insert(model.model_id).second) listing->push_back(std::move(model));
  }
}

std::vector<std::string> PlanPruning(const std::vector<Model>& models,
                                     const std::vector<std::string>& provider_ids, WallTime before,
                                     std::size_t most) {
  const std::unordered_set<std::string_view> providers(provider_ids.begin(), provider_ids.end());
  std::vector<const Model*> retired;
  for (const Model& model : models) {
    if (model.enabled || model.disabled_manually || !model.retired_at) continue;
    if (*model.retired_at < before && providers.count(model.provider_id) != 0) {
      retired.push_back(&model);
    }
  }
  std::stable_sort(retired.begin(), retired.end(),
                   [](const Model* a, const Model* b) { return *a->retired_at < *b->retired_at; });
  if (retired.size() > most) retired.resize(most);
  std::vector<std::string> ids;
  for (const Model* model : retired) ids.push_back(model->id);
  return ids;
}

}  // namespace hotel::decide
