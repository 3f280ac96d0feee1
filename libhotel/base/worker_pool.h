// Threads for work that must hold up neither a loop nor a request.
#ifndef HOTEL_BASE_WORKER_POOL_H_
#define HOTEL_BASE_WORKER_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "libhotel/base/mutex.h"

namespace hotel::base {

/// Takes tasks in order of arrival; with one thread it runs them one after the other. Thread-safe.
class WorkerPool {
 public:
  /// At most this many threads (at least one). Each begins with a task that finds none idle.
  explicit WorkerPool(std::size_t threads = 1) : most_(threads > 0 ? threads : 1) {}
  ~WorkerPool() { Stop(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// After Stop the task is dropped. Tasks must not throw.
  void Run(std::function<void()> task);
  /// Finishes the running tasks, drops the others, joins. Not from a task. Idempotent.
  void Stop();

 private:
  void Work();

  const std::size_t most_;
  Mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_ HOTEL_GUARDED_BY(mutex_);
  std::size_t idle_ HOTEL_GUARDED_BY(mutex_) = 0;  // threads that wait
  bool stopped_ HOTEL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ HOTEL_GUARDED_BY(mutex_);
};

}  // namespace hotel::base

#endif  // HOTEL_BASE_WORKER_POOL_H_
