#include <utility>

#include "hotel/inflight_limiter.h"

namespace hotel {

InflightSlot::InflightSlot(InflightSlot&& other) noexcept
    : limiter_(std::exchange(other.limiter_, nullptr)),
      window_(std::exchange(other.window_, nullptr)) {}

InflightSlot& InflightSlot::operator=(InflightSlot&& other) noexcept {
  if (this == &other) return *this;
  if (valid()) End(SlotEnd::kUnclean, TimePoint{});
  limiter_ = std::exchange(other.limiter_, nullptr);
  window_ = std::exchange(other.window_, nullptr);
  return *this;
}

// The limiter knows later instants than this one and goes by those.
InflightSlot::~InflightSlot() {
  if (valid()) End(SlotEnd::kUnclean, TimePoint{});
}

void InflightSlot::End(SlotEnd end, TimePoint now) {
  std::exchange(limiter_, nullptr)->Release(std::exchange(window_, nullptr), end, now);
}

void InflightSlot::EndSaturated(Duration retry_after, TimePoint now) {
  std::exchange(limiter_, nullptr)
      ->ReleaseSaturated(std::exchange(window_, nullptr), retry_after, now);
}

void InflightSlot::NoneRemaining(TimePoint now) { limiter_->Shrink(window_, now); }

}  // namespace hotel
