// Answers the sidecar writes itself, without the router.
#ifndef SERVER_REPLIES_H_
#define SERVER_REPLIES_H_

#include <string>
#include <string_view>
#include <vector>

#include "hotel/request_gate.h"
#include "hotel/router.h"

#include "libhotel/decide/error_codes.h"
#include "libhotel/wire/endpoints.h"
#include "server/front.h"

namespace hotel::server {

/// Plain text.
Reply TextReply(int status, std::string_view text);

/// The dialect in which errors under `path` are written.
wire::Dialect ErrorDialect(std::string_view path);

/// An error in the shape of the dialect, with an x-hotel-request-id of its own. It names no
/// version, path, table or key.
Reply ErrorReply(wire::Dialect dialect, int status, decide::ErrorCode code,
                 std::string_view message);

/// 404 for a path that leads nowhere.
Reply NotFoundReply(wire::Dialect dialect);

/// 401, the same for a missing, malformed and unknown key.
Reply InvalidKeyReply(wire::Dialect dialect);

/// 405 with Allow.
Reply MethodNotAllowedReply(wire::Dialect dialect, std::string_view allow);

/// What a gate refuses with.
Reply GateReply(wire::Dialect dialect, const GateAnswer& answer);

/// The list of GET /v1/models. `created`: seconds since the epoch, for every row.
Reply ModelsReply(const std::vector<ModelListing>& models, long long created);

}  // namespace hotel::server

#endif  // SERVER_REPLIES_H_
