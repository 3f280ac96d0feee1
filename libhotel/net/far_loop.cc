#include "libhotel/net/far_loop.h"

#include <future>
#include <utility>

#include "libhotel/net/crossing.h"

namespace hotel::net {

absl::StatusOr<std::shared_ptr<FarLoop>> FarLoop::Start(Loop* home, const MakeDispatcher& make) {
  absl::StatusOr<std::unique_ptr<LoopThread>> thread = StartEventLoop();
  if (!thread.ok()) return thread.status();
  absl::StatusOr<std::unique_ptr<Dispatcher>> dispatcher = make((*thread)->loop());
  if (!dispatcher.ok()) return dispatcher.status();
  return std::shared_ptr<FarLoop>(new FarLoop(home, *std::move(thread), *std::move(dispatcher)));
}

FarLoop::FarLoop(Loop* home, std::unique_ptr<LoopThread> thread,
                 std::unique_ptr<Dispatcher> dispatcher)
    : home_(home), thread_(std::move(thread)), dispatcher_(std::move(dispatcher)) {}

void FarLoop::Close() {
  closed_ = true;
  // Behind everything that was sent over before: no start and no cancellation is overtaken.
  std::promise<void> ended;
  loop()->Post([this, &ended] {
    End();
    ended.set_value();
  });
  ended.get_future().wait();
  thread_->Stop();
}

void FarLoop::End() {
  dispatcher_.reset();
  for (const auto& crossing : std::exchange(running_, {})) crossing->Lose();
  SendHome();
}

void FarLoop::Keep(std::shared_ptr<Crossing> crossing) { running_.insert(std::move(crossing)); }

void FarLoop::Forget(const std::shared_ptr<Crossing>& crossing) { running_.erase(crossing); }

void FarLoop::Announce(std::shared_ptr<Crossing> crossing) {
  // Tasks run behind the socket events of a turn.
  if (announced_.empty()) loop()->Post([this] { SendHome(); });
  announced_.push_back(std::move(crossing));
}

void FarLoop::SendHome() {
  if (announced_.empty()) return;
  home_->Post([crossings = std::exchange(announced_, {})] {
    for (const auto& crossing : crossings) crossing->Deliver();
  });
}

}  // namespace hotel::net
