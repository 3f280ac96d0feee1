#include <chrono>
#include <memory>

#include "hotel/clock.h"
#include "hotel/defaults.h"

namespace hotel {
namespace {

class SystemClock : public Clock {
 public:
  TimePoint Now() const noexcept override {
    return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
  }
  WallTime WallNow() const noexcept override {
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  }
};

}  // namespace

std::unique_ptr<Clock> MakeSystemClock() { return std::make_unique<SystemClock>(); }

}  // namespace hotel
