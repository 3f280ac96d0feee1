// What stands between a request and its route: the limits of whoever asks, and what it is charged.
#ifndef HOTEL_REQUEST_GATE_H_
#define HOTEL_REQUEST_GATE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hotel/clock.h"
#include "hotel/key_store.h"
#include "hotel/request_log.h"
#include "hotel/settings.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hotel {

/// What a gate looks at.
struct GateQuestion {
  const Settings* settings = nullptr;
  TimePoint now{};
  WallTime wall{};
  /// False for what nobody can put a price on: the passthrough's calls have no model.
  bool priced = true;
  /// False for what is answered without a model, such as their list: it counts as a request of the
  /// key's rate and nothing else, and it does not wait for its turn.
  bool served = true;
  /// Guesses how many tokens the request holds; asked for when somebody counts them.
  std::function<std::int64_t()> prompt_tokens;
  /// Guesses what it may cost, in billionths of a dollar, at the dearest model it may reach; 0 when
  /// no price is known. Asked for when a budget stands behind it.
  std::function<std::int64_t()> cost;
};

/// What a gate says.
struct GateAnswer {
  enum class Kind {
    kEnter,
    kWait,    ///< ask again at `until`
    kRefuse,  ///< `status` to `headers` are the answer
  };
  Kind kind = Kind::kEnter;
  TimePoint until{};
  int status = 429;
  std::string_view code;  ///< stable word; static storage
  std::string_view type;  ///< of the error; "" = that of the status; static storage
  ErrorKind error_kind = ErrorKind::kAuth;  ///< in the record
  std::string message;
  HeaderList headers;  ///< Retry-After and X-RateLimit-*
};

/// One request at a gate. Belongs to one thread at a time. Destroyed unsettled it gives back what
/// it took.
class GatePass {
 public:
  virtual ~GatePass() = default;
  /// May the request go on? Asked until it may or may not.
  virtual GateAnswer Ask(const GateQuestion& question) = 0;
  /// The request is over: charges it with what it used.
  virtual void Settle(const RequestRecord& record, TimePoint now, WallTime wall) = 0;
};

/// Thread-safe.
class RequestGate {
 public:
  virtual ~RequestGate() = default;
  /// A request of this key has come; null when nothing is asked of it.
  virtual std::unique_ptr<GatePass> Arrive(std::string_view key_id) = 0;
};

/// The gate of virtual keys: requests a second, tokens a minute and budget of each key. Counts
/// what every key uses, in memory, and writes it to the store behind the requests.
class KeyGate : public RequestGate {
 public:
  /// What a key has used up to now; zeros for one that is not known.
  virtual KeyUsage Usage(std::string_view key_id) const = 0;
  /// What it has spent in the running period of its budget.
  virtual std::int64_t Spent(std::string_view key_id, BudgetPeriod period, WallTime now) const = 0;
  /// Writes what is not written yet.
  virtual absl::Status Flush() = 0;
  /// Writes once more and stops writing. Idempotent; the destructor does it.
  virtual void Close() = 0;
};

struct KeyGateOptions {
  /// How often what was used is written; what a kill can take.
  Duration flush_interval = std::chrono::milliseconds(500);
};

/// Reads what was used so far. `store` must outlive the gate. Errors are those of the store.
absl::StatusOr<std::unique_ptr<KeyGate>> MakeKeyGate(KeyStore* store,
                                                     const KeyGateOptions& options = {});

/// The instant a budget of `period` begins anew behind `now`.
WallTime BudgetPeriodEnd(BudgetPeriod period, WallTime now) noexcept;

}  // namespace hotel

#endif  // HOTEL_REQUEST_GATE_H_
