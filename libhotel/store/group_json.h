// The JSON columns of a group: the ordered member list and the toggles.
#ifndef HOTEL_STORE_GROUP_JSON_H_
#define HOTEL_STORE_GROUP_JSON_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace hotel::store {

/// `["uuid1","uuid2"]`. REQUIRES: UUIDs, which need no escapes.
std::string EncodeIds(const std::vector<std::string>& ids);
/// `{"uuid1":true,"uuid2":false}`. REQUIRES: as above.
std::string EncodeToggles(const std::map<std::string, bool>& toggles);

/// Reads what EncodeIds wrote, in any JSON spelling. DataLoss for anything but an array of
/// UUIDs.
absl::StatusOr<std::vector<std::string>> DecodeIds(std::string_view json);
/// Reads what EncodeToggles wrote. DataLoss for anything but an object of
/// booleans by UUID.
absl::StatusOr<std::map<std::string, bool>> DecodeToggles(std::string_view json);

}  // namespace hotel::store

#endif  // HOTEL_STORE_GROUP_JSON_H_
