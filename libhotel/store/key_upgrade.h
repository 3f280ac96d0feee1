// Brings stored keys into the format that is sealed today.
#ifndef HOTEL_STORE_KEY_UPGRADE_H_
#define HOTEL_STORE_KEY_UPGRADE_H_

#include "absl/status/status.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/key_ring.h"

namespace hotel::store {

/// Seals the providers' keys and proxies anew that are in an older format and open, in one
/// transaction; the others stay. Nothing is lost when it fails: the older format is read.
absl::Status SealOldKeysAnew(Connection& connection, KeyRing& keys);

}  // namespace hotel::store

#endif  // HOTEL_STORE_KEY_UPGRADE_H_
