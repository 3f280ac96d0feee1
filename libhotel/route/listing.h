// What a client may name.
#ifndef HOTEL_ROUTE_LISTING_H_
#define HOTEL_ROUTE_LISTING_H_

#include <vector>

#include "hotel/discovery.h"
#include "hotel/failover_group.h"
#include "hotel/router.h"

#include "libhotel/route/resolver.h"

namespace hotel::route {

/// The names of GET /v1/models (facts i): models, groups, virtual models that lead somewhere.
/// What is stale is not among them (R86); `inventory` may be null.
std::vector<ModelListing> ListModels(const GroupSnapshot& snapshot, const VirtualRoutes& virtuals,
                                     const Inventory* inventory);

}  // namespace hotel::route

#endif  // HOTEL_ROUTE_LISTING_H_
