// How a request looks to a provider: its URL, its headers, its credential.
#ifndef HOTEL_WIRE_UPSTREAM_H_
#define HOTEL_WIRE_UPSTREAM_H_

#include <string>
#include <string_view>
#include <vector>

#include "hotel/failover_group.h"
#include "hotel/types.h"

#include "absl/status/statusor.h"

namespace hotel::wire {

/// How a provider type takes its credential.
enum class AuthStyle { kBearer, kXApiKey, kGoogApiKey };

/// One row of the table of provider types (facts k).
struct ProviderType {
  std::string_view name;
  AuthStyle auth;
  bool inserts_v1;     ///< `/v1` is put behind the base URL once when its path has none
  bool key_optional;   ///< may be used without a key
  bool chat;           ///< speaks chat completions
  bool messages;       ///< speaks Anthropic Messages
  bool responses;      ///< speaks OpenAI Responses
  bool include_usage;  ///< takes `stream_options.include_usage` (facts h)
};
/// The row called `name`; null when there is none.
const ProviderType* FindProviderType(std::string_view name) noexcept;
/// All type names in table order, for error messages and the docs.
std::vector<std::string_view> ProviderTypeNames();

/// base_url + endpoint path: one slash between, `/v1` once (F153), query of the base kept. Not for
/// the passthrough.
std::string UpstreamUrl(const Provider& provider, Endpoint endpoint);

/// Where the provider lists its models. `after`: the id the page before ended with, "" for the
/// first page; only Anthropic's lists have pages.
std::string ModelsUrl(const Provider& provider, std::string_view after);

/// base_url + `target` (a path with its leading slash, perhaps with a query) byte for byte: nothing
/// is inserted; a query of the base stands in front of the target's.
std::string PassthroughUrl(const Provider& provider, std::string_view target);

/// What `Accept` says.
enum class Accept { kJson, kEventStream, kAnything };

/// The complete header list for one attempt: content type, accept, user agent and the provider's
/// credential. It starts from nothing: no client header is an input (facts i; F139, F141); the one
/// that may go with it, the idempotency key, is added by the attempt. `content_type` is
/// "application/json" or that of a multipart form.
/// InvalidArgument when the key or the content type holds a byte that cannot stand in a header.
absl::StatusOr<HeaderList> UpstreamHeaders(const Provider& provider, std::string_view content_type,
                                           Accept accept);

/// What the passthrough adds to the client's own fields: user agent, API version where the type
/// wants one, credential. Errors as above.
absl::StatusOr<HeaderList> CredentialHeaders(const Provider& provider);

/// The key as it may be sent: without the white space around it; "" when it is not 1-255 visible
/// ASCII characters (R21).
std::string_view UsableIdempotencyKey(std::string_view value) noexcept;

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_UPSTREAM_H_
