// What a client may name, and what is behind a name.
#ifndef HOTEL_ROUTE_LISTING_H_
#define HOTEL_ROUTE_LISTING_H_

#include <vector>

#include "hotel/discovery.h"
#include "hotel/failover_group.h"
#include "hotel/router.h"

#include "libhotel/route/resolver.h"

namespace hotel::route {

/// The names of GET /v1/models (facts i): models, groups, virtual models that lead somewhere.
/// What is stale is not among them (R86), nor what is of providers whose ids `allowed` does not
/// hold. `inventory` and `allowed` may be null.
std::vector<ModelListing> ListModels(const GroupSnapshot& snapshot, const VirtualRoutes& virtuals,
                                     const Inventory* inventory,
                                     const std::vector<std::string>* allowed);

/// The models that `wish` may end at, as far as `snapshot` holds rows of them, whatever their
/// circuits say. None for the passthrough. They live as long as `snapshot`.
std::vector<const Model*> ReachableModels(const Wish& wish, const GroupSnapshot& snapshot,
                                          const VirtualRoutes& virtuals);

}  // namespace hotel::route

#endif  // HOTEL_ROUTE_LISTING_H_
