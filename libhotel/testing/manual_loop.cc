#include "hotel/testing/manual_loop.h"

#include <chrono>
#include <utility>

namespace hotel::testing {

WallTime ManualClock::WallNow() const noexcept {
  return WallTime(std::chrono::duration_cast<std::chrono::milliseconds>(now_.time_since_epoch()));
}

void ManualLoop::Post(Task task) { posted_.push_back(std::move(task)); }

Loop::TimerId ManualLoop::RunAt(TimePoint when, Task task) {
  const TimerId id = next_id_++;
  timers_.emplace(std::pair(when, id), std::move(task));
  when_.emplace(id, when);
  return id;
}

void ManualLoop::CancelTimer(TimerId id) {
  const auto it = when_.find(id);
  if (it == when_.end()) return;
  // The task may own what cancels it: it is destroyed last, when the maps are consistent again.
  const auto timer = timers_.extract(std::pair(it->second, id));
  when_.erase(it);
}

std::size_t ManualLoop::RunUntilIdle() {
  std::size_t ran = 0;
  for (;; ++ran) {
    Task task;
    if (!posted_.empty()) {
      task = std::move(posted_.front());
      posted_.pop_front();
    } else if (!timers_.empty() && timers_.begin()->first.first <= clock_->Now()) {
      auto timer = timers_.extract(timers_.begin());
      when_.erase(timer.key().second);
      task = std::move(timer.mapped());
    } else {
      return ran;
    }
    task();
  }
}

void ManualLoop::Advance(Duration by) {
  const TimePoint end = clock_->Now() + by;
  RunUntilIdle();
  while (!timers_.empty() && timers_.begin()->first.first <= end) {
    clock_->Set(timers_.begin()->first.first);
    RunUntilIdle();
  }
  clock_->Set(end);
}

Duration ManualLoop::RunToEnd(Duration limit) {
  const TimePoint begin = clock_->Now();
  RunUntilIdle();
  while (!timers_.empty()) {
    const TimePoint next = timers_.begin()->first.first;
    if (next > begin + limit) {
      clock_->Set(begin + limit);
      break;
    }
    clock_->Set(next);
    RunUntilIdle();
  }
  return clock_->Now() - begin;
}

std::optional<TimePoint> ManualLoop::next_timer() const {
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->first.first;
}

}  // namespace hotel::testing
