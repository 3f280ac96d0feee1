#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotel/failover_group.h"

#include "absl/container/flat_hash_map.h"
#include "libhotel/base/lower_case.h"
#include "libhotel/base/string_hash.h"

namespace hotel {
namespace {

template <typename T>
using ByName = absl::flat_hash_map<std::string, T, base::StringHash, base::StringEqual>;

template <typename T>
T Find(const ByName<T>& map, std::string_view key) noexcept {
  const auto it = map.find(key);
  return it == map.end() ? nullptr : it->second;
}

}  // namespace

// Raw pointers lead into the snapshot's own vectors, which never change after construction.
struct GroupSnapshot::Index {
  ByName<const FailoverGroup*> group_by_name;
  ByName<const FailoverGroup*> group_by_id;
  ByName<const std::shared_ptr<const Provider>*> provider_by_name;
  ByName<const std::shared_ptr<const Provider>*> provider_by_id;
  ByName<const Model*> model_by_uuid;
  ByName<ByName<const Model*>> model_by_provider;
};

GroupSnapshot::GroupSnapshot(std::uint64_t generation,
                             std::vector<std::shared_ptr<const Provider>> providers,
                             std::vector<Model> models, std::vector<FailoverGroup> groups)
    : generation_(generation),
      providers_(std::move(providers)),
      models_(std::move(models)),
      groups_(std::move(groups)),
      index_(std::make_unique<Index>()) {
  for (const FailoverGroup& group : groups_) {
    index_->group_by_name.emplace(group.display_model, &group);
    index_->group_by_id.emplace(group.id, &group);
  }
  for (const std::shared_ptr<const Provider>& provider : providers_) {
    index_->provider_by_name.emplace(provider->routing_name, &provider);
    index_->provider_by_id.emplace(provider->id, &provider);
  }
  for (const Model& model : models_) {
    index_->model_by_uuid.emplace(model.id, &model);
    index_->model_by_provider[model.provider_id].emplace(model.model_id, &model);
  }
}

GroupSnapshot::~GroupSnapshot() = default;

const FailoverGroup* GroupSnapshot::FindGroup(std::string_view display_model) const noexcept {
  return Find(index_->group_by_name, display_model);
}

const FailoverGroup* GroupSnapshot::FindGroupById(std::string_view group_id) const noexcept {
  return Find(index_->group_by_id, group_id);
}

std::shared_ptr<const Provider> GroupSnapshot::FindProvider(
    std::string_view routing_name) const noexcept {
  const auto* found = Find(index_->provider_by_name, routing_name);
  return found == nullptr ? nullptr : *found;
}

std::shared_ptr<const Provider> GroupSnapshot::FindProviderById(
    std::string_view provider_id) const noexcept {
  const auto* found = Find(index_->provider_by_id, provider_id);
  return found == nullptr ? nullptr : *found;
}

const Model* GroupSnapshot::FindModel(std::string_view model_uuid) const noexcept {
  return Find(index_->model_by_uuid, model_uuid);
}

const Model* GroupSnapshot::FindModel(std::string_view provider_id,
                                      std::string_view model_id) const noexcept {
  const auto it = index_->model_by_provider.find(provider_id);
  return it == index_->model_by_provider.end() ? nullptr : Find(it->second, model_id);
}

std::string BaseModelName(std::string_view model_id) {
  const std::size_t slash = model_id.rfind('/');
  return base::LowerCase(slash == std::string_view::npos ? model_id : model_id.substr(slash + 1));
}

std::string RoutingName(std::string_view provider_name) {
  std::string result(provider_name);
  std::replace(result.begin(), result.end(), ' ', '-');
  return result;
}

}  // namespace hotel
