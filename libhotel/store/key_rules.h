// The rules a virtual key's description obeys (facts o).
#ifndef HOTEL_STORE_KEY_RULES_H_
#define HOTEL_STORE_KEY_RULES_H_

#include "hotel/virtual_key.h"

#include "absl/status/statusor.h"

namespace hotel::store {

/// `spec` in stored form: the name trimmed, each provider once. InvalidArgument with a sentence
/// that says what is allowed.
absl::StatusOr<KeySpec> NormalizeKey(KeySpec spec);

}  // namespace hotel::store

#endif  // HOTEL_STORE_KEY_RULES_H_
