#include "libhotel/route/listing.h"

#include <cstddef>
#include <string>

#include "libhotel/base/lower_case.h"
#include "libhotel/base/strings.h"
#include "libhotel/route/lookup.h"

namespace hotel::route {
namespace {

/// For whoever wants to know all targets of a virtual model and takes nobody's turn.
std::size_t PickFirst(const VirtualModelSpec&, bool) { return 0; }

}  // namespace

std::vector<ModelListing> ListModels(const GroupSnapshot& snapshot, const VirtualRoutes& virtuals,
                                     const Inventory* inventory,
                                     const std::vector<std::string>* allowed) {
  std::vector<ModelListing> list;
  Wish wish;
  wish.allowed = allowed;
  const auto shown = [&](const Provider& provider) {
    return wish.Allows(provider) && !IsLeftOut(inventory, provider);
  };
  for (const Model& model : snapshot.models()) {
    const auto provider = snapshot.FindProviderById(model.provider_id);
    if (!model.enabled || provider == nullptr || !provider->enabled) continue;
    if (!shown(*provider)) continue;
    list.push_back({provider->routing_name + "/" + model.model_id, provider->routing_name,
                    provider->routing_name});
  }
  for (const FailoverGroup& group : snapshot.groups()) {
    if (!group.group_enabled) continue;
    for (const GroupEntry& entry : group.entries) {
      const Routable member = FindRoutable(entry, snapshot);
      if (member.provider == nullptr || !shown(*member.provider)) continue;
      list.push_back({std::string(kGroupPrefix) + group.display_model, "hotel",
                      member.provider->routing_name});
      break;
    }
  }
  for (const VirtualModelSpec& spec : virtuals.models.specs()) {
    for (const std::string& name :
         base::ExpandVirtualModel(virtuals.models, spec.source, PickFirst)) {
      const Named target = FindNamed(name, snapshot);
      if (target.provider == nullptr || !shown(*target.provider)) continue;
      list.push_back({spec.source, "hotel", target.provider->routing_name});
      break;
    }
  }
  return list;
}

std::vector<const Model*> ReachableModels(const Wish& wish, const GroupSnapshot& snapshot,
                                          const VirtualRoutes& virtuals) {
  std::vector<const Model*> models;
  if (wish.endpoint == Endpoint::kPassthrough) return models;
  const auto add_named = [&](std::string_view name) {
    const Named target = FindNamed(name, snapshot);
    if (target.row != nullptr && wish.Allows(*target.provider)) models.push_back(target.row);
  };
  if (base::StartsWith(wish.name, kGroupPrefix)) {
    const auto* const group =
        snapshot.FindGroup(base::LowerCase(wish.name.substr(kGroupPrefix.size())));
    if (group == nullptr) return models;
    for (const GroupEntry& entry : group->entries) {
      const Routable member = FindRoutable(entry, snapshot);
      if (member.provider != nullptr && wish.Allows(*member.provider)) {
        models.push_back(member.model);
      }
    }
  } else if (virtuals.models.Find(wish.name) != nullptr) {
    for (const auto& name : base::ExpandVirtualModel(virtuals.models, wish.name, PickFirst)) {
      add_named(name);
    }
  } else {
    add_named(wish.name);
  }
  return models;
}

}  // namespace hotel::route
