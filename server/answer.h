// One answer on its way from the router's loop to the thread that serves the client.
#ifndef SERVER_ANSWER_H_
#define SERVER_ANSWER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hotel/types.h"

#include "libhotel/base/mutex.h"
#include "server/front.h"
#include "server/socket.h"

namespace hotel::server {

/// A bounded queue of answer bytes. The Responder side may be called from any thread; the other
/// methods belong to the one thread that serves the client.
class Answer final : public Responder {
 public:
  /// Above `limit` waiting bytes the source is paused, at half of it it may go on.
  /// `wake` is set whenever there is something new to take.
  Answer(std::size_t limit, std::shared_ptr<WakeFd> wake) : limit_(limit), wake_(std::move(wake)) {}

  void Begin(int status, HeaderList headers, bool streaming) override;
  Flow Write(std::string_view bytes) override;
  void End() override;
  void Watch(std::function<void()> on_room, std::function<void()> on_gone) override;

  struct Head {
    int status = 0;
    HeaderList headers;
    bool streaming = false;
  };
  /// The head, once: for a stream as soon as it began, otherwise when the whole body is there. An
  /// answer that ended without a head gives status 0.
  std::optional<Head> TakeHead();

  /// Everything that waits now. `ended`: nothing follows.
  struct Batch {
    std::string bytes;
    bool ended = false;
  };
  Batch TakeBatch();
  /// `count` bytes of a batch have left for the client.
  void Sent(std::size_t count);

  /// The client has gone: tells the source, drops what waits and what still comes.
  void Abandon();
  /// The answer is out: drops the callbacks.
  void Finish();

 private:
  const std::size_t limit_;
  const std::shared_ptr<WakeFd> wake_;

  base::Mutex mutex_;
  std::optional<Head> head_ HOTEL_GUARDED_BY(mutex_);
  std::string bytes_ HOTEL_GUARDED_BY(mutex_);
  std::size_t unsent_ HOTEL_GUARDED_BY(mutex_) = 0;  ///< bytes_ and what is being sent
  bool paused_ HOTEL_GUARDED_BY(mutex_) = false;
  bool ended_ HOTEL_GUARDED_BY(mutex_) = false;
  bool dropped_ HOTEL_GUARDED_BY(mutex_) = false;
  std::function<void()> on_room_ HOTEL_GUARDED_BY(mutex_);
  std::function<void()> on_gone_ HOTEL_GUARDED_BY(mutex_);
};

}  // namespace hotel::server

#endif  // SERVER_ANSWER_H_
