#include "libhotel/route/resolver.h"

#include <algorithm>

#include "libhotel/base/lower_case.h"
#include "libhotel/base/strings.h"
#include "libhotel/route/lookup.h"
#include "libhotel/wire/endpoints.h"

namespace hotel::route {
namespace {

constexpr std::string_view kVersionPrefix = "/v1";
constexpr std::string_view kOtherDialect = "does not speak this endpoint";
constexpr std::string_view kStale = "its provider could not be listed (stale)";
constexpr std::string_view kOtherEmbedding = "another embedding model";
constexpr std::string_view kNotAllowed = "not allowed for the virtual key";

bool Contains(const Route& route, const Provider& provider, std::string_view model) {
  const auto same = [&](const Candidate& candidate) {
    return candidate.provider->id == provider.id && candidate.model == model;
  };
  const auto holds = [&](const auto& left_out) { return same(left_out.candidate); };
  return std::any_of(route.candidates.begin(), route.candidates.end(), same) ||
         std::any_of(route.skipped.begin(), route.skipped.end(), holds) ||
         std::any_of(route.unfit.begin(), route.unfit.end(), holds);
}

decide::TerminalAnswer NobodySpeaks(const Wish& wish) {
  return decide::EndpointNotSupported(
      wish.name, std::string(kVersionPrefix).append(wire::RowOf(wish.endpoint).path));
}

/// Puts candidates in order: what cannot serve or is blocked apart, what has no usable key away.
class RouteBuilder {
 public:
  RouteBuilder(const Wish& wish, const Settings& settings, const CircuitBreaker& breaker,
               TimePoint now)
      : wish_(wish), settings_(settings), breaker_(breaker), now_(now) {}

  void Add(std::shared_ptr<const Provider> provider, std::string model) {
    // A list that repeats a pair contacts it once (F019).
    if (Contains(route_, *provider, model) || IsWaiting(*provider, model)) return;
    const EngineSettings* own = &settings_.For(provider->routing_name);
    Candidate candidate{std::move(provider), std::move(model), own};
    if (!wish_.Allows(*candidate.provider)) {
      denied_ = true;
      route_.unfit.push_back({std::move(candidate), kNotAllowed});
    } else if (const std::string_view reason = Unfit(candidate); !reason.empty()) {
      route_.unfit.push_back({std::move(candidate), reason});
    } else if (IsLeftOut(wish_.inventory, *candidate.provider)) {
      stale_.push_back(std::move(candidate));
    } else {
      Place(std::move(candidate));
    }
  }

  Route Take() {
    const bool needed = route_.candidates.empty();
    for (Candidate& candidate : stale_) {
      if (needed) {
        Place(std::move(candidate));
      } else {
        route_.unfit.push_back({std::move(candidate), kStale});
      }
    }
    if (route_.candidates.empty() && route_.skipped.empty()) {
      if (undecryptable_ > 0) {
        route_.refusal = decide::KeysUndecryptable(undecryptable_);
      } else if (denied_) {
        route_.refusal = decide::ProviderNotAllowed();
      } else if (!route_.unfit.empty()) {
        route_.refusal = NobodySpeaks(wish_);
      }
    }
    return std::move(route_);
  }

 private:
  bool IsWaiting(const Provider& provider, std::string_view model) const {
    return std::any_of(stale_.begin(), stale_.end(), [&](const Candidate& candidate) {
      return candidate.provider->id == provider.id && candidate.model == model;
    });
  }

  void Place(Candidate candidate) {
    if (const auto block = breaker_.Blocked(candidate.circuit(), now_)) {
      route_.skipped.push_back({std::move(candidate), *block});
    } else if (candidate.provider->key_state == KeyState::kUndecryptable) {
      ++undecryptable_;
    } else {
      route_.candidates.push_back(std::move(candidate));
    }
  }

  /// "" when it can take the request.
  std::string_view Unfit(const Candidate& candidate) {
    if (!wire::Speaks(candidate.provider->type, wish_.endpoint)) return kOtherDialect;
    if (wish_.endpoint != Endpoint::kEmbeddings) return {};
    std::string name = BaseModelName(candidate.model);
    // The first in the list says which model it is, also while its circuit is open: what was
    // embedded with it before does not compare with the vectors of another.
    if (!embedding_)
      embedding_ = std::move(name);
    else if (*embedding_ != name)
      return kOtherEmbedding;
    return {};
  }

  const Wish& wish_;
  const Settings& settings_;
  const CircuitBreaker& breaker_;
  TimePoint now_;
  Route route_;
  std::vector<Candidate> stale_;
  std::optional<std::string> embedding_;
  int undecryptable_ = 0;
  bool denied_ = false;
};

Route ResolveGroup(const Wish& wish, const GroupSnapshot& snapshot, const Settings& settings,
                   const CircuitBreaker& breaker, TimePoint now) {
  const std::string name = base::LowerCase(wish.name.substr(kGroupPrefix.size()));
  Route route;
  const FailoverGroup* group = snapshot.FindGroup(name);
  if (group == nullptr) {
    route.refusal = decide::ModelNotFound(std::string(kGroupPrefix) + name);
  } else if (!group->group_enabled) {
    route.refusal = decide::GroupDisabled();
  } else if (group->entries.empty()) {
    route.refusal = decide::GroupEmpty();
  }
  if (route.refusal) return route;

  RouteBuilder builder(wish, settings, breaker, now);
  for (const GroupEntry& entry : group->entries) {
    Routable member = FindRoutable(entry, snapshot);
    if (member.provider != nullptr) builder.Add(std::move(member.provider), member.model->model_id);
  }
  return builder.Take();
}

Route ResolveVirtual(const Wish& wish, const GroupSnapshot& snapshot, const Settings& settings,
                     const CircuitBreaker& breaker, VirtualRoutes& virtuals, TimePoint now) {
  RouteBuilder builder(wish, settings, breaker, now);
  const auto pick = [&](const VirtualModelSpec& spec, bool chosen) {
    return virtuals.turns.Next(spec, chosen);
  };
  for (const std::string& name : base::ExpandVirtualModel(virtuals.models, wish.name, pick)) {
    Named target = FindNamed(name, snapshot);
    if (target.provider != nullptr) builder.Add(std::move(target.provider), target.model);
  }
  return builder.Take();
}

/// A route of one: `named`, whose circuit does not take it out of the list.
Route RouteOfOne(Named named, const Settings& settings) {
  Route route;
  route.direct = true;
  if (named.provider->key_state == KeyState::kUndecryptable) {
    route.refusal = decide::KeysUndecryptable(1);
  } else {
    const EngineSettings* own = &settings.For(named.provider->routing_name);
    route.candidates.push_back({std::move(named.provider), std::move(named.model), own});
  }
  return route;
}

Route RefusedDirect(decide::TerminalAnswer refusal) {
  Route route;
  route.direct = true;
  route.refusal = std::move(refusal);
  return route;
}

Route ResolveDirect(const Wish& wish, const GroupSnapshot& snapshot, const Settings& settings) {
  Named named = FindNamed(wish.name, snapshot);
  if (named.provider == nullptr) return RefusedDirect(decide::ModelNotFound(wish.name));
  if (!wish.Allows(*named.provider)) return RefusedDirect(decide::ProviderNotAllowed());
  if (!wire::Speaks(named.provider->type, wish.endpoint)) return RefusedDirect(NobodySpeaks(wish));
  return RouteOfOne(std::move(named), settings);
}

Route ResolvePassthrough(const Wish& wish, const GroupSnapshot& snapshot,
                         const Settings& settings) {
  auto provider = snapshot.FindProvider(wish.name);
  if (provider == nullptr || !provider->enabled) {
    return RefusedDirect(decide::ProviderNotFound(wish.name));
  }
  if (!wish.Allows(*provider)) return RefusedDirect(decide::ProviderNotAllowed());
  return RouteOfOne({std::move(provider), std::string(kAnyModel), nullptr}, settings);
}

}  // namespace

bool Wish::Allows(const Provider& provider) const {
  return allowed == nullptr ||
         std::find(allowed->begin(), allowed->end(), provider.id) != allowed->end();
}

std::optional<TimePoint> Route::earliest_retry() const {
  std::optional<TimePoint> earliest;
  for (const SkippedCandidate& skip : skipped) {
    if (!earliest || skip.block.until < *earliest) earliest = skip.block.until;
  }
  return earliest;
}

Route Resolve(const Wish& wish, const GroupSnapshot& snapshot, const Settings& settings,
              const CircuitBreaker& breaker, VirtualRoutes& virtuals, TimePoint now) {
  if (wish.endpoint == Endpoint::kPassthrough) {
    return ResolvePassthrough(wish, snapshot, settings);
  }
  if (base::StartsWith(wish.name, kGroupPrefix)) {
    return ResolveGroup(wish, snapshot, settings, breaker, now);
  }
  if (virtuals.models.Find(wish.name) != nullptr) {
    return ResolveVirtual(wish, snapshot, settings, breaker, virtuals, now);
  }
  const std::size_t slash = wish.name.find('/');
  if (slash == std::string_view::npos || slash == 0) {
    Route route;
    const std::string name = base::LowerCase(wish.name);
    route.refusal = decide::BadModelForm(
        snapshot.FindGroup(name) != nullptr ? std::string(kGroupPrefix) + name : "");
    return route;
  }
  return ResolveDirect(wish, snapshot, settings);
}

}  // namespace hotel::route
