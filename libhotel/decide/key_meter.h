// What one virtual key has used, and whether it may have another request (facts o; decisions 7).
//
// Pure: a value that is asked and told things, with the instant they happen at. Whoever owns it
// serializes its use, which makes every admission atomic: what a request may turn out to take is
// set aside before the next one is looked at.
#ifndef HOTEL_DECIDE_KEY_METER_H_
#define HOTEL_DECIDE_KEY_METER_H_

#include <chrono>
#include <cstdint>
#include <utility>

#include "hotel/settings.h"
#include "hotel/types.h"
#include "hotel/virtual_key.h"

#include "libhotel/decide/token_bucket.h"

namespace hotel::decide {

/// The limits in force for a key.
struct KeyPolicy {
  bool enabled = true;  ///< false: no bucket is looked at, and all of them are full afterwards
  BucketRate requests;
  BucketRate tokens;
  Duration max_wait{};
  bool has_budget = false;
  KeyBudget budget;
};
/// A key's own limits, and for those it does not have the global ones.
KeyPolicy PolicyOf(const KeyLimits& limits, const ClientLimitSettings& global) noexcept;

/// What is set aside for one request.
struct KeyHold {
  enum class Stage { kArrived, kQueued, kEntered, kOver };
  Stage stage = Stage::kArrived;
  TimePoint turn{};      ///< kQueued: when it may go on
  bool request = false;  ///< one was taken from the bucket of requests
  bool metered = false;  ///< tokens are counted for it
  double tokens = 0;     ///< taken from the bucket of tokens
  std::int64_t cost = 0;
};

/// What a request is guessed to take; it stays aside until the request is settled.
struct KeyGuess {
  std::int64_t prompt = 0;  ///< tokens
  std::int64_t cost = 0;    ///< billionths of a dollar
};

enum class KeyLimit { kNone, kRequests, kTokens, kBudget };

struct KeyDecision {
  enum class Kind { kEnter, kWait, kRefuse };
  Kind kind = Kind::kEnter;
  TimePoint until{};  ///< kWait
  KeyLimit limit = KeyLimit::kNone;
  Duration retry_after{};  ///< kRefuse: when it may be worth asking again
  BucketRate rate;         ///< of the bucket that refused
  double available = 0;    ///< in it
};

/// A budget lets a request in while anything is left of it beyond what those in flight have set
/// aside: each of them its guess, or what requests of the key cost of late on average where that is
/// more. So as long as none costs more than was set aside for it, the budget is overspent by no
/// more than the one request that came in last; and who comes when nothing runs gets in with any
/// guess, so that a rest can be spent however small it is.
class KeyMeter {
 public:
  /// Time without requests behind which buckets begin anew.
  static constexpr Duration kIdle = std::chrono::minutes(10);

  /// `used`: before this process began.
  explicit KeyMeter(KeyUsage used);

  /// May the request of `hold` go on? Asked again when it was told to wait.
  KeyDecision Ask(const KeyPolicy& policy, const KeyGuess& guess, TimePoint now, WallTime wall,
                  KeyHold* hold);

  /// An admitted request is over and used this. REQUIRES: hold->stage == kEntered.
  void Settle(const KeyUsage& used, TimePoint now, KeyHold* hold);
  /// A request is given up and used nothing: gives back what was set aside.
  void GiveUp(TimePoint now, KeyHold* hold);

  const KeyUsage& used() const noexcept { return used_; }
  std::int64_t SpentIn(BudgetPeriod period, WallTime wall) const noexcept;

  /// What was used and not taken yet; empty requests mean nothing was.
  KeyUsage TakeNews() { return std::exchange(news_, {}); }
  /// Puts back what was taken and could not be kept.
  void PutBack(const KeyUsage& news);

 private:
  KeyDecision AskRequests(const KeyPolicy& policy, TimePoint now, KeyHold* hold);
  KeyDecision Admit(const KeyPolicy& policy, const KeyGuess& guess, TimePoint now, WallTime wall,
                    KeyHold* hold);
  void TurnAway(KeyHold* hold);

  KeyUsage used_;
  KeyUsage news_;
  TokenBucket requests_;
  TokenBucket tokens_;
  TimePoint asked_at_{};
  int inside_ = 0;            ///< requests that hold something
  std::int64_t aside_ = 0;    ///< money set aside for running requests
  std::int64_t usually_ = 0;  ///< what a request of this key costs, on average of late
};

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_KEY_METER_H_
