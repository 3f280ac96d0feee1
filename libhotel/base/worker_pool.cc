#include "libhotel/base/worker_pool.h"

#include <system_error>
#include <utility>

namespace hotel::base {

void WorkerPool::Run(std::function<void()> task) {
  {
    MutexLock lock(&mutex_);
    if (stopped_) return;
    tasks_.push_back(std::move(task));
    // A thread that has been woken counts as idle until it takes its task out of the queue.
    if (tasks_.size() > idle_ && threads_.size() < most_) {
      try {
        threads_.emplace_back([this] { Work(); });
      } catch (const std::system_error&) {
        // A thread that is there, or the next task's try, carries this one out too.
      }
    }
  }
  wake_.notify_one();
}

void WorkerPool::Work() {
  for (;;) {
    std::function<void()> task;
    {
      MutexLock lock(&mutex_);
      ++idle_;
      while (tasks_.empty() && !stopped_) wake_.wait(lock.native());
      --idle_;
      if (stopped_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

void WorkerPool::Stop() {
  std::deque<std::function<void()>> dropped;
  std::vector<std::thread> ending;
  {
    MutexLock lock(&mutex_);
    stopped_ = true;
    dropped.swap(tasks_);
    ending.swap(threads_);
  }
  wake_.notify_all();
  dropped.clear();
  for (std::thread& thread : ending) thread.join();
}

}  // namespace hotel::base
