#include "libhotel/guard/circuit_events.h"

#include <chrono>
#include <cstdint>
#include <string>

#include "fmt/format.h"

namespace hotel::guard {
namespace {

Event Make(const CircuitKey& key, const decide::Circuit& circuit, const char* state) {
  Event event;
  event.type = fmt::format("circuit_breaker.{}", state);
  event.source = "failover";
  event.message = fmt::format("Provider {} circuit breaker: {} for model {}", key.provider_name,
                              state, key.model);
  event.metadata = {
      {"provider_id", key.provider_id},
      {"provider", key.provider_name},
      {"model", key.model},
      {"model_id", key.model},
      {"state", std::string(state)},
      {"cause", circuit.last_cause},
      {"status", std::int64_t{circuit.last_status}},
      {"consecutive_fails", std::int64_t{circuit.consecutive_fails}},
  };
  return event;
}

}  // namespace

Event OpenedEvent(const CircuitKey& key, const decide::Circuit& circuit,
                  const CircuitBreakerSettings& settings) {
  Event event = Make(key, circuit, "open");
  event.severity = Event::Severity::kWarning;
  event.message += fmt::format(": {}", circuit.last_cause);
  const auto cooldown = std::chrono::duration_cast<std::chrono::milliseconds>(settings.timeout);
  event.metadata.emplace_back("cooldown_ms", std::int64_t{cooldown.count()});
  return event;
}

Event ClosedEvent(const CircuitKey& key, const decide::Circuit& circuit) {
  Event event = Make(key, circuit, "closed");
  event.severity = Event::Severity::kSuccess;
  return event;
}

}  // namespace hotel::guard
