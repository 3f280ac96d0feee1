// One exchange whose caller lives on one loop and whose connection on another.
#ifndef HOTEL_NET_CROSSING_H_
#define HOTEL_NET_CROSSING_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hotel/dispatcher.h"

#include "libhotel/base/mutex.h"
#include "libhotel/net/far_loop.h"

namespace hotel::net {

/// Takes what comes on the far loop and hands it to the caller's handler at home, with the contract
/// of hotel/dispatcher.h. Between the two lie at most kMostOnTheWay bytes of the body (or one piece
/// that is larger by itself): above that the far exchange is paused until half of it is consumed.
///
/// Both loops hold it, as do the tasks between them. The three groups of fields below are what
/// keeps the threads apart.
class Crossing final : public ResponseHandler, public std::enable_shared_from_this<Crossing> {
 public:
  static constexpr std::size_t kMostOnTheWay = std::size_t{128} << 10;
  /// As large as what libcurl hands out, so that handlers behind a crossing need no larger bounds.
  static constexpr std::size_t kPiece = std::size_t{16} << 10;

  Crossing(std::shared_ptr<FarLoop> far, UpstreamRequest request, ResponseHandler* handler);

  // Home thread. Begin once and first; Drop last.
  void Begin();
  void Resume();
  void Cancel();
  void Drop();
  /// Gives the handler what has arrived. Called by FarLoop.
  void Deliver();

  // Far thread.
  void OnHead(int status, HeaderList headers) override;
  Flow OnBody(std::string_view bytes) override;
  void OnDone(const ExchangeResult& result) override;
  /// The far dispatcher is gone.
  void Lose();

 private:
  enum class Wish { kRun, kCancel, kDrop };
  struct Head {
    int status;
    HeaderList headers;
  };

  bool Hears() const noexcept { return handler_ != nullptr && !cancelled_; }
  void Tell(Wish wish);
  void TakeArrived();
  void DeliverBody();
  void Finish();

  void BeginFar();
  void ObeyFar();
  void ResumeFar();
  void EndFar(const ExchangeResult& result);
  bool NeedsAnnouncement() HOTEL_REQUIRES(mutex_);

  const std::shared_ptr<FarLoop> far_;

  // Home.
  ResponseHandler* handler_;  // null: it hears nothing more
  bool cancelled_ = false;
  bool paused_ = false;
  bool resume_posted_ = false;
  bool head_delivered_ = false;
  std::optional<Head> head_;
  std::string body_;
  std::size_t consumed_ = 0;  // of body_
  std::optional<ExchangeResult> result_;

  // Far.
  std::optional<UpstreamRequest> request_;
  std::unique_ptr<Exchange> exchange_;
  bool head_seen_ = false;

  // Between them.
  base::Mutex mutex_;
  Wish wish_ HOTEL_GUARDED_BY(mutex_) = Wish::kRun;
  bool announced_ HOTEL_GUARDED_BY(mutex_) = false;  // home is going to look
  bool far_paused_ HOTEL_GUARDED_BY(mutex_) = false;
  std::size_t on_the_way_ HOTEL_GUARDED_BY(mutex_) = 0;  // arriving_body_, and body_ not consumed
  std::optional<Head> arriving_head_ HOTEL_GUARDED_BY(mutex_);
  std::string arriving_body_ HOTEL_GUARDED_BY(mutex_);
  std::optional<ExchangeResult> arriving_result_ HOTEL_GUARDED_BY(mutex_);
};

}  // namespace hotel::net

#endif  // HOTEL_NET_CROSSING_H_
