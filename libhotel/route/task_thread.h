// A thread for work that must hold up neither the loop nor a request.
#ifndef HOTEL_ROUTE_TASK_THREAD_H_
#define HOTEL_ROUTE_TASK_THREAD_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <thread>

#include "libhotel/base/mutex.h"

namespace hotel::route {

/// Runs tasks one after the other, in order of arrival. Thread-safe.
class TaskThread {
 public:
  /// The thread begins with the first task.
  TaskThread() = default;
  ~TaskThread() { Stop(); }
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  /// After Stop the task is dropped. Tasks must not throw.
  void Run(std::function<void()> task);
  /// Finishes the running task, drops the others, joins. Not from a task. Idempotent.
  void Stop();

 private:
  void Work();

  base::Mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_ HOTEL_GUARDED_BY(mutex_);
  bool stopped_ HOTEL_GUARDED_BY(mutex_) = false;
  std::thread thread_ HOTEL_GUARDED_BY(mutex_);
};

}  // namespace hotel::route

#endif  // HOTEL_ROUTE_TASK_THREAD_H_
