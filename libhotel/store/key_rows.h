// Tables virtual_keys and virtual_key_days.
#ifndef HOTEL_STORE_KEY_ROWS_H_
#define HOTEL_STORE_KEY_ROWS_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/key_store.h"
#include "hotel/types.h"
#include "hotel/virtual_key.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"

namespace hotel::store {

/// All keys, in the order they were made.
absl::StatusOr<std::vector<VirtualKey>> ReadKeyRows(Connection& connection);
absl::Status InsertKey(Connection& connection, const VirtualKey& key);
/// Overwrites everything but what the key used and when it was made.
absl::Status UpdateKey(Connection& connection, const VirtualKey& key);
absl::Status DeleteKey(Connection& connection, std::string_view id);

absl::StatusOr<std::map<std::string, KeyUsage, std::less<>>> ReadKeyUsage(Connection& connection);
/// A key that is gone is no error.
absl::Status AddKeyUsage(Connection& connection, const KeyCharge& charge);

}  // namespace hotel::store

#endif  // HOTEL_STORE_KEY_ROWS_H_
