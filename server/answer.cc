#include "server/answer.h"

#include <utility>

namespace hotel::server {

void Answer::Begin(int status, HeaderList headers, bool streaming) {
  {
    base::MutexLock lock(&mutex_);
    if (dropped_) return;
    head_ = Head{status, std::move(headers), streaming};
  }
  wake_->Set();
}

Flow Answer::Write(std::string_view bytes) {
  Flow flow = Flow::kContinue;
  {
    base::MutexLock lock(&mutex_);
    if (dropped_ || ended_) return Flow::kContinue;
    bytes_.append(bytes);
    unsent_ += bytes.size();
    if (unsent_ >= limit_) {
      paused_ = true;
      flow = Flow::kPause;
    }
  }
  wake_->Set();
  return flow;
}

void Answer::End() {
  {
    base::MutexLock lock(&mutex_);
    ended_ = true;
  }
  wake_->Set();
}

void Answer::Watch(std::function<void()> on_room, std::function<void()> on_gone) {
  base::MutexLock lock(&mutex_);
  on_room_ = std::move(on_room);
  on_gone_ = std::move(on_gone);
}

std::optional<Answer::Head> Answer::TakeHead() {
  base::MutexLock lock(&mutex_);
  if (ended_ && !head_) return Head{};
  if (!head_ || (!head_->streaming && !ended_)) return std::nullopt;
  return std::exchange(head_, std::nullopt);
}

Answer::Batch Answer::TakeBatch() {
  base::MutexLock lock(&mutex_);
  return Batch{std::exchange(bytes_, std::string()), ended_};
}

void Answer::Sent(std::size_t count) {
  std::function<void()> on_room;
  {
    base::MutexLock lock(&mutex_);
    unsent_ -= count;
    if (!paused_ || unsent_ > limit_ / 2) return;
    paused_ = false;
    if (!ended_) on_room = on_room_;
  }
  if (on_room) on_room();
}

void Answer::Abandon() {
  std::function<void()> on_room;
  std::function<void()> on_gone;
  {
    base::MutexLock lock(&mutex_);
    dropped_ = true;
    bytes_ = std::string();
    on_room.swap(on_room_);
    on_gone.swap(on_gone_);
  }
  if (on_gone) on_gone();
}

void Answer::Finish() {
  std::function<void()> on_room;
  std::function<void()> on_gone;
  base::MutexLock lock(&mutex_);
  dropped_ = true;
  on_room.swap(on_room_);
  on_gone.swap(on_gone_);
}

}  // namespace hotel::server
