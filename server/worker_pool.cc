#include "server/worker_pool.h"

#include <utility>

namespace hotel::server {

WorkerPool::WorkerPool(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

void WorkerPool::Run(std::function<void()> task) {
  {
    base::MutexLock lock(&mutex_);
    if (stopped_) return;
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void WorkerPool::Work() {
  for (;;) {
    std::function<void()> task;
    {
      base::MutexLock lock(&mutex_);
      while (tasks_.empty() && !stopped_) wake_.wait(lock.native());
      if (stopped_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

void WorkerPool::Stop() {
  std::deque<std::function<void()>> dropped;
  {
    base::MutexLock lock(&mutex_);
    stopped_ = true;
    dropped.swap(tasks_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace hotel::server
