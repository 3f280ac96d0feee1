// A call that is started on another thread than its client is served on.
#ifndef SERVER_LATE_CALL_H_
#define SERVER_LATE_CALL_H_

#include <memory>
#include <utility>

#include "hotel/router.h"

#include "libhotel/base/mutex.h"

namespace hotel::server {

/// Remembers what the client did before there was a handle to tell. Thread-safe.
class LateCall {
 public:
  /// The call has been started. Once.
  void Set(std::unique_ptr<Call> call) {
    base::MutexLock lock(&mutex_);
    call_ = std::move(call);
    if (gone_) {
      call_->Cancel();
    } else if (room_) {
      call_->Resume();
    }
  }

  /// The client takes bytes again.
  void Resume() {
    base::MutexLock lock(&mutex_);
    room_ = true;
    if (call_ != nullptr) call_->Resume();
  }

  /// The client is gone.
  void Cancel() {
    base::MutexLock lock(&mutex_);
    gone_ = true;
    if (call_ != nullptr) call_->Cancel();
  }

 private:
  base::Mutex mutex_;
  std::unique_ptr<Call> call_ HOTEL_GUARDED_BY(mutex_);
  bool room_ HOTEL_GUARDED_BY(mutex_) = false;
  bool gone_ HOTEL_GUARDED_BY(mutex_) = false;
};

}  // namespace hotel::server

#endif  // SERVER_LATE_CALL_H_
