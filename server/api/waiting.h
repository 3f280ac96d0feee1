// Requests to the API that wait for providers.
#ifndef SERVER_API_WAITING_H_
#define SERVER_API_WAITING_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <optional>
#include <utility>

#include "libhotel/base/mutex.h"
#include "server/api/answers.h"

namespace hotel::server::api {

/// A value that another thread brings.
template <typename T>
class Mailbox {
 public:
  void Put(T value) {
    {
      const base::MutexLock lock(&mutex_);
      value_ = std::move(value);
    }
    filled_.notify_all();
  }
  /// nullopt when nothing came in time.
  std::optional<T> Wait(std::chrono::seconds patience) {
    base::MutexLock lock(&mutex_);
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!value_) {
      if (filled_.wait_until(lock.native(), until) == std::cv_status::timeout) break;
    }
    return value_;
  }

 private:
  base::Mutex mutex_;
  std::condition_variable filled_;
  std::optional<T> value_ HOTEL_GUARDED_BY(mutex_);
};

/// One of those who may wait for a provider: threads answer, and one that hangs holds them up for a
/// while, so others must find one.
class Seat {
 public:
  Seat() : taken_(waiting_.fetch_add(1) < kMostWaiting) {}
  ~Seat() { waiting_.fetch_sub(1); }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  bool taken() const { return taken_; }
  /// What to answer when it is not.
  static Reply None() { return Refusal(503, "others wait for providers already; retry shortly"); }

 private:
  static constexpr int kMostWaiting = 3;
  static inline std::atomic<int> waiting_ = 0;
  const bool taken_;
};

}  // namespace hotel::server::api

#endif  // SERVER_API_WAITING_H_
