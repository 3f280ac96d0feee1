// A lock for data that is read on every request and changed rarely: each thread has a stripe of its
// own for reading, so that readers on several cores share no cache line; a writer takes all.
//
// (std::shared_mutex counts its readers in one word, which is what this avoids.)
#ifndef HOTEL_BASE_STRIPED_MUTEX_H_
#define HOTEL_BASE_STRIPED_MUTEX_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>

#include "libhotel/base/mutex.h"

/// The function may be called only while the mutex is held, for reading at least.
#define HOTEL_REQUIRES_SHARED(...) HOTEL_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))

namespace hotel::base {

/// Not recursive, in either way: a thread that holds it must not take it again.
class HOTEL_ATTRIBUTE(capability("mutex")) StripedMutex {
 public:
  StripedMutex() = default;
  StripedMutex(const StripedMutex&) = delete;
  StripedMutex& operator=(const StripedMutex&) = delete;

 private:
  friend class ReadLock;
  friend class WriteLock;
  static constexpr std::size_t kStripes = 8;
  struct alignas(64) Stripe {
    std::mutex mutex;
  };

  std::mutex& Own() noexcept {
    static std::atomic<std::size_t> next{0};
    thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed) % kStripes;
    return stripes_[mine].mutex;
  }

  std::array<Stripe, kStripes> stripes_;
};

/// Reads while it lives.
class HOTEL_ATTRIBUTE(scoped_lockable) ReadLock {
 public:
  explicit ReadLock(StripedMutex* mutex) HOTEL_ATTRIBUTE(acquire_shared_capability(mutex))
      : mutex_(&mutex->Own()) {
    mutex_->lock();
  }
  ~ReadLock() HOTEL_ATTRIBUTE(release_generic_capability()) { mutex_->unlock(); }
  ReadLock(const ReadLock&) = delete;
  ReadLock& operator=(const ReadLock&) = delete;

 private:
  std::mutex* mutex_;
};

/// Reads and writes while it lives.
class HOTEL_ATTRIBUTE(scoped_lockable) WriteLock {
 public:
  explicit WriteLock(StripedMutex* mutex) HOTEL_ATTRIBUTE(acquire_capability(mutex))
      : mutex_(mutex) {
    for (auto& stripe : mutex_->stripes_) stripe.mutex.lock();
  }
  ~WriteLock() HOTEL_ATTRIBUTE(release_capability()) {
    for (auto& stripe : mutex_->stripes_) stripe.mutex.unlock();
  }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  StripedMutex* mutex_;
};

}  // namespace hotel::base

#endif  // HOTEL_BASE_STRIPED_MUTEX_H_
