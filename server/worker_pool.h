// A few threads for work that must not hold up the loop.
#ifndef SERVER_WORKER_POOL_H_
#define SERVER_WORKER_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "libhotel/base/mutex.h"

namespace hotel::server {

/// Runs tasks in order of arrival on a fixed number of threads. Thread-safe.
class WorkerPool {
 public:
  explicit WorkerPool(std::size_t threads);
  ~WorkerPool() { Stop(); }

  /// Queues a task; after Stop it is dropped. Tasks must not throw.
  void Run(std::function<void()> task);

  /// Finishes the running tasks, drops the queued ones, joins. Idempotent.
  void Stop();

 private:
  void Work();

  base::Mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_ HOTEL_GUARDED_BY(mutex_);
  bool stopped_ HOTEL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace hotel::server

#endif  // SERVER_WORKER_POOL_H_
