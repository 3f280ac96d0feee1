// The loop of production: epoll for descriptors, an eventfd for work from other threads, and an
// ordered map of timers that bounds how long epoll waits.
#ifndef HOTEL_NET_EVENT_LOOP_H_
#define HOTEL_NET_EVENT_LOOP_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hotel/loop.h"

#include "absl/status/statusor.h"
#include "libhotel/base/mutex.h"
#include "libhotel/net/unique_fd.h"

namespace hotel::net {

/// One turn: wait, deliver some socket events, run what was posted, run due timers. Tasks that tasks
/// or timers create and timers that timers create run in the next turn, so nothing starves the
/// sockets; a timer that a task sets for now runs in the same one.
///
/// "Loop thread" below is the thread inside Run. Once Run has returned and been joined, its methods
/// may be called by whichever single thread takes the loop's objects apart.
class EventLoop : public Loop {
 public:
  /// Epoll's own event bits (EPOLLIN, EPOLLOUT, EPOLLRDHUP, EPOLLERR, EPOLLHUP).
  using Events = std::uint32_t;
  using WatchCallback = std::function<void(Events)>;

  /// Unavailable when the system refuses a descriptor.
  static absl::StatusOr<std::unique_ptr<EventLoop>> Create();
  ~EventLoop() override;

  /// Takes turns on the calling thread until RequestStop. Once.
  void Run();
  /// Ends Run after the current turn. Any thread.
  void RequestStop();
  /// Destroys queued tasks and pending timers unrun. After Run has returned.
  void Discard();

  void Post(Task task) override;
  bool IsLoopThread() const noexcept override;
  TimePoint Now() const noexcept override { return now_; }
  TimerId RunAt(TimePoint when, Task task) override;
  void CancelTimer(TimerId id) override;

  /// Calls `callback` once a turn while `fd` has one of `events` (level-triggered), and on EPOLLERR
  /// and EPOLLHUP whatever `events` says. Events left over from an earlier watch of the same number
  /// are never delivered to this one. Replaces an existing watch. False when the system refuses.
  /// The callback may Modify or Unwatch any descriptor, its own included. Loop thread only.
  [[nodiscard]] bool Watch(int fd, Events events, WatchCallback callback);
  /// Changes what is waited for. No effect on a descriptor that is not watched. Loop thread only.
  void Modify(int fd, Events events);
  bool IsWatched(int fd) const noexcept;
  /// Ends a watch, before or after the descriptor was closed. No effect on a descriptor that is not
  /// watched. Loop thread only.
  void Unwatch(int fd);

 private:
  struct Watcher {
    std::uint32_t generation = 0;
    Events events = 0;
    WatchCallback callback;
  };
  using TimerMap = std::map<std::pair<TimePoint, TimerId>, Task>;

  EventLoop(UniqueFd epoll, UniqueFd wake);

  bool OwnsState() const noexcept;
  int WaitMillis();
  void Wake() noexcept;
  void DeliverEvents(int count);
  void RunTimers();
  void RunPosted();
  bool Control(int operation, int fd, const Watcher& watcher) noexcept;

  const UniqueFd epoll_;
  const UniqueFd wake_;
  std::atomic<std::thread::id> thread_{};
  std::atomic<bool> stop_{false};

  base::Mutex mutex_;
  std::vector<Task> posted_ HOTEL_GUARDED_BY(mutex_);
  bool closed_ HOTEL_GUARDED_BY(mutex_) = false;

  TimePoint now_;
  TimerMap timers_;
  TimerMap due_;  // of the running turn
  std::unordered_map<TimerId, TimePoint> when_;
  TimerId next_timer_ = 1;

  // Indexed by descriptor. Shared, so that a callback that ends its own watch survives its return.
  std::vector<std::shared_ptr<Watcher>> watchers_;
  std::uint32_t next_generation_ = 1;
  struct Batch;
  std::unique_ptr<Batch> batch_;
};

}  // namespace hotel::net

#endif  // HOTEL_NET_EVENT_LOOP_H_
