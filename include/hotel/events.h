// What the library tells the world about state changes, apart from answers and records.
#ifndef HOTEL_EVENTS_H_
#define HOTEL_EVENTS_H_

#include <cstdint>
#include <string>
#include <string_view>
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
  /// A note of the same moment went before: a log that writes notes leaves this event out.
  bool noted = false;
};

/// A line for the log, also of changes that are no events (facts d, "Log lines"). The same rule for
/// what it may hold.
struct LogNote {
  Event::Severity severity = Event::Severity::kInfo;
  std::string source;  ///< subsystem, e.g. "failover"
  std::string event;   ///< type of the event that says the same; "" when none does
  std::string message;
  std::vector<std::pair<std::string, Event::Value>> attributes;
  /// Says why something was decided, and is of use only to who looks for that
  /// (EventSink::WantsDebug).
  bool debug = false;
};

/// Receives events.
///
/// `OnEvent` may be called from any thread, also from several at once; no library lock is held
/// during the call. It must be quick and must not throw. The event dies when the call returns.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void OnEvent(const Event& event) = 0;
  /// As OnEvent. Sinks that are no log need not look.
  virtual void OnNote(const LogNote& note) { static_cast<void>(note); }
  /// Whether notes with `debug` of that source are kept anywhere. Asked before one is put together,
  /// on every decision: it must be quick.
  virtual bool WantsDebug(std::string_view source) const noexcept {
    static_cast<void>(source);
    return false;
  }
};

}  // namespace hotel

#endif  // HOTEL_EVENTS_H_
