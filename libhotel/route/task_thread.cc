#include "libhotel/route/task_thread.h"

#include <system_error>
#include <utility>

namespace hotel::route {

void TaskThread::Run(std::function<void()> task) {
  {
    base::MutexLock lock(&mutex_);
    if (stopped_) return;
    tasks_.push_back(std::move(task));
    if (!thread_.joinable()) {
      try {
        thread_ = std::thread([this] { Work(); });
      } catch (const std::system_error&) {
        return;  // the next task tries again and carries this one out too
      }
    }
  }
  wake_.notify_one();
}

void TaskThread::Work() {
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

void TaskThread::Stop() {
  std::deque<std::function<void()>> dropped;
  std::thread ending;
  {
    base::MutexLock lock(&mutex_);
    stopped_ = true;
    dropped.swap(tasks_);
    ending.swap(thread_);
  }
  wake_.notify_all();
  dropped.clear();
  if (ending.joinable()) ending.join();
}

}  // namespace hotel::route
