// What a provider's refusal says: busy for a moment, spent until some hour, or nothing to go by.
#ifndef HOTEL_RATE_LIMIT_H_
#define HOTEL_RATE_LIMIT_H_

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "hotel/types.h"

namespace hotel {

/// The two claims a 429 can make (facts c).
enum class RefusalClass {
  kUnknown,    ///< restates the status, contradicts itself, or asks for neither time nor money
  kSaturated,  ///< "busy": a slot or a per-minute budget is full, a retry succeeds in seconds
  kExhausted,  ///< "spent": a usage window or a balance is gone until it resets or is paid
};

/// The wire word of a class: `unknown`, `saturated`, `exhausted`. Static storage.
std::string_view RefusalClassName(RefusalClass refusal_class) noexcept;

/// Bytes of a body that are read; what follows changes nothing.
inline constexpr std::size_t kRefusalBodyLimit = std::size_t{16} * 1024;

/// What to wait when a refusal states no plausible time.
inline constexpr Duration kSaturatedWait = std::chrono::seconds(2);
inline constexpr Duration kWindowPin = std::chrono::minutes(30);
inline constexpr Duration kWeeklyPin = std::chrono::hours(2);
inline constexpr Duration kUntilPaidPin = std::chrono::hours(24 * 90);

/// A refusal as it came off the wire. The views and the pointer need to live for the call only.
struct UpstreamRefusal {
  int status = 0;
  /// Null = none.
  const HeaderList* headers = nullptr;
  /// Decoded; may be cut anywhere.
  std::string_view body;
  /// Turns dates and epochs into waits.
  WallTime received_at;
  /// One of the known types, or "" when it is not known. The standard classifier reads all wordings
  /// for every provider, because gateways relay each other's; it is here for others.
  std::string_view provider_type;
};

/// What was read.
struct RateLimitReading {
  /// False: the status was not one that is read, and all else is as in a fresh object.
  bool classified = false;
  RefusalClass refusal_class = RefusalClass::kUnknown;
  /// It is about the account (balance, subscription window, key, organisation), not one model.
  bool account_wide = false;
  /// A person must pay, raise a cap or click: it does not come back by itself.
  bool needs_payment = false;
  /// The wait the provider states, when it is plausible (> 0, at most 90 days in a header, 30 days
  /// in a body) and not overruled by the words.
  std::optional<Duration> wait;
  /// What to use where `wait` is empty: kSaturatedWait, or the pin of the words. Zero when unknown.
  Duration default_wait{0};
  /// Key of the table row that decided; "" when headers or a stated wait did. Static storage.
  std::string_view phrase;

  /// `wait`, or `default_wait` where the provider stated none.
  Duration WaitOrDefault() const noexcept { return wait.value_or(default_wait); }
};

/// Reads refusals. Implementations are stateless to the caller: reentrant, any thread, and they
/// neither throw nor keep anything of what they read.
class RateLimitClassifier {
 public:
  virtual ~RateLimitClassifier() = default;

  /// Reads a 429; any other status is left unclassified. A stated wait above `max_wait`
  /// (rate_limit.saturation_max_wait) is an exhaustion of that length.
  virtual RateLimitReading Read(const UpstreamRefusal& refusal,
                                Duration max_wait) const noexcept = 0;

  /// What headers and words mean under any status (402, 403, 503, ...): for records, for the pin of
  /// a 402 and for tools. What the router does with such a status is not decided by it.
  virtual RateLimitReading ReadWords(const UpstreamRefusal& refusal,
                                     Duration max_wait) const noexcept = 0;
};

/// One row of the table of wordings.
struct RefusalPhrase {
  std::string_view key;        ///< as RateLimitReading::phrase reports it
  std::string_view wording;    ///< what it matches, for people
  std::string_view providers;  ///< where it was seen
  RefusalClass refusal_class = RefusalClass::kUnknown;
  bool account_wide = false;  ///< unless the words name one model
  bool needs_payment = false;
  Duration default_wait{0};
  std::string_view provenance;  ///< how it became known
};

/// Every row, in order of precedence. A key that no attempt reports over a long time may have been
/// reworded by its provider.
const std::vector<RefusalPhrase>& RefusalPhrases();

/// True when a response says that nothing is left right now: x-ratelimit-remaining-requests,
/// x-ratelimit-remaining-tokens or x-ratelimit-remaining is literally "0" (facts e).
bool StatesNothingRemaining(const HeaderList& headers) noexcept;

}  // namespace hotel

#endif  // HOTEL_RATE_LIMIT_H_
