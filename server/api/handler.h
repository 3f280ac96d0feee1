// The admin API: who may call it, and what answers.
#ifndef SERVER_API_HANDLER_H_
#define SERVER_API_HANDLER_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "libhotel/base/mutex.h"
#include "server/api/admin_token.h"
#include "server/api/context.h"
#include "server/api/event_feed.h"
#include "server/api/throttle.h"
#include "server/front.h"

namespace hotel::server::api {

/// True for /api and everything below it.
bool Owns(std::string_view path);

/// Requests that are answered at the same time; further ones get 503. Fewer than there are workers:
/// some of these requests wait for the disk, and health checks must not wait behind them.
inline constexpr int kMostAnswered = 6;
inline constexpr int kWorkers = kMostAnswered + 2;

/// Thread-safe.
class Handler {
 public:
  /// `events` must outlive the handler.
  Handler(AdminToken token, EventFeed* events) : token_(token), events_(events) {}

  /// From here on requests are served; until then they are answered 503. `context` must outlive
  /// them.
  void Open(const Context* context) { context_.store(context); }

  /// The reason to refuse the caller, if there is one; also for what wants the admin token and is
  /// not below /api.
  std::optional<Reply> Authenticate(const RequestHead& head);

  /// What becomes of a request whose head has been read. REQUIRES: Owns(path).
  Admission OnHead(const RequestHead& head, std::string_view path);

  /// The complete answer to an admitted request. Waits for the disk.
  std::string Answer(const Request& request, bool keep_alive) const;

  /// Answers an admitted request that lasts. Loop thread.
  void Stream(const Request& request, std::shared_ptr<Responder> responder);

 private:
  Reply Handle(const Request& request) const;
  Reply HandleIfFree(const Request& request) const;

  const AdminToken token_;
  EventFeed* const events_;
  std::atomic<const Context*> context_ = nullptr;
  mutable std::atomic<int> answered_ = 0;  // at this moment
  base::Mutex mutex_;
  Throttle throttle_ HOTEL_GUARDED_BY(mutex_);
};

}  // namespace hotel::server::api

#endif  // SERVER_API_HANDLER_H_
