#include <set>
#include <string>

#include "hotel/circuit_breaker.h"
#include "hotel/dispatcher.h"

#include "tests/support/catch.h"

namespace {

TEST_CASE("Circuit states are named closed, open and half-open") {
  CHECK(std::string(hotel::CircuitStateName(hotel::CircuitState::kClosed)) == "closed");
  CHECK(std::string(hotel::CircuitStateName(hotel::CircuitState::kOpen)) == "open");
  CHECK(std::string(hotel::CircuitStateName(hotel::CircuitState::kHalfOpen)) == "half-open");
}

TEST_CASE("Breaker effects use the words of the attempt trail (facts m)") {
  using hotel::BreakerEffect;
  CHECK(std::string(hotel::BreakerEffectName(BreakerEffect::kCharge)) == "charge");
  CHECK(std::string(hotel::BreakerEffectName(BreakerEffect::kNoop)) == "noop");
  CHECK(std::string(hotel::BreakerEffectName(BreakerEffect::kSuccess)) == "success");
  CHECK(std::string(hotel::BreakerEffectName(BreakerEffect::kAlive)) == "alive");
  CHECK(std::string(hotel::BreakerEffectName(BreakerEffect::kSkipped)) == "skipped");
  CHECK(std::string(hotel::BreakerEffectName(BreakerEffect::kDisabled)) == "disabled");
}

TEST_CASE("Transport phases and errors have distinct words") {
  using hotel::TransportError;
  using hotel::TransportPhase;
  std::set<std::string> phases;
  for (const auto phase : {TransportPhase::kNotSent, TransportPhase::kSent, TransportPhase::kHead,
                           TransportPhase::kBody}) {
    phases.insert(hotel::TransportPhaseName(phase));
  }
  CHECK(phases.size() == 4);
  CHECK(phases.count("") == 0);
  std::set<std::string> errors;
  for (int error = 0; error <= static_cast<int>(TransportError::kOther); ++error) {
    errors.insert(hotel::TransportErrorName(static_cast<TransportError>(error)));
  }
  CHECK(errors.size() == 11);
  CHECK(errors.count("") == 0);
}

}  // namespace
