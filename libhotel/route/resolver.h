// From the model name a client wrote to an ordered list of candidates (seed 000, "Hotel Routing").
#ifndef HOTEL_ROUTE_RESOLVER_H_
#define HOTEL_ROUTE_RESOLVER_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotel/circuit_breaker.h"
#include "hotel/discovery.h"
#include "hotel/failover_group.h"
#include "hotel/inflight_limiter.h"
#include "hotel/router.h"
#include "hotel/settings.h"
#include "hotel/types.h"
#include "hotel/virtual_model.h"

#include "libhotel/base/virtual_models.h"
#include "libhotel/decide/terminal.h"

namespace hotel::route {

/// A (provider, upstream model) pair that may be contacted.
struct Candidate {
  std::shared_ptr<const Provider> provider;
  std::string model;                         ///< upstream model id
  const EngineSettings* settings = nullptr;  ///< lives as long as the Settings given to Resolve
  CircuitKey circuit() const { return {provider->id, model, provider->routing_name}; }
  InflightTarget inflight() const {
    return {provider->id, provider->routing_name, provider->max_in_flight};
  }
};

/// A candidate that its own open circuit, or the verdict on its provider, leaves out.
struct SkippedCandidate {
  Candidate candidate;
  Block block;
};

/// A candidate that cannot take a request of this endpoint, whatever its circuit says.
struct UnfitCandidate {
  Candidate candidate;
  std::string_view reason;  ///< for the record; static storage
};

struct Route {
  std::vector<Candidate> candidates;  ///< priority order, no pair twice
  std::vector<SkippedCandidate> skipped;
  std::vector<UnfitCandidate> unfit;  ///< also beside a refusal
  /// `<provider>/<model>` or a passthrough: skipped by its circuit only under block_direct
  /// (decisions, 7).
  bool direct = false;
  /// Set when the name leads nowhere: the answer to give.
  std::optional<decide::TerminalAnswer> refusal;

  std::optional<TimePoint> earliest_retry() const;
};

/// The virtual models of a router and whose turn it is in them.
struct VirtualRoutes {
  explicit VirtualRoutes(std::vector<VirtualModelSpec> specs) : models(std::move(specs)) {}
  base::VirtualModels models;
  base::RoundRobin turns;
};

/// The model of the candidate of a passthrough: a request there names none.
inline constexpr std::string_view kAnyModel = "*";

/// What a request wants to be served by.
struct Wish {
  std::string_view name;  ///< the request's model; for the passthrough a provider in routing form
  Endpoint endpoint = Endpoint::kChatCompletions;
  const std::vector<std::string>* allowed = nullptr;  ///< ids of providers; null = all
  const Inventory* inventory = nullptr;               ///< null: no provider is left out

  bool Allows(const Provider& provider) const;
};

/// Resolves the name of `wish`: `hotel/<group>`, the source of a virtual model,
/// `<provider>/<model>`, in this order; for the passthrough the provider, as a direct name. Leaves
/// out who is not allowed, who does not speak the endpoint's dialect and, for embeddings, models of
/// another base name than the first one: their vectors do not compare (decisions, 10). Stale
/// providers are asked by groups and virtual models when nobody else is left (R88, R89), and always
/// by a direct name (R87). Touches only
/// its arguments (the turns of `virtuals` move on); the snapshot and the settings must outlive the
/// candidates' use of `settings`. Any thread.
Route Resolve(const Wish& wish, const GroupSnapshot& snapshot, const Settings& settings,
              const CircuitBreaker& breaker, VirtualRoutes& virtuals, TimePoint now);

}  // namespace hotel::route

#endif  // HOTEL_ROUTE_RESOLVER_H_
