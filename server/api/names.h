// How providers, models and groups are written down in answers.
#ifndef SERVER_API_NAMES_H_
#define SERVER_API_NAMES_H_

#include <map>
#include <string>
#include <string_view>

#include "hotel/failover_group.h"
#include "hotel/log_store.h"

#include "absl/status/statusor.h"
#include "server/api/context.h"
#include "server/api/route.h"

namespace hotel::server::api {

/// The organisation in a model id ("z-ai" of "z-ai/glm-4.6"); "" when it names none.
std::string_view OwnerOf(std::string_view model_id);

/// What people call it: an operator's label, else its provider's name for it, else its id.
std::string DisplayNameOf(const Model& model);

/// Whose it is, as listed or else as its id says.
std::string_view OwnerOf(const Model& model);

/// Null for unknown (0).
Json TokensOrNull(std::int64_t tokens);

/// What a key may be recognised by: its first three and last four characters; "..." alone for a
/// short one, "" for a keyless provider or one whose key cannot be read.
std::string MaskedKey(const Provider& provider);

/// model_uuid, model_id, provider_id, provider_name, display_name, context_length, owned_by.
Json ModelNames(const Model& model, const Provider& provider);

/// A group as the API shows it (seed 000, "API Reference").
Json GroupJson(const FailoverGroup& group, const GroupSnapshot& snapshot, std::int64_t tokens);

/// Tokens used through each group, by display_model.
absl::StatusOr<std::map<std::string, std::int64_t>> GroupTokens(LogStore* log);

}  // namespace hotel::server::api

#endif  // SERVER_API_NAMES_H_
