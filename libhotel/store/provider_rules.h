// The rules a provider's description obeys (facts j). Whether its address may be contacted and its
// type needs a key is judged elsewhere.
#ifndef HOTEL_STORE_PROVIDER_RULES_H_
#define HOTEL_STORE_PROVIDER_RULES_H_

#include <string>
#include <string_view>

#include "hotel/failover_group.h"

#include "absl/status/statusor.h"

namespace hotel::store {

/// `spec` in stored form: name and address trimmed, the address without trailing slashes, model ids
/// trimmed and each once. InvalidArgument for what cannot be a provider; the key never occurs in a
/// message.
absl::StatusOr<ProviderSpec> NormalizeProvider(const ProviderSpec& spec);

/// Trimmed; InvalidArgument unless 1-256 bytes of plain text are left.
absl::StatusOr<std::string> NormalizeModelId(std::string_view model_id);

}  // namespace hotel::store

#endif  // HOTEL_STORE_PROVIDER_RULES_H_
