#include "libhotel/route/lookup.h"

#include <cstddef>
#include <utility>

namespace hotel::route {

Routable FindRoutable(const GroupEntry& entry, const GroupSnapshot& snapshot) {
  if (!entry.enabled) return {};
  const Model* model = snapshot.FindModel(entry.model_uuid);
  if (model == nullptr || !model->enabled) return {};
  auto provider = snapshot.FindProviderById(model->provider_id);
  if (provider == nullptr || !provider->enabled) return {};
  return {std::move(provider), model};
}

Named FindNamed(std::string_view name, const GroupSnapshot& snapshot) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || slash + 1 == name.size()) return {};
  auto provider = snapshot.FindProvider(name.substr(0, slash));
  if (provider == nullptr || !provider->enabled) return {};
  const std::string_view id = name.substr(slash + 1);
  const Model* model = snapshot.FindModel(provider->id, id);
  const bool served = model != nullptr ? model->enabled : !provider->fixed_models;
  if (!served) return {};
  return {std::move(provider), std::string(id), model};
}

bool IsLeftOut(const Inventory* inventory, const Provider& provider) {
  return inventory != nullptr && !provider.fixed_models && provider.autodiscovery_enabled &&
         inventory->IsLeftOut(provider.id);
}

}  // namespace hotel::route
