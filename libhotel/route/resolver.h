// From the model name a client wrote to an ordered list of candidates (seed 000, "Hotel Routing").
#ifndef HOTEL_ROUTE_RESOLVER_H_
#define HOTEL_ROUTE_RESOLVER_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/circuit_breaker.h"
#include "hotel/failover_group.h"
#include "hotel/inflight_limiter.h"
#include "hotel/router.h"
#include "hotel/settings.h"
#include "hotel/types.h"

#include "libhotel/decide/terminal.h"

namespace hotel::route {

/// A (provider, upstream model) pair that may be contacted.
struct Candidate {
  std::shared_ptr<const Provider> provider;
  std::string model;                         ///< upstream model id
  const EngineSettings* settings = nullptr;  ///< lives as long as the Settings given to Resolve
  CircuitKey circuit() const { return {provider->id, model, provider->routing_name}; }
  InflightTarget inflight() const { return {provider->id, provider->routing_name, provider->max_in_flight}; }
};

/// A candidate that its own open circuit, or the verdict on its provider, leaves out.
struct SkippedCandidate {
  Candidate candidate;
  Block block;
};

struct Route {
  std::vector<Candidate> candidates;  ///< priority order, no pair twice
  std::vector<SkippedCandidate> skipped;
  bool direct = false;  ///< `<provider>/<model>`: never skipped by its circuit (decisions, 7)
  /// Set when the name leads nowhere: the answer to give.
  std::optional<decide::TerminalAnswer> refusal;

  std::optional<TimePoint> earliest_retry() const;
};

/// Resolves `requested`. Touches only its arguments; the snapshot and the settings must outlive the
/// candidates' use of `settings`.
Route Resolve(std::string_view requested, const GroupSnapshot& snapshot, const Settings& settings,
              const CircuitBreaker& breaker, TimePoint now);

/// The names of GET /v1/models (facts i).
std::vector<ModelListing> ListModels(const GroupSnapshot& snapshot);

}  // namespace hotel::route

#endif  // HOTEL_ROUTE_RESOLVER_H_
