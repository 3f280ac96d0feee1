// What names and group members lead to in a snapshot, whatever the circuits say.
#ifndef HOTEL_ROUTE_LOOKUP_H_
#define HOTEL_ROUTE_LOOKUP_H_

#include <memory>
#include <string>
#include <string_view>

#include "hotel/discovery.h"
#include "hotel/failover_group.h"

namespace hotel::route {

inline constexpr std::string_view kGroupPrefix = "hotel/";

/// A member of a group that the router may use, breaker aside; null provider when it may not.
struct Routable {
  std::shared_ptr<const Provider> provider;
  const Model* model = nullptr;
};
Routable FindRoutable(const GroupEntry& entry, const GroupSnapshot& snapshot);

/// `<provider>/<model>` of an enabled provider that serves the model; null provider when there is
/// none.
struct Named {
  std::shared_ptr<const Provider> provider;
  std::string model;
  const Model* row = nullptr;  ///< null when no row knows it
};
Named FindNamed(std::string_view name, const GroupSnapshot& snapshot);

/// Whether its last listing failed, so that it is passed over (R88). `inventory` may be null.
/// Nobody finds out whether a provider that is not asked for its models has come back.
bool IsLeftOut(const Inventory* inventory, const Provider& provider);

}  // namespace hotel::route

#endif  // HOTEL_ROUTE_LOOKUP_H_
