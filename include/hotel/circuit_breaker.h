// Circuits: which (provider, model) pairs are broken right now.
//
// A caller asks for a permit before it contacts a candidate and reports on it exactly once. A
// permit carries the generation of its circuit, so a late report about an older state of the
// circuit never changes the newer one (decisions, sections 1 and 4).
#ifndef HOTEL_CIRCUIT_BREAKER_H_
#define HOTEL_CIRCUIT_BREAKER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/quota_advisor.h"
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

/// What a refusal said about how long it holds.
struct PinHint {
  Duration duration{};   ///< from the report on; clamped by quota_pin_max
  bool account = false;  ///< the whole account was refused, not this model
};

/// A verdict with its reason.
struct CircuitReport {
  Verdict verdict = Verdict::kAbandoned;
  /// A phrase of the closed vocabulary of facts d ("upstream status 503"); never provider text.
  std::string cause{};
  int status = 0;  ///< upstream status behind it, 0 = none was seen
  /// The failure was a 429: feeds the streak that lifts the ceiling of the backoff.
  bool rate_limited = false;
  /// Of a refusal: how long. Looked at only when the report opens the circuit.
  std::optional<PinHint> pin{};
};

enum class CircuitState { kClosed, kOpen, kHalfOpen };
/// "closed", "open", "half-open".
const char* CircuitStateName(CircuitState state) noexcept;

/// Where a quota pin comes from. All but `kResponse` speak for the whole account.
enum class PinSource {
  kNone,
  kAdvisor,   ///< a quota reading: spent
  kReserve,   ///< a quota reading: down to the reserve
  kResponse,  ///< one model's own refusal
  kAccount,   ///< a refusal that named the account
};
/// "advisor", "reserve", "response", "account"; "" for kNone.
const char* PinSourceName(PinSource source) noexcept;

/// The model name of the circuit that a quota reading opens for a whole provider.
inline constexpr std::string_view kAccountQuotaModel = "(account quota)";

/// A circuit as it looks from outside at one instant. An open circuit past its cooldown is shown
/// half-open.
struct CircuitView {
  CircuitKey key;  ///< model "" is the one circuit of a provider under scope provider
  CircuitState state = CircuitState::kClosed;
  int consecutive_fails = 0;
  std::optional<TimePoint> opened_at;       ///< open and half-open only
  std::optional<TimePoint> next_retry_at;   ///< while the cooldown refuses
  std::optional<Duration> cooldown;         ///< from opened_at on, while it refuses
  bool quota_pinned = false;                ///< a pin is in force, while the cooldown refuses
  PinSource pin_source = PinSource::kNone;  ///< of the pin in force
  bool backed_off = false;  ///< a backoff by failed probes is in force, while the cooldown refuses
  int failed_probes = 0;    ///< since the circuit last closed
  int opens = 0;            ///< in the running 24-hour window
  int in_flight = 0;        ///< permits that are out and counted on this circuit
  std::string last_cause;
  int last_status = 0;
  std::optional<TimePoint> last_at;
};

/// A provider as its circuits make it look. The row's own values are those of
/// `circuits[dominant]`: rank open, half-open, closed; then the latest retry, the most fails, the
/// model.
struct ProviderView {
  std::string provider_id;
  std::string provider_name;
  /// Every model of the provider is skipped: by an account-wide pin, by enough open circuits, or by
  /// its one circuit under scope provider.
  bool provider_open = false;
  bool quota_pinned = false;          ///< any refusing circuit is pinned
  std::size_t dominant = 0;           ///< index in `circuits`
  std::vector<CircuitView> circuits;  ///< never empty, sorted by model

  const CircuitView& row() const { return circuits[dominant]; }
  /// Models whose circuit refuses, sorted.
  std::vector<std::string> open_models() const;
};

/// How many providers have as their most degraded circuit a closed, a half-open, an open one.
struct CircuitSummary {
  int closed = 0;
  int half_open = 0;
  int open = 0;
};
CircuitSummary Summarize(const std::vector<ProviderView>& providers);

/// What a reset found.
struct ResetResult {
  CircuitState previous = CircuitState::kClosed;  ///< the most degraded one it met
  int cleared = 0;                                ///< circuits forgotten
  int recovered = 0;                              ///< of them, those that were not closed
};

/// What a pass of quota advice did, in circuits.
struct QuotaAdviceResult {
  int retargeted = 0;
  int released = 0;
  int seeded = 0;
  int retired = 0;
};

class CircuitBreaker;

/// The right to make one attempt. Move-only. A permit that dies unreported is reported abandoned.
/// Not thread-safe; must not outlive its breaker.
class Permit {
 public:
  Permit() = default;
  /// `slot` and `whole_provider` are the breaker's own: which circuit counts this permit, and that
  /// it was given under scope provider.
  Permit(CircuitBreaker* breaker, CircuitKey key, std::uint64_t generation, bool enforced,
         bool probe = false, std::uint64_t slot = 0, bool whole_provider = false);
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
  std::uint64_t slot() const noexcept { return slot_; }
  bool whole_provider() const noexcept { return whole_provider_; }

  /// Reports the one verdict of this attempt and ends the permit. REQUIRES: valid().
  BreakerEffect Report(const CircuitReport& report, TimePoint now);

 private:
  CircuitBreaker* breaker_ = nullptr;
  CircuitKey key_;
  std::uint64_t generation_ = 0;
  std::uint64_t slot_ = 0;
  bool enforced_ = true;
  bool probe_ = false;
  bool whole_provider_ = false;
};

/// Why a permit was refused.
enum class Refusal {
  kNone,
  kCircuitOpen,   ///< the own circuit is open
  kProviderOpen,  ///< the provider is skipped for all its models
  kHalfOpenBusy,  ///< half_open_max_in_flight probes are out
  kCapacity,      ///< max_models circuits are kept, none may be forgotten (on_capacity: reject)
};
/// "circuit_open", "provider_open", "half_open_busy", "capacity"; "" for kNone.
const char* RefusalName(Refusal refusal) noexcept;

/// A refusal as it stands now. For kHalfOpenBusy and kCapacity, which end when somebody reports,
/// `until` is one second from now.
struct Block {
  TimePoint until{};
  bool pinned = false;         ///< quota pins alone hold it
  bool provider_wide = false;  ///< no model of the provider fares better
  Refusal reason = Refusal::kNone;
};

/// The answer to "may I?": a permit, or the instant at which asking again makes sense.
struct Admission {
  Permit permit;                     ///< valid() when admitted
  TimePoint retry_at{};              ///< set when refused
  Refusal refusal = Refusal::kNone;  ///< set when refused
  bool pinned = false;               ///< refused, and every circuit that refuses is pinned
  bool admitted() const noexcept { return permit.valid(); }
};

/// All circuits of the process. Every method is thread-safe. Events are delivered after the lock is
/// released, on the calling thread.
///
/// Under scope model a key's circuit is its (provider, model); under scope provider the model is
/// ignored. A model name of more than 256 bytes is known by its beginning and a hash of it.
class CircuitBreaker {
 public:
  virtual ~CircuitBreaker() = default;

  /// Whether `key` is refused at `now`: by its own circuit, else by the verdict on its provider,
  /// which is derived from all the provider's circuits: its end is the earliest end among the
  /// circuits that refuse, and it is pinned when all of them are. Changes nothing and does not
  /// allocate: this is the skip at resolve (seed 000, "Blocked candidates"). Says nothing about
  /// capacity.
  virtual std::optional<Block> Blocked(const CircuitKey& key, TimePoint now) const noexcept = 0;

  /// True when `key` served (a kSuccess report) within `window` before `now`. Circuits that are
  /// switched off remember nothing.
  virtual bool RecentSuccess(const CircuitKey& key, Duration window,
                             TimePoint now) const noexcept = 0;

  /// Asks to make an attempt. An open circuit whose cooldown has passed becomes half-open here; it
  /// then admits half_open_max_in_flight permits at a time (0 = everybody) until a report decides.
  /// The key moves into the permit: with std::move this does not allocate.
  virtual Admission TryAcquire(CircuitKey key, TimePoint now) = 0;

  /// A permit that is never refused, for a direct `<provider>/<model>` call: it charges and credits
  /// but is not skipped (decisions, section 7). While the circuit refuses others its report changes
  /// nothing; past the cooldown it probes like any other request.
  virtual Permit AcquireDirect(CircuitKey key, TimePoint now) = 0;

  /// The circuits that were charged or credited, sorted by provider id, then model. Circuits that
  /// are switched off are not shown (R55). Per provider max_models are kept, open, half-open and
  /// busy ones always; beyond that the closed one whose last charge is the oldest is forgotten, or
  /// the new one refused (on_capacity).
  virtual std::vector<CircuitView> Views(TimePoint now) const = 0;

  /// The same by provider, sorted by provider id.
  virtual std::vector<ProviderView> Providers(TimePoint now) const = 0;

  /// Forgets the circuits of a provider (or only that of `model`); reports of permits given before
  /// change nothing any more. Unknown providers are fine.
  virtual ResetResult Reset(std::string_view provider_id, std::optional<std::string_view> model,
                            TimePoint now) = 0;
  /// Forgets every circuit.
  virtual ResetResult ResetAll(TimePoint now) = 0;

  /// Applies what is known about the quota of providers (facts d): a spent window with a date
  /// lengthens the cooldown of the provider's open circuits, or opens the circuit
  /// kAccountQuotaModel when none speaks for the account yet; a healthy one lifts account-wide
  /// pins; anything else changes nothing. A circuit kAccountQuotaModel whose pin ran out is
  /// forgotten, for providers that `advice` does not name too.
  virtual QuotaAdviceResult ApplyQuotaAdvice(const std::vector<QuotaAdvice>& advice,
                                             TimePoint now) = 0;
  /// Lifts every pin: nobody looks at quotas any more. Returns how many.
  virtual int ReleasePins(TimePoint now) = 0;

 protected:
  friend class Permit;
  /// Called once per permit.
  virtual BreakerEffect Settle(const Permit& permit, const CircuitReport& report,
                               TimePoint now) = 0;
};

}  // namespace hotel

#endif  // HOTEL_CIRCUIT_BREAKER_H_
