// Table provider_scans.
#ifndef HOTEL_STORE_SCAN_ROWS_H_
#define HOTEL_STORE_SCAN_ROWS_H_

#include <vector>

#include "hotel/discovery.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"

namespace hotel::store {

absl::StatusOr<std::vector<ProviderScan>> ReadScanRows(Connection& connection);
/// Inserts or overwrites; without effect when the provider is gone.
absl::Status UpsertScan(Connection& connection, const ProviderScan& scan);

}  // namespace hotel::store

#endif  // HOTEL_STORE_SCAN_ROWS_H_
