// One circuit driven through its life.
#ifndef HOTEL_TESTS_UNIT_DECIDE_CIRCUIT_RUN_H_
#define HOTEL_TESTS_UNIT_DECIDE_CIRCUIT_RUN_H_

#include <chrono>
#include <cstdint>
#include <optional>

#include "libhotel/decide/breaker_core.h"

namespace hotel::decide::circuit_test {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

inline constexpr TimePoint kStart{hours(100)};

/// The options of profile failover_first that circuits read.
inline CircuitBreakerSettings FailoverFirst() {
  CircuitBreakerSettings settings;
  settings.failure_threshold = 5;
  settings.timeout = seconds(60);
  settings.backoff_max = minutes(15);
  settings.quota_pin_max = hours(24);
  settings.pin_probe_interval = hours(1);
  return settings;
}

struct CircuitRun {
  CircuitBreakerSettings settings = FailoverFirst();
  Circuit circuit;
  TimePoint now = kStart;
  QuotaReading reading{};
  std::uint64_t random = 1;

  Settled Report(const CircuitReport& report, bool limited = false, bool probe = false) {
    return Settle(circuit, Charge{circuit.generation, probe, &report, limited, reading}, settings,
                  now, &random);
  }
  Settled Fail() { return Report({Verdict::kFailure, "upstream status 500", 500}); }
  Settled OpenNow(std::optional<PinHint> pin = std::nullopt) {
    CircuitReport report{Verdict::kOpenNow, "upstream status 429 (exhausted)", 429, true, pin};
    return Report(report, /*limited=*/true);
  }
  Settled Succeed() { return Report({Verdict::kSuccess, "success", 200}); }

  Cooldown cooldown() const { return CooldownInForce(circuit, settings); }
  std::optional<TimePoint> until() const { return BlockedUntil(circuit, settings, now); }
  /// Waits the cooldown out and takes the probe.
  void Probe() {
    if (const auto end = until()) now = *end;
    AdmitRequest(circuit, settings, now);
  }
};

}  // namespace hotel::decide::circuit_test

#endif  // HOTEL_TESTS_UNIT_DECIDE_CIRCUIT_RUN_H_
