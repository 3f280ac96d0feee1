// Table settings.
#ifndef HOTEL_STORE_SETTING_ROWS_H_
#define HOTEL_STORE_SETTING_ROWS_H_

#include <string_view>
#include <vector>

#include "hotel/live_settings.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"

namespace hotel::store {

/// All rows, by key.
absl::StatusOr<std::vector<StoredSetting>> ReadSettingRows(Connection& connection);
/// Inserts the row or overwrites the one with that key.
absl::Status UpsertSetting(Connection& connection, const StoredSetting& row, WallTime now);
/// A key without a row is no error.
absl::Status DeleteSetting(Connection& connection, std::string_view key);

}  // namespace hotel::store

#endif  // HOTEL_STORE_SETTING_ROWS_H_
