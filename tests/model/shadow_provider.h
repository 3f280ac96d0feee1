// The rules of a provider's circuits once more (facts d), written for reading and not for use: what
// the real breaker is compared with. The jitter of a pin is taken over from the real one once it
// was found within its bounds; everything else is reckoned here.
#ifndef HOTEL_TESTS_MODEL_SHADOW_PROVIDER_H_
#define HOTEL_TESTS_MODEL_SHADOW_PROVIDER_H_

#include <map>
#include <optional>
#include <string>

#include "hotel/circuit_breaker.h"
#include "hotel/settings.h"

namespace hotel::model {

struct ShadowState {
  CircuitState state = CircuitState::kClosed;
  int fails = 0;
  int failed_probes = 0;
  int successes = 0;
  int probes_out = 0;
  int in_flight = 0;
  int epoch = 0;
  int limited = 0;
  TimePoint limited_since{};
  TimePoint opened_at{};
  Duration backoff{};
  PinSource pin = PinSource::kNone;
  Duration cooldown{};    ///< in force since the opening; of a pin its least length
  bool jittered = false;  ///< the cooldown may be up to a twentieth longer
  std::optional<TimePoint> served;
  TimePoint used{};
};

struct ShadowPermit {
  std::string model;
  int epoch = 0;
  int birth = 0;  ///< the circuit that counts it; 0 = none does
  bool probe = false;
};

class ShadowProvider {
 public:
  explicit ShadowProvider(const EngineSettings* settings)
      : settings_(*settings), s_(settings_.circuit_breaker) {}

  std::string Name(const std::string& model) const { return whole() ? "" : model; }
  bool whole() const { return s_.scope == CircuitBreakerSettings::Scope::kProvider; }
  bool on() const { return s_.enabled && s_.failure_threshold > 0; }

  bool Refuses(const ShadowState& c, TimePoint now) const {
    return on() && c.state == CircuitState::kOpen && now < End(c);
  }
  bool Pinned(const ShadowState& c) const { return c.pin != PinSource::kNone; }
  bool ForAccount(const ShadowState& c) const { return Pinned(c) && c.pin != PinSource::kResponse; }
  TimePoint End(const ShadowState& c) const { return c.opened_at + c.cooldown; }

  std::optional<Block> Blocked(const std::string& model, TimePoint now) const;

  /// REQUIRES: Blocked() is empty, or `direct`.
  ShadowPermit Acquire(const std::string& model, bool direct, TimePoint now);
  BreakerEffect Settle(const ShadowPermit& permit, const CircuitReport& report,
                       const QuotaReading& reading, TimePoint now);
  void Reset(std::optional<std::string> model);
  void Advise(const QuotaReading& reading, TimePoint now);

  std::map<std::string, ShadowState>& circuits() { return circuits_; }
  int opened() const { return opened_; }
  int closed() const { return closed_; }

 private:
  ShadowState& Make(const std::string& name, TimePoint now);
  void Expire(TimePoint now);
  void Open(ShadowState& c, const CircuitReport& report, const QuotaReading& reading,
            TimePoint now);
  void StampPin(ShadowState& c, const CircuitReport& report, const QuotaReading& reading,
                TimePoint now);
  Duration Unpinned(const ShadowState& c) const { return std::max(s_.timeout, c.backoff); }

  const EngineSettings& settings_;
  const CircuitBreakerSettings& s_;
  std::map<std::string, ShadowState> circuits_;
  std::map<std::string, int> births_;
  int next_birth_ = 1;
  int absent_epoch_ = 1;
  int opened_ = 0;
  int closed_ = 0;
};

}  // namespace hotel::model

#endif  // HOTEL_TESTS_MODEL_SHADOW_PROVIDER_H_
