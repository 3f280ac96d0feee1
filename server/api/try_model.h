// A model is tried out with one small request.
#ifndef SERVER_API_TRY_MODEL_H_
#define SERVER_API_TRY_MODEL_H_

#include <string>

#include "hotel/failover_group.h"

#include "absl/status/statusor.h"
#include "server/api/context.h"
#include "server/api/route.h"

namespace hotel::server::api {

/// Sends what a client could send, `<provider>/<model>` with a few words or one input to embed, and
/// waits half a minute at most for what comes of it. It is a direct request like any other: routed,
/// connected and judged the same way, charged to nobody, with a row of its own in the log.
/// InvalidArgument for a model that answers with something else than text or vectors.
absl::StatusOr<Json> TryModel(const Context& context, const Model& model, const Provider& provider);

}  // namespace hotel::server::api

#endif  // SERVER_API_TRY_MODEL_H_
