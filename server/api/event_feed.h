// Events as they happen, for whoever listens at GET /api/events (facts d, j).
//
// The feed keeps the last events, so that a listener who comes back with Last-Event-ID misses
// nothing that is still kept. Listeners live on the loop; events come from any thread.
#ifndef SERVER_API_EVENT_FEED_H_
#define SERVER_API_EVENT_FEED_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "hotel/events.h"
#include "hotel/loop.h"

#include "libhotel/base/mutex.h"
#include "server/front.h"

namespace hotel::server::api {

class EventFeed final : public EventSink {
 public:
  static constexpr std::size_t kKept = 256;
  static constexpr std::size_t kMostListeners = 64;
  static constexpr Duration kHeartbeat = std::chrono::seconds(30);

  EventFeed();

  /// The loop of the listeners; before the first of them. It must outlive the feed.
  void SetLoop(Loop* loop) {
    base::MutexLock lock(&mutex_);
    loop_ = loop;
  }

  /// Keeps the event and wakes the listeners.
  void OnEvent(const Event& event) override;

  /// Begins an answer that lasts until the client leaves or Close. With `last_id`, the id of the
  /// last event the listener knows, it begins behind that one; an id that is not kept any more, or
  /// is of an earlier run, gets everything that is kept. Loop thread.
  void Listen(std::string_view last_id, std::shared_ptr<Responder> responder);

  /// Ends every answer; later ones end at once. Any thread but the loop's, while the loop runs.
  void Close();

 private:
  struct Listener {
    std::shared_ptr<Responder> responder;
    std::uint64_t next = 0;  ///< number of the event it gets next
    bool paused = false;
  };
  struct Kept {
    std::uint64_t number;
    std::string frame;
  };

  /// Writes to a listener what it has not got. Loop thread. Whatever is written may find the client
  /// gone, which takes the listener off the list.
  void Pump(std::uint64_t key) HOTEL_EXCLUDES(mutex_);
  void Write(std::uint64_t key, std::string_view bytes);
  void PumpAll() HOTEL_EXCLUDES(mutex_);
  void ArmHeartbeat();
  void Beat();

  const std::string run_;  ///< tells the ids of this run from those of others
  Loop* loop_ = nullptr;   // written once, under the lock: events may come before

  // Loop thread.
  std::map<std::uint64_t, Listener> listeners_;
  std::uint64_t next_listener_ = 1;
  Loop::TimerId heartbeat_ = 0;
  bool closed_ = false;

  base::Mutex mutex_;
  std::deque<Kept> kept_ HOTEL_GUARDED_BY(mutex_);
  std::uint64_t next_number_ HOTEL_GUARDED_BY(mutex_) = 1;
  bool woken_ HOTEL_GUARDED_BY(mutex_) = false;
};

}  // namespace hotel::server::api

#endif  // SERVER_API_EVENT_FEED_H_
