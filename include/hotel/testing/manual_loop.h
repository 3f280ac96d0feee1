// Time and a loop that a test moves by hand: no threads, no sleeps.
#ifndef HOTEL_TESTING_MANUAL_LOOP_H_
#define HOTEL_TESTING_MANUAL_LOOP_H_

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "hotel/clock.h"
#include "hotel/loop.h"
#include "hotel/types.h"

namespace hotel::testing {

/// A clock that stands still until it is told. Starts at one hour after the epoch of both clocks,
/// so that subtracting spans is safe. Not thread-safe.
class ManualClock : public Clock {
 public:
  TimePoint Now() const noexcept override { return now_; }
  WallTime WallNow() const noexcept override;
  void Advance(Duration by) { now_ += by; }
  void Set(TimePoint to) { now_ = to; }

 private:
  TimePoint now_{std::chrono::hours(1)};
};

/// A loop without a thread: tasks and timers run inside the methods below, on the caller's thread.
class ManualLoop : public Loop {
 public:
  explicit ManualLoop(ManualClock* clock) : clock_(clock) {}

  void Post(Task task) override;
  bool IsLoopThread() const noexcept override { return true; }
  TimePoint Now() const noexcept override { return clock_->Now(); }
  TimerId RunAt(TimePoint when, Task task) override;
  void CancelTimer(TimerId id) override;

  /// Runs posted tasks and due timers until none is left. Returns how many ran.
  std::size_t RunUntilIdle();
  /// Moves time to each timer in turn, and finally by `by` in all, running what comes due.
  void Advance(Duration by);
  /// Advances from timer to timer until none is pending or `limit` has passed. Returns the time it
  /// took.
  Duration RunToEnd(Duration limit = std::chrono::hours(24));

  std::size_t pending_timers() const noexcept { return timers_.size(); }
  /// When the earliest timer is due.
  std::optional<TimePoint> next_timer() const;

 private:
  ManualClock* clock_;
  std::deque<Task> posted_;
  std::map<std::pair<TimePoint, TimerId>, Task> timers_;
  std::map<TimerId, TimePoint> when_;
  TimerId next_id_ = 1;
};

}  // namespace hotel::testing

#endif  // HOTEL_TESTING_MANUAL_LOOP_H_
