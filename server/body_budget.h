// The memory that request bodies may take, all of them together.
#ifndef SERVER_BODY_BUDGET_H_
#define SERVER_BODY_BUDGET_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace hotel::server {

/// Counts the bytes of request bodies that are being read or held. What was granted is given back
/// from any thread, at any time, also behind the budget's own end; granting is for one thread.
class BodyBudget {
  struct State {
    explicit State(std::size_t most) : limit(most) {}
    const std::size_t limit;
    std::atomic<std::size_t> used{0};
  };

 public:
  /// Bodies up to this size are counted and never refused: large ones must not keep them out. Their
  /// number is bounded by that of the requests.
  static constexpr std::size_t kAlwaysRoom = std::size_t{64} << 10;

  explicit BodyBudget(std::size_t limit) : state_(std::make_shared<State>(limit)) {}

  std::size_t used() const noexcept { return state_->used.load(std::memory_order_relaxed); }

  /// One body's part of the budget; gives it back at its end.
  class Part {
   public:
    Part() = default;
    Part(Part&& other) noexcept { Swap(other); }
    Part& operator=(Part&& other) noexcept {
      Part(std::move(other)).Swap(*this);
      return *this;
    }
    ~Part() {
      if (bytes_ > 0) state_->used.fetch_sub(bytes_, std::memory_order_relaxed);
    }

    /// Makes the part at least this large. False when there is no room; it then stays as it was.
    [[nodiscard]] bool GrowTo(std::size_t bytes) {
      if (bytes <= bytes_) return true;
      const std::size_t more = bytes - bytes_;
      const std::size_t used = state_->used.load(std::memory_order_relaxed);
      const std::size_t room = used < state_->limit ? state_->limit - used : 0;
      if (bytes > kAlwaysRoom && more > room) return false;
      state_->used.fetch_add(more, std::memory_order_relaxed);
      bytes_ = bytes;
      return true;
    }

   private:
    friend class BodyBudget;
    void Swap(Part& other) noexcept {
      std::swap(state_, other.state_);
      std::swap(bytes_, other.bytes_);
    }

    std::shared_ptr<State> state_;
    std::size_t bytes_ = 0;
  };

  /// An empty part.
  Part Open() const {
    Part part;
    part.state_ = state_;
    return part;
  }

 private:
  const std::shared_ptr<State> state_;
};

}  // namespace hotel::server

#endif  // SERVER_BODY_BUDGET_H_
