// The last exhausted 429 of every provider: for providers without a usage API the only reading of
// a quota there is (seed 000, "Providers with no usage API").
#ifndef HOTEL_CAP_LEDGER_H_
#define HOTEL_CAP_LEDGER_H_

#include <optional>
#include <string>
#include <string_view>

#include "hotel/types.h"

namespace hotel {

/// What an exhausted 429 said (`last_cap`).
struct LastCap {
  std::string phrase;          ///< the classifier's key, "" when headers decided
  std::string model;           ///< upstream model id that drew it
  bool needs_payment = false;  ///< a person has to act; no window will reset it (`entitled`)
  WallTime at{};
};

/// One note per provider, in memory. Thread-safe. Holds the 4096 providers noted last.
class CapLedger {
 public:
  virtual ~CapLedger() = default;

  /// Replaces the provider's note. Texts are cut to 256 bytes, at a character's border.
  virtual void Note(std::string_view provider_id, LastCap cap) = 0;

  /// nullopt when the provider drew none.
  virtual std::optional<LastCap> Last(std::string_view provider_id) const = 0;

  /// For a provider that was deleted.
  virtual void Forget(std::string_view provider_id) = 0;
};

}  // namespace hotel

#endif  // HOTEL_CAP_LEDGER_H_
