// What the handlers answer with: JSON, and plain text for errors (facts j).
#ifndef SERVER_API_ANSWERS_H_
#define SERVER_API_ANSWERS_H_

#include <string>
#include <string_view>

#include "hotel/types.h"

#include "absl/status/status.h"
#include "server/api/route.h"
#include "server/front.h"

namespace hotel::server::api {

Reply JsonReply(const Json& body, int status = 200);
/// 204.
Reply NoContent();
/// Plain text.
Reply Refusal(int status, std::string_view text);
/// 400, 404, 409 and 503 for what a caller can act on, 500 for the rest.
Reply StatusReply(const absl::Status& status);
/// 409: `what` ("provider 'acme'") is defined in the configuration file.
Reply OwnedByFile(const FileOwned& file, std::string_view what);

/// RFC 3339.
Json Time(WallTime time);
/// The instant of the monotonic clock as civil time, as both clocks go now.
Json Time(TimePoint at);

/// Null for "".
Json OrNull(std::string_view text);

/// Checks the body against the route's fields. Sets `out`; the error is the sentence to answer.
absl::Status ReadBody(const Route& route, std::string_view text, Json* out);

}  // namespace hotel::server::api

#endif  // SERVER_API_ANSWERS_H_
