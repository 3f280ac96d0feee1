// The table of /v1 endpoints: what every other part knows of one is a column here (facts i).
#ifndef HOTEL_WIRE_ENDPOINTS_H_
#define HOTEL_WIRE_ENDPOINTS_H_

#include <span>
#include <string>
#include <string_view>

#include "hotel/types.h"

namespace hotel::wire {

/// How streams are judged and errors written.
enum class Dialect {
  kChat,       ///< OpenAI chat completions
  kMessages,   ///< Anthropic Messages
  kResponses,  ///< OpenAI Responses
  /// Whatever else: any answer is passed on, no terminal event is known, errors are OpenAI's.
  kPlain,
};

enum class BodyForm { kJson, kMultipart, kAny };

struct EndpointRow {
  Endpoint endpoint;
  std::string_view name;  ///< EndpointName
  std::string_view path;  ///< behind `/v1` and behind a provider's base URL; "" for the passthrough
  Dialect dialect;
  BodyForm body;
};

/// In the order of the enum.
std::span<const EndpointRow> Endpoints() noexcept;
const EndpointRow& RowOf(Endpoint endpoint) noexcept;
/// The endpoint of a path such as "/v1/embeddings"; null when there is none.
const EndpointRow* FindEndpoint(std::string_view path) noexcept;

inline Dialect DialectOf(Endpoint endpoint) noexcept { return RowOf(endpoint).dialect; }

/// Whether providers of this type speak the endpoint's dialect themselves. Types that are not known
/// speak what OpenAI-compatible servers do.
bool Speaks(std::string_view provider_type, Endpoint endpoint) noexcept;

/// The reference page, docs/endpoints.md.
std::string EndpointsMarkdown();

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_ENDPOINTS_H_
