// A bounded pool of threads that serve one connection each.
#ifndef SERVER_WORKER_POOL_H_
#define SERVER_WORKER_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <vector>

#include <pthread.h>

#include "libhotel/base/mutex.h"
#include "server/socket.h"

namespace hotel::server {

/// Threads are started when they are needed and stay. Thread-safe.
class WorkerPool {
 public:
  using Serve = std::function<void(Fd)>;

  WorkerPool(std::size_t max_workers, std::size_t max_waiting, Serve serve)
      : max_workers_(max_workers), max_waiting_(max_waiting), serve_(std::move(serve)) {}
  ~WorkerPool();

  /// Hands over a connection. When all threads are busy and the queue is full it comes back.
  Fd Submit(Fd connection);

  /// Readable while connections wait for a thread, and for good after Stop or Drain: threads that
  /// only keep an idle connection open should let it go.
  int pressure_fd() const noexcept { return pressure_.fd(); }

  /// Makes pressure_fd readable for good.
  void Drain();

  /// Waits for the threads to end; connections that still wait are closed.
  void Stop();

 private:
  static void* Main(void* pool);
  void Run();
  bool StartThread() HOTEL_REQUIRES(mutex_);

  const std::size_t max_workers_;
  const std::size_t max_waiting_;
  const Serve serve_;
  WakeFd pressure_;

  base::Mutex mutex_;
  std::condition_variable changed_;
  std::deque<Fd> waiting_ HOTEL_GUARDED_BY(mutex_);
  std::vector<pthread_t> threads_ HOTEL_GUARDED_BY(mutex_);
  std::size_t idle_ HOTEL_GUARDED_BY(mutex_) = 0;
  bool draining_ HOTEL_GUARDED_BY(mutex_) = false;
  bool stopped_ HOTEL_GUARDED_BY(mutex_) = false;
};

}  // namespace hotel::server

#endif  // SERVER_WORKER_POOL_H_
