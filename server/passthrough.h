// Requests under /p/<provider>/: what of them goes to the provider.
//
// Pure: no socket, no clock.
#ifndef SERVER_PASSTHROUGH_H_
#define SERVER_PASSTHROUGH_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/router.h"

#include "server/request_head.h"

namespace hotel::server {

/// Methods a passthrough takes, for Allow.
inline constexpr std::string_view kPassthroughMethods =
    "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// Request fields that go to the provider (beside the idempotency key, which the router judges).
/// Lower case. What authenticates, identifies or frames the client's own request is not among them.
const std::vector<std::string_view>& PassthroughFields();

/// The path is `/p/<provider>/...`.
bool IsPassthrough(std::string_view path) noexcept;

/// Why a request for which IsPassthrough holds cannot go, if so: its target could lead out of the
/// provider's base URL (`.` and `..` segments and backslashes, however often percent-encoded, and
/// fragments), or it is a HEAD with a body.
std::optional<RequestError> CheckPassthrough(const RequestHead& head);

/// What such a request asks: the provider's name (percent-decoded), the rest of the target byte for
/// byte, the fields that may go. REQUIRES: CheckPassthrough found nothing.
PassthroughRequest ReadPassthrough(std::string_view method, std::string_view target,
                                   const HeaderList& headers);

}  // namespace hotel::server

#endif  // SERVER_PASSTHROUGH_H_
