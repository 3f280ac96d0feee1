// The thread that drives calls, exchanges and timers.
//
// Every object that belongs to a loop is touched by that loop's thread only; other threads hand it
// work with `Post`. Inside one turn `Now()` does not move, so decisions of a turn agree.
#ifndef HOTEL_LOOP_H_
#define HOTEL_LOOP_H_

#include <cstdint>
#include <functional>

#include "hotel/types.h"

namespace hotel {

/// One event loop. The loop outlives everything that was started on it.
class Loop {
 public:
  using Task = std::function<void()>;
  /// Names a pending timer; 0 is never a valid id.
  using TimerId = std::uint64_t;

  virtual ~Loop() = default;

  /// Runs `task` on the loop thread, in the order of the calls, never before Post returns. Any
  /// thread. After the loop has stopped the task is destroyed unrun. Tasks must not throw.
  virtual void Post(Task task) = 0;

  /// True on the loop's own thread. Any thread.
  virtual bool IsLoopThread() const noexcept = 0;

  /// The instant this turn began. Loop thread only.
  virtual TimePoint Now() const noexcept = 0;

  /// Runs `task` once in the first turn that begins at or after `when`; timers that are due in the
  /// same turn run in order of `when`, then of creation. Loop thread only.
  virtual TimerId RunAt(TimePoint when, Task task) = 0;

  /// Forgets a timer; its task is destroyed unrun. Unknown, fired and zero ids are ignored. Loop
  /// thread only.
  virtual void CancelTimer(TimerId id) = 0;
};

}  // namespace hotel

#endif  // HOTEL_LOOP_H_
