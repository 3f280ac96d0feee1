// std::mutex with the attributes of clang's thread safety analysis (-Wthread-safety).
//
// The standard mutex is used, not Abseil's: ThreadSanitizer does not see through the latter as it
// is packaged.
#ifndef HOTEL_BASE_MUTEX_H_
#define HOTEL_BASE_MUTEX_H_

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define HOTEL_ATTRIBUTE(x) __attribute__((x))
#else
#define HOTEL_ATTRIBUTE(x)
#endif

/// The field may be touched only while the mutex is held.
#define HOTEL_GUARDED_BY(mutex) HOTEL_ATTRIBUTE(guarded_by(mutex))
/// What the pointer points to may be touched only while the mutex is held.
#define HOTEL_PT_GUARDED_BY(mutex) HOTEL_ATTRIBUTE(pt_guarded_by(mutex))
/// The function may be called only while the mutex is held.
#define HOTEL_REQUIRES(...) HOTEL_ATTRIBUTE(requires_capability(__VA_ARGS__))
/// The function must not be called while the mutex is held.
#define HOTEL_EXCLUDES(...) HOTEL_ATTRIBUTE(locks_excluded(__VA_ARGS__))

namespace hotel::base {

class HOTEL_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void Lock() HOTEL_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void Unlock() HOTEL_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

/// Holds a mutex from construction to destruction; may let it go while it waits.
class HOTEL_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) HOTEL_ATTRIBUTE(acquire_capability(mutex))
      : lock_(mutex->mutex_) {}
  ~MutexLock() HOTEL_ATTRIBUTE(release_capability()) {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  /// For std::condition_variable::wait: `cv.wait(lock.native())` in a loop on the condition.
  std::unique_lock<std::mutex>& native() { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace hotel::base

#endif  // HOTEL_BASE_MUTEX_H_
