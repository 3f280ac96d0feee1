// What goes out to one candidate.
#ifndef HOTEL_ROUTE_OUTGOING_H_
#define HOTEL_ROUTE_OUTGOING_H_

#include <string_view>

#include "hotel/dispatcher.h"
#include "hotel/router.h"

#include "absl/status/statusor.h"
#include "libhotel/route/resolver.h"
#include "libhotel/wire/request.h"

namespace hotel::route {

/// The request asks this candidate for the usage of its stream although the client did not
/// (decisions, 7): a chat stream, to a provider type that takes the question.
bool AsksForUsage(const RouteRequest& request, const wire::RequestPeek& peek,
                  const Candidate& candidate) noexcept;

/// Sending it twice does no more than sending it once: whatever is no passthrough, which is the
/// business of failover, and there GET, HEAD, OPTIONS, PUT or a usable idempotency key (R14, R22).
bool IsReplaySafe(const RouteRequest& request) noexcept;

/// Everything but the timeout of the connection. `idempotency_key`: usable, or "" for none.
/// InvalidArgument when the candidate's key or the client's content type cannot be sent. Copies
/// nothing of the body.
absl::StatusOr<UpstreamRequest> MakeOutgoing(const RouteRequest& request,
                                             const wire::RequestPeek& peek,
                                             const Candidate& candidate,
                                             std::string_view idempotency_key);

/// A header of a provider's answer that the passthrough hands on, beside the content type and the
/// content coding.
bool IsPassedOn(std::string_view header_name) noexcept;

}  // namespace hotel::route

#endif  // HOTEL_ROUTE_OUTGOING_H_
