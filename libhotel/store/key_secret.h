// Virtual keys as text: making them, and what is kept of them (facts o).
#ifndef HOTEL_STORE_KEY_SECRET_H_
#define HOTEL_STORE_KEY_SECRET_H_

#include <optional>
#include <string>
#include <string_view>

#include "hotel/types.h"
#include "hotel/virtual_key.h"

#include "absl/status/statusor.h"

namespace hotel::store {

/// "sk-" and 32 hex digits from the system's random source.
absl::StatusOr<Secret> NewKeySecret();

std::string DigestText(const KeyDigest& digest);  ///< 64 lower-case hex digits
std::optional<KeyDigest> ParseDigest(std::string_view text);

/// The first three and the last four characters; of a short key nothing but "...", of one that is
/// not text neither.
std::string KeyPreview(std::string_view key);

}  // namespace hotel::store

#endif  // HOTEL_STORE_KEY_SECRET_H_
