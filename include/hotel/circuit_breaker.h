// Circuits: which (provider, model) pairs are broken right now.
//
// A caller asks for a permit before it contacts a candidate and reports on it exactly once. A
// permit carries the generation of its circuit, so a late report about an older state of the
// circuit never changes the newer one (decisions, sections 1 and 4).
#ifndef HOTEL_CIRCUIT_BREAKER_H_
#define HOTEL_CIRCUIT_BREAKER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/types.h"

namespace hotel {

/// What a circuit is about: a provider and the model id actually sent to it, never a group alias.
struct CircuitKey {
  std::string provider_id;    ///< UUID; identity
  std::string model;          ///< upstream model id; identity
  std::string provider_name;  ///< routing form, for events and per-provider options; not identity
};

/// What one attempt says about its circuit (decisions, section 4).
enum class Verdict {
  kSuccess,    ///< a good answer, read to its end
  kAlive,      ///< a refusal that proves health (400, 422): resets the streak, is no served success
  kFailure,    ///< charged
  kOpenNow,    ///< opens the circuit on this one answer
  kNeutral,    ///< says nothing about the provider: 404, 499
  kAbandoned,  ///< the caller left or the attempt never was: slot back, nothing else
};

/// What the report did, in the words of the attempt trail (facts m).
enum class BreakerEffect { kCharge, kNoop, kSuccess, kAlive, kSkipped, kDisabled };
const char* BreakerEffectName(BreakerEffect effect) noexcept;

/// A verdict with its reason.
struct CircuitReport {
  Verdict verdict = Verdict::kAbandoned;
  /// A phrase of the closed vocabulary of facts d ("upstream status 503"); never provider text.
  std::string cause;
  int status = 0;  ///< upstream status behind it, 0 = none was seen
};

enum class CircuitState { kClosed, kOpen, kHalfOpen };
/// "closed", "open", "half-open".
const char* CircuitStateName(CircuitState state) noexcept;

/// A circuit as it looks from outside at one instant. An open circuit past its cooldown is shown
/// half-open.
struct CircuitView {
  CircuitKey key;
  CircuitState state = CircuitState::kClosed;
  int consecutive_fails = 0;
  std::optional<TimePoint> opened_at;      ///< open and half-open only
  std::optional<TimePoint> next_retry_at;  ///< while the circuit refuses
  std::string last_cause;
  int last_status = 0;
  std::optional<TimePoint> last_at;
};

class CircuitBreaker;

/// The right to make one attempt. Move-only. A permit that dies unreported is reported abandoned.
/// Not thread-safe; must not outlive its breaker.
class Permit {
 public:
  Permit() = default;
  Permit(CircuitBreaker* breaker, CircuitKey key, std::uint64_t generation, bool enforced,
         bool probe = false);
  Permit(Permit&& other) noexcept;
  Permit& operator=(Permit&& other) noexcept;
  ~Permit();

  /// True until reported or moved from.
  bool valid() const noexcept { return breaker_ != nullptr; }
  const CircuitKey& key() const noexcept { return key_; }
  std::uint64_t generation() const noexcept { return generation_; }
  /// False when the permit was given while the breaker was switched off.
  bool enforced() const noexcept { return enforced_; }
  /// True when a half-open circuit gave the permit. Its attempt is a single try (decisions,
  /// section 4).
  bool probe() const noexcept { return probe_; }

  /// Reports the one verdict of this attempt and ends the permit. REQUIRES: valid().
  BreakerEffect Report(const CircuitReport& report, TimePoint now);

 private:
  CircuitBreaker* breaker_ = nullptr;
  CircuitKey key_;
  std::uint64_t generation_ = 0;
  bool enforced_ = true;
  bool probe_ = false;
};

/// The answer to "may I?": a permit, or the instant at which asking again makes sense.
struct Admission {
  Permit permit;         ///< valid() when admitted
  TimePoint retry_at{};  ///< set when refused
  bool admitted() const noexcept { return permit.valid(); }
};

/// All circuits of the process. Every method is thread-safe. Events are delivered after the lock is
/// released, on the calling thread.
class CircuitBreaker {
 public:
  virtual ~CircuitBreaker() = default;

  /// When `key` may be tried again, if it is refused at `now`; nullopt when it is not. Changes
  /// nothing and does not allocate: this is the skip at resolve (seed 000, "Blocked candidates").
  virtual std::optional<TimePoint> BlockedUntil(const CircuitKey& key,
                                                TimePoint now) const noexcept = 0;

  /// Asks to make an attempt. An open circuit whose cooldown has passed becomes half-open here and
  /// admits every caller until the first one reports (circuit_breaker.half_open_max_in_flight 0).
  /// The key moves into the permit: with std::move this does not allocate.
  virtual Admission TryAcquire(CircuitKey key, TimePoint now) = 0;

  /// A permit that is never refused, for a direct `<provider>/<model>` call: it charges and credits
  /// but is not skipped (decisions, section 7). While the circuit refuses others its report changes
  /// nothing; past the cooldown it probes like any other request.
  virtual Permit AcquireDirect(CircuitKey key, TimePoint now) = 0;

  /// The circuits that were charged or credited, sorted by provider id, then model. Per provider at
  /// most 256 are kept, open and half-open ones always: beyond that the closed circuit whose last
  /// charge is the oldest is forgotten.
  virtual std::vector<CircuitView> Views(TimePoint now) const = 0;

  /// Forgets the circuits of a provider (or only that of `model`); reports of permits given before
  /// change nothing any more. Returns how many were not closed. Unknown providers are fine.
  virtual int Reset(std::string_view provider_id, std::optional<std::string_view> model,
                    TimePoint now) = 0;

 protected:
  friend class Permit;
  /// Called once per permit.
  virtual BreakerEffect Settle(const Permit& permit, const CircuitReport& report,
                               TimePoint now) = 0;
};

}  // namespace hotel

#endif  // HOTEL_CIRCUIT_BREAKER_H_
