// Builds the snapshot that the request path reads.
#ifndef HOTEL_STORE_SNAPSHOT_LOADER_H_
#define HOTEL_STORE_SNAPSHOT_LOADER_H_

#include <cstdint>
#include <memory>

#include "hotel/failover_group.h"

#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/key_ring.h"

namespace hotel::store {

/// Everything in the database, as the connection sees it now: inside a transaction that includes
/// its own changes. Keys are opened through `keys`, which forgets providers that are gone.
absl::StatusOr<std::shared_ptr<const GroupSnapshot>> LoadSnapshot(Connection& connection,
                                                                  KeyRing& keys,
                                                                  std::uint64_t generation);

}  // namespace hotel::store

#endif  // HOTEL_STORE_SNAPSHOT_LOADER_H_
