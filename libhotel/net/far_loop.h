// A further loop with a dispatcher of its own, and the way from it to the loop of the callers.
#ifndef HOTEL_NET_FAR_LOOP_H_
#define HOTEL_NET_FAR_LOOP_H_

#include <functional>
#include <memory>
#include <unordered_set>
#include <vector>

#include "hotel/defaults.h"
#include "hotel/dispatcher.h"
#include "hotel/loop.h"

#include "absl/status/statusor.h"

namespace hotel::net {

class Crossing;

/// Makes the dispatcher of a loop, on the thread that asks for it.
using MakeDispatcher = std::function<absl::StatusOr<std::unique_ptr<Dispatcher>>(Loop*)>;

/// "Home" is the loop of the callers. What belongs to the far side is touched on the far thread
/// only, so that neither loop ever waits for the other.
class FarLoop {
 public:
  /// Starts the thread. Unavailable when the system refuses one. `home` must outlive this object.
  static absl::StatusOr<std::shared_ptr<FarLoop>> Start(Loop* home, const MakeDispatcher& make);

  /// Tells exchanges that were cancelled that they have ended, lets all others go without a word,
  /// and ends the thread. Home thread, or any after the home loop has stopped. Once.
  void Close();
  /// Home thread.
  bool closed() const noexcept { return closed_; }

  /// Any thread.
  Loop* home() const noexcept { return home_; }
  Loop* loop() const noexcept { return thread_->loop(); }

  // The far thread's.
  Dispatcher* dispatcher() const noexcept { return dispatcher_.get(); }
  void Keep(std::shared_ptr<Crossing> crossing);
  void Forget(const std::shared_ptr<Crossing>& crossing);
  /// Lets `crossing` deliver at home. All that is announced in one turn goes home as one task, so
  /// that home is woken once for all of it.
  void Announce(std::shared_ptr<Crossing> crossing);

 private:
  FarLoop(Loop* home, std::unique_ptr<LoopThread> thread, std::unique_ptr<Dispatcher> dispatcher);
  void SendHome();
  void End();

  Loop* const home_;
  const std::unique_ptr<LoopThread> thread_;
  bool closed_ = false;  // home

  // Far.
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unordered_set<std::shared_ptr<Crossing>> running_;
  std::vector<std::shared_ptr<Crossing>> announced_;
};

}  // namespace hotel::net

#endif  // HOTEL_NET_FAR_LOOP_H_
