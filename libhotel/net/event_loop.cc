#include "libhotel/net/event_loop.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <limits>
#include <string>

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "absl/status/status.h"

namespace hotel::net {
namespace {

TimePoint ReadClock() {
  return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
}

absl::Status Refused(const char* what) {
  return absl::UnavailableError(std::string(what) + ": " + ::strerror(errno));
}

}  // namespace

struct EventLoop::Batch {
  // Few enough that what they lead to (tasks, timers due at once) does not wait long for them; the
  // system hands out the others first in the next turn.
  std::array<epoll_event, 64> events;
};

absl::StatusOr<std::unique_ptr<EventLoop>> EventLoop::Create() {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return Refused("epoll_create1");
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return Refused("eventfd");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = static_cast<std::uint32_t>(wake.get());  // generation 0: no watch has it
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0) return Refused("epoll_ctl");
  return std::unique_ptr<EventLoop>(new EventLoop(std::move(epoll), std::move(wake)));
}

EventLoop::EventLoop(UniqueFd epoll, UniqueFd wake)
    : epoll_(std::move(epoll)),
      wake_(std::move(wake)),
      now_(ReadClock()),
      batch_(std::make_unique<Batch>()) {}

EventLoop::~EventLoop() { Discard(); }

bool EventLoop::IsLoopThread() const noexcept {
  return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
}

// The loop thread, or nobody's while no thread is inside Run.
bool EventLoop::OwnsState() const noexcept {
  const std::thread::id owner = thread_.load(std::memory_order_relaxed);
  return owner == std::this_thread::get_id() || owner == std::thread::id();
}

void EventLoop::Run() {
  thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  while (!stop_.load(std::memory_order_acquire)) {
    const int count = ::epoll_wait(epoll_.get(), batch_->events.data(),
                                   static_cast<int>(batch_->events.size()), WaitMillis());
    now_ = ReadClock();
    DeliverEvents(count);  // negative only for EINTR: a turn without socket events
    RunPosted();
    RunTimers();
  }
  thread_.store(std::thread::id(), std::memory_order_relaxed);
}

void EventLoop::RequestStop() {
  {
    base::MutexLock lock(&mutex_);
    closed_ = true;
  }
  stop_.store(true, std::memory_order_release);
  Wake();
}

void EventLoop::Discard() {
  std::vector<Task> posted;
  {
    base::MutexLock lock(&mutex_);
    closed_ = true;
    posted.swap(posted_);
  }
  // Taken out first: the destructor of a task may call CancelTimer.
  TimerMap timers = std::move(timers_);
  TimerMap due = std::move(due_);
  timers_.clear();
  due_.clear();
  when_.clear();
}

void EventLoop::Post(Task task) {
  bool wake = false;
  {
    base::MutexLock lock(&mutex_);
    if (!closed_) {
      // A turn looks at the queue before it waits, so its own thread needs no wake-up.
      wake = posted_.empty() && !IsLoopThread();
      posted_.push_back(std::move(task));
    }
  }
  if (wake) Wake();
}

void EventLoop::Wake() noexcept {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the loop is awake already.
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
}

Loop::TimerId EventLoop::RunAt(TimePoint when, Task task) {
  assert(OwnsState());
  const TimerId id = next_timer_++;
  if (stop_.load(std::memory_order_relaxed) && !IsLoopThread()) return id;  // never runs
  when_.emplace(id, when);
  timers_.emplace(std::make_pair(when, id), std::move(task));
  return id;
}

void EventLoop::CancelTimer(TimerId id) {
  assert(OwnsState());
  const auto found = when_.find(id);
  if (found == when_.end()) return;
  const auto key = std::make_pair(found->second, id);
  when_.erase(found);
  // Extracted, so that the task is destroyed with the maps in order.
  TimerMap::node_type node = timers_.extract(key);
  if (node.empty()) node = due_.extract(key);
}

int EventLoop::WaitMillis() {
  {
    base::MutexLock lock(&mutex_);
    if (!posted_.empty()) return 0;
  }
  if (timers_.empty()) return -1;
  const Duration left = timers_.begin()->first.first - ReadClock();
  if (left <= Duration::zero()) return 0;
  // Rounded up: a timer that fires early would make the loop spin until it is due.
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(
      std::min<std::chrono::milliseconds::rep>(millis, std::numeric_limits<int>::max()));
}

void EventLoop::RunTimers() {
  while (!timers_.empty() && timers_.begin()->first.first <= now_) {
    due_.insert(timers_.extract(timers_.begin()));
  }
  while (!due_.empty()) {
    TimerMap::node_type node = due_.extract(due_.begin());
    when_.erase(node.key().second);
    node.mapped()();
  }
}

void EventLoop::RunPosted() {
  std::vector<Task> tasks;
  {
    base::MutexLock lock(&mutex_);
    tasks.swap(posted_);
  }
  for (Task& task : tasks) {
    task();
    task = nullptr;  // what it holds goes before the next one runs
  }
}

void EventLoop::DeliverEvents(int count) {
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = batch_->events[static_cast<std::size_t>(i)];
    const int fd = static_cast<int>(event.data.u64 & 0xffffffffU);
    const auto generation = static_cast<std::uint32_t>(event.data.u64 >> 32);
    if (generation == 0) {
      std::uint64_t counter = 0;
      [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &counter, sizeof(counter));
      continue;
    }
    const auto index = static_cast<std::size_t>(fd);
    if (index >= watchers_.size()) continue;
    // An earlier callback of this batch may have ended this watch, closed the descriptor, and
    // watched a new one under the same number: the generation tells.
    const std::shared_ptr<Watcher> watcher = watchers_[index];
    if (watcher == nullptr || watcher->generation != generation) continue;
    const Events wanted = event.events & (watcher->events | EPOLLERR | EPOLLHUP);
    if (wanted != 0) watcher->callback(wanted);
  }
}

bool EventLoop::Control(int operation, int fd, const Watcher& watcher) noexcept {
  epoll_event event{};
  event.events = watcher.events;
  event.data.u64 =
      (static_cast<std::uint64_t>(watcher.generation) << 32) | static_cast<std::uint32_t>(fd);
  return ::epoll_ctl(epoll_.get(), operation, fd, &event) == 0;
}

bool EventLoop::Watch(int fd, Events events, WatchCallback callback) {
  assert(OwnsState());
  if (fd < 0) return false;
  auto watcher = std::make_shared<Watcher>();
  watcher->generation = next_generation_++;
  if (next_generation_ == 0) next_generation_ = 1;
  watcher->events = events;
  watcher->callback = std::move(callback);
  if (!Control(EPOLL_CTL_ADD, fd, *watcher) &&
      !(errno == EEXIST && Control(EPOLL_CTL_MOD, fd, *watcher))) {
    Unwatch(fd);
    return false;
  }
  const auto index = static_cast<std::size_t>(fd);
  if (index >= watchers_.size()) watchers_.resize(index + 1);
  watchers_[index].swap(watcher);
  return true;
}

void EventLoop::Modify(int fd, Events events) {
  assert(OwnsState());
  const auto index = static_cast<std::size_t>(fd);
  if (fd < 0 || index >= watchers_.size() || watchers_[index] == nullptr) return;
  Watcher& watcher = *watchers_[index];
  if (watcher.events == events) return;
  watcher.events = events;
  // The number may have been closed and opened again behind our back: then it is a new entry.
  if (!Control(EPOLL_CTL_MOD, fd, watcher) && errno == ENOENT) Control(EPOLL_CTL_ADD, fd, watcher);
}

bool EventLoop::IsWatched(int fd) const noexcept {
  const auto index = static_cast<std::size_t>(fd);
  return fd >= 0 && index < watchers_.size() && watchers_[index] != nullptr;
}

void EventLoop::Unwatch(int fd) {
  assert(OwnsState());
  const auto index = static_cast<std::size_t>(fd);
  if (fd < 0 || index >= watchers_.size() || watchers_[index] == nullptr) return;
  const std::shared_ptr<Watcher> watcher = std::move(watchers_[index]);
  watchers_[index] = nullptr;
  Control(EPOLL_CTL_DEL, fd, *watcher);  // fails when closed already, which ended it as well
}

}  // namespace hotel::net
