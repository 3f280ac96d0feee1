// The rules of a circuit once more, written for reading and not for use: what the real one is
// compared with.
#ifndef HOTEL_TESTS_MODEL_SHADOW_CIRCUIT_H_
#define HOTEL_TESTS_MODEL_SHADOW_CIRCUIT_H_

#include <optional>

#include "hotel/circuit_breaker.h"
#include "hotel/settings.h"

namespace hotel::model {

class ShadowCircuit {
 public:
  explicit ShadowCircuit(const CircuitBreakerSettings* settings) : settings_(settings) {}

  bool on() const { return settings_->enabled && settings_->failure_threshold > 0; }

  std::optional<TimePoint> Blocked(TimePoint now) const {
    if (on() && state_ == CircuitState::kOpen && now < reopens()) return reopens();
    return std::nullopt;
  }

  /// The epoch a permit given now belongs to. Only its own epoch's first outcome may move a
  /// circuit.
  int Admit(TimePoint now) {
    if (on() && state_ == CircuitState::kOpen && now >= reopens()) Enter(CircuitState::kHalfOpen);
    return epoch_;
  }

  BreakerEffect Settle(int epoch, Verdict verdict, TimePoint now) {
    if (!on()) return BreakerEffect::kDisabled;
    if (verdict == Verdict::kAbandoned || verdict == Verdict::kNeutral || epoch != epoch_ ||
        state_ == CircuitState::kOpen) {
      return BreakerEffect::kNoop;
    }
    known_ = true;
    if (verdict == Verdict::kSuccess || verdict == Verdict::kAlive) {
      fails_ = 0;
      if (state_ == CircuitState::kHalfOpen) Enter(CircuitState::kClosed);
      return verdict == Verdict::kSuccess ? BreakerEffect::kSuccess : BreakerEffect::kAlive;
    }
    ++fails_;
    if (state_ == CircuitState::kHalfOpen || verdict == Verdict::kOpenNow ||
        fails_ >= settings_->failure_threshold) {
      fails_ = settings_->failure_threshold;
      opened_at_ = now;
      Enter(CircuitState::kOpen);
    }
    return BreakerEffect::kCharge;
  }

  /// Forgetting what was never known changes nothing.
  void Reset() {
    if (!known_) return;
    fails_ = 0;
    known_ = false;
    Enter(CircuitState::kClosed);
  }

  CircuitState state() const { return state_; }
  int fails() const { return fails_; }
  int epoch() const { return epoch_; }
  bool known() const { return known_; }

 private:
  TimePoint reopens() const { return opened_at_ + settings_->timeout; }
  void Enter(CircuitState state) {
    state_ = state;
    ++epoch_;
  }

  const CircuitBreakerSettings* settings_;
  CircuitState state_ = CircuitState::kClosed;
  int fails_ = 0;
  int epoch_ = 0;
  TimePoint opened_at_{};
  bool known_ = false;
};

}  // namespace hotel::model

#endif  // HOTEL_TESTS_MODEL_SHADOW_CIRCUIT_H_
