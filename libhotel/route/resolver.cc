#include "libhotel/route/resolver.h"

#include <algorithm>

#include "libhotel/base/strings.h"

namespace hotel::route {
namespace {

constexpr std::string_view kGroupPrefix = "hotel/";

/// A member of a group that the router may use, breaker aside; null provider when it may not.
struct Routable {
  std::shared_ptr<const Provider> provider;
  const Model* model = nullptr;
};

Routable FindRoutable(const GroupEntry& entry, const GroupSnapshot& snapshot) {
  if (!entry.enabled) return {};
  const Model* model = snapshot.FindModel(entry.model_uuid);
  if (model == nullptr || !model->enabled) return {};
  auto provider = snapshot.FindProviderById(model->provider_id);
  if (provider == nullptr || !provider->enabled) return {};
  return {std::move(provider), model};
}

bool Contains(const Route& route, const Provider& provider, std::string_view model) {
  const auto same = [&](const Candidate& candidate) {
    return candidate.provider->id == provider.id && candidate.model == model;
  };
  return std::any_of(route.candidates.begin(), route.candidates.end(), same) ||
         std::any_of(route.skipped.begin(), route.skipped.end(),
                     [&](const SkippedCandidate& skip) { return same(skip.candidate); });
}

Route ResolveGroup(std::string_view name, const GroupSnapshot& snapshot, const Settings& settings,
                   const CircuitBreaker& breaker, TimePoint now) {
  Route route;
  const FailoverGroup* group = snapshot.FindGroup(name);
  if (group == nullptr) {
    route.refusal = decide::ModelNotFound(std::string(kGroupPrefix) + std::string(name));
  } else if (!group->group_enabled) {
    route.refusal = decide::GroupDisabled();
  } else if (group->entries.empty()) {
    route.refusal = decide::GroupEmpty();
  }
  if (route.refusal) return route;

  int undecryptable = 0;
  for (const GroupEntry& entry : group->entries) {
    Routable member = FindRoutable(entry, snapshot);
    // A list that repeats a pair contacts it once (F019).
    if (member.provider == nullptr || Contains(route, *member.provider, member.model->model_id)) {
      continue;
    }
    Candidate candidate{member.provider, member.model->model_id,
                        &settings.For(member.provider->routing_name)};
    if (const auto block = breaker.Blocked(candidate.circuit(), now)) {
      route.skipped.push_back({std::move(candidate), *block});
    } else if (candidate.provider->key_state == KeyState::kUndecryptable) {
      ++undecryptable;
    } else {
      route.candidates.push_back(std::move(candidate));
    }
  }
  if (route.candidates.empty() && route.skipped.empty() && undecryptable > 0) {
    route.refusal = decide::KeysUndecryptable(undecryptable);
  }
  return route;
}

Route ResolveDirect(std::string_view requested, std::size_t slash, const GroupSnapshot& snapshot,
                    const Settings& settings) {
  Route route;
  route.direct = true;
  const std::string_view model_id = requested.substr(slash + 1);
  auto provider = snapshot.FindProvider(requested.substr(0, slash));
  const Model* model = provider == nullptr ? nullptr : snapshot.FindModel(provider->id, model_id);
  const bool known = provider != nullptr && provider->enabled &&
                     (model != nullptr ? model->enabled : !provider->fixed_models);
  if (model_id.empty() || !known) {
    route.refusal = decide::ModelNotFound(requested);
  } else if (provider->key_state == KeyState::kUndecryptable) {
    route.refusal = decide::KeysUndecryptable(1);
  } else {
    const EngineSettings* own = &settings.For(provider->routing_name);
    route.candidates.push_back({std::move(provider), std::string(model_id), own});
  }
  return route;
}

}  // namespace

std::optional<TimePoint> Route::earliest_retry() const {
  std::optional<TimePoint> earliest;
  for (const SkippedCandidate& skip : skipped) {
    if (!earliest || skip.block.until < *earliest) earliest = skip.block.until;
  }
  return earliest;
}

Route Resolve(std::string_view requested, const GroupSnapshot& snapshot, const Settings& settings,
              const CircuitBreaker& breaker, TimePoint now) {
  if (requested.substr(0, kGroupPrefix.size()) == kGroupPrefix) {
    return ResolveGroup(base::Lower(requested.substr(kGroupPrefix.size())), snapshot, settings,
                        breaker, now);
  }
  const std::size_t slash = requested.find('/');
  if (slash == std::string_view::npos || slash == 0) {
    Route route;
    const std::string name = base::Lower(requested);
    route.refusal = decide::BadModelForm(
        snapshot.FindGroup(name) != nullptr ? std::string(kGroupPrefix) + name : "");
    return route;
  }
  return ResolveDirect(requested, slash, snapshot, settings);
}

std::vector<ModelListing> ListModels(const GroupSnapshot& snapshot) {
  std::vector<ModelListing> list;
  for (const Model& model : snapshot.models()) {
    const auto provider = snapshot.FindProviderById(model.provider_id);
    if (!model.enabled || provider == nullptr || !provider->enabled) continue;
    list.push_back({provider->routing_name + "/" + model.model_id, provider->routing_name,
                    provider->routing_name});
  }
  for (const FailoverGroup& group : snapshot.groups()) {
    if (!group.group_enabled) continue;
    for (const GroupEntry& entry : group.entries) {
      const Routable member = FindRoutable(entry, snapshot);
      if (member.provider == nullptr) continue;
      list.push_back({std::string(kGroupPrefix) + group.display_model, "hotel",
                      member.provider->routing_name});
      break;
    }
  }
  return list;
}

}  // namespace hotel::route
