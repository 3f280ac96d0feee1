// What the library tells the world about state changes, apart from answers and records.
#ifndef HOTEL_EVENTS_H_
#define HOTEL_EVENTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hotel/types.h"

namespace hotel {

/// One published event (facts d, "Events"). Holds fixed phrases and names only: never provider
/// text, prompts, answers or credentials.
struct Event {
  enum class Severity { kInfo, kSuccess, kWarning };
  using Value = std::variant<std::string, std::int64_t, bool>;

  std::string type;  ///< e.g. "circuit_breaker.open"
  Severity severity = Severity::kInfo;
  std::string source;   ///< subsystem, e.g. "failover"
  std::string message;  ///< one sentence for people
  std::vector<std::pair<std::string, Value>> metadata;
};

/// Receives events.
///
/// `OnEvent` may be called from any thread, also from several at once; no library lock is held
/// during the call. It must be quick and must not throw. The event dies when the call returns.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void OnEvent(const Event& event) = 0;
};

}  // namespace hotel

#endif  // HOTEL_EVENTS_H_
