// The state of one circuit.
#ifndef HOTEL_DECIDE_CIRCUIT_H_
#define HOTEL_DECIDE_CIRCUIT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "hotel/circuit_breaker.h"
#include "hotel/types.h"

namespace hotel::decide {

/// A cooldown taken from a quota (facts d, "Cooldown arithmetic"). Whether it is in force is read
/// off the settings at each check.
struct Pin {
  PinSource source = PinSource::kNone;
  Duration span{};  ///< from the opening on
  /// Spreads the probes of a pin that probes: a share of 2^32, drawn with the pin.
  std::uint32_t probe_seed = 0;
};

/// Plain data, guarded by its owner.
struct Circuit {
  CircuitState state = CircuitState::kClosed;
  int consecutive_fails = 0;
  TimePoint opened_at{};
  /// Grows at every transition to open, half-open and closed; permits carry it.
  std::uint64_t generation = 1;

  int probes_out = 0;       ///< half-open: permits of this generation without a report
  int probe_successes = 0;  ///< half-open: in a row

  int failed_probes = 0;  ///< since the circuit last closed
  Duration backoff{};     ///< what they earned at the last opening
  Pin pin;

  int limited_opens = 0;  ///< openings in a row that a 429 caused, within a day of the first
  TimePoint limited_since{};
  int opens = 0;  ///< openings within a day of the first
  TimePoint opens_since{};
  bool unstable_told = false;  ///< in this window

  std::string last_cause;
  int last_status = 0;
  std::optional<TimePoint> last_at;
};

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_CIRCUIT_H_
