#include "server/worker_pool.h"

#include <utility>

namespace hotel::server {
namespace {

/// Thousands of threads must not reserve gigabytes; sanitizers need larger frames.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kStackBytes = 1024 * 1024;
#else
constexpr std::size_t kStackBytes = 256 * 1024;
#endif

}  // namespace

WorkerPool::~WorkerPool() { Stop(); }

bool WorkerPool::StartThread() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, &WorkerPool::Main, this) == 0;
  pthread_attr_destroy(&attributes);
  if (started) threads_.push_back(thread);
  return started;
}

void* WorkerPool::Main(void* pool) {
  static_cast<WorkerPool*>(pool)->Run();
  return nullptr;
}

Fd WorkerPool::Submit(Fd connection) {
  base::MutexLock lock(&mutex_);
  if (stopped_) return connection;
  // A thread counts as idle until it has taken a connection, so those already promised are
  // deducted.
  if (waiting_.size() >= idle_) {
    const bool started = threads_.size() < max_workers_ && StartThread();
    if (started) {
      ++idle_;
    } else if (threads_.empty() || waiting_.size() >= idle_ + max_waiting_) {
      return connection;
    } else {
      pressure_.Set();
    }
  }
  waiting_.push_back(std::move(connection));
  changed_.notify_one();
  return Fd();
}

void WorkerPool::Run() {
  while (true) {
    Fd connection;
    {
      base::MutexLock lock(&mutex_);
      while (waiting_.empty() && !stopped_) changed_.wait(lock.native());
      if (stopped_) return;
      --idle_;
      connection = std::move(waiting_.front());
      waiting_.pop_front();
      if (waiting_.empty() && !draining_) pressure_.Clear();
    }
    serve_(std::move(connection));
    base::MutexLock lock(&mutex_);
    ++idle_;
  }
}

void WorkerPool::Drain() {
  base::MutexLock lock(&mutex_);
  draining_ = true;
  pressure_.Set();
}

void WorkerPool::Stop() {
  std::vector<pthread_t> threads;
  std::deque<Fd> waiting;
  {
    base::MutexLock lock(&mutex_);
    stopped_ = true;
    draining_ = true;
    pressure_.Set();
    threads.swap(threads_);
    waiting.swap(waiting_);
    changed_.notify_all();
  }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
}

}  // namespace hotel::server
