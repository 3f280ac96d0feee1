// Events and request records as log lines.
#ifndef HOTEL_OBSERVE_EVENT_TEXT_H_
#define HOTEL_OBSERVE_EVENT_TEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "hotel/events.h"
#include "hotel/request_log.h"

namespace hotel::observe {

/// What a line says, by name.
using Fields = std::vector<std::pair<std::string, Event::Value>>;

/// `event=circuit_breaker.open severity=warning source=failover message="..."` and the metadata in
/// its order.
std::string EventLine(const Event& event);

/// `event=circuit_breaker.open severity=warning source=circuit-breaker message="model
/// state=closed→open"` and the attributes in their order.
std::string NoteLine(const LogNote& note);

/// One request: `request=... model=... status=200 duration_ms=... attempts=2 trail="..."`. What is
/// empty is left out. The trail has one entry per attempt, skips first, separated by " | ":
/// `skip acme/glm-4.6` or `0 acme/glm-4.6 503 provider_error charge 12ms (reason)`; an attempt
/// without a response head shows `-` for its status.
std::string RecordLine(const RequestRecord& record);
/// The same, apart.
Fields RecordFields(const RequestRecord& record);

}  // namespace hotel::observe

#endif  // HOTEL_OBSERVE_EVENT_TEXT_H_
