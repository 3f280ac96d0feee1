// The line of requests that wait for a slot of one provider, and what is kept of each of them.
#ifndef HOTEL_GUARD_SLOT_LINE_H_
#define HOTEL_GUARD_SLOT_LINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "hotel/inflight_limiter.h"

#include "libhotel/base/mutex.h"

namespace hotel::guard {

/// One waiting request. It may stand in several lines; the first one to offer a slot wins.
///
/// Its lock is taken inside the lock of a line's owner, never the other way round.
class Waiter {
 public:
  explicit Waiter(std::function<void()> on_slot) : on_slot_(std::move(on_slot)) {}

  /// True while a slot would be welcome.
  bool Waiting() const {
    base::MutexLock lock(&mutex_);
    return state_ == State::kWaiting;
  }
  bool Ready() const {
    base::MutexLock lock(&mutex_);
    return state_ == State::kHolds;
  }

  /// Hands over what `make_slot` returns, if it is still welcome; it is not called otherwise.
  /// `*call` becomes what is to be called when all locks are released.
  template <typename MakeSlot>
  bool Offer(std::size_t target, const MakeSlot& make_slot, std::function<void()>* call) {
    base::MutexLock lock(&mutex_);
    if (state_ != State::kWaiting) return false;
    state_ = State::kHolds;
    target_ = target;
    slot_ = make_slot();
    if (armed_) *call = std::exchange(on_slot_, nullptr);
    return true;
  }

  /// From now on a slot that is handed over is told.
  void Arm() {
    base::MutexLock lock(&mutex_);
    armed_ = true;
  }

  /// The slot that was handed over, or an invalid one when there is none.
  InflightSlot Take(std::size_t* target) {
    base::MutexLock lock(&mutex_);
    if (state_ != State::kHolds) return {};
    state_ = State::kGone;
    *target = target_;
    return std::move(slot_);
  }

  /// Wants nothing any more. Returns what nobody took. The callback dies here, on the caller's
  /// thread, not under the lock of whoever drops the waiter last.
  InflightSlot Leave() {
    std::function<void()> dropped;
    base::MutexLock lock(&mutex_);
    state_ = State::kGone;
    dropped.swap(on_slot_);
    return std::move(slot_);
  }

 private:
  enum class State { kWaiting, kHolds, kGone };

  mutable base::Mutex mutex_;
  State state_ HOTEL_GUARDED_BY(mutex_) = State::kWaiting;
  bool armed_ HOTEL_GUARDED_BY(mutex_) = false;
  std::size_t target_ HOTEL_GUARDED_BY(mutex_) = 0;
  InflightSlot slot_ HOTEL_GUARDED_BY(mutex_);
  std::function<void()> on_slot_ HOTEL_GUARDED_BY(mutex_);
};

/// Seniority, then a number of its own: no two places are the same.
using PlaceKey = std::pair<std::uint64_t, std::uint64_t>;

struct PlaceInLine {
  std::shared_ptr<Waiter> waiter;
  std::size_t target = 0;  ///< index in the waiter's list of targets
};

/// First come, first served. Not thread-safe; guarded by its owner.
using SlotLine = std::map<PlaceKey, PlaceInLine>;

}  // namespace hotel::guard

#endif  // HOTEL_GUARD_SLOT_LINE_H_
