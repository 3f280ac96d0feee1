// A limiter with settings that a test controls.
#ifndef HOTEL_TESTS_UNIT_GUARD_INFLIGHT_FIXTURE_H_
#define HOTEL_TESTS_UNIT_GUARD_INFLIGHT_FIXTURE_H_

#include <chrono>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "hotel/defaults.h"
#include "hotel/inflight_limiter.h"
#include "hotel/settings.h"

#include "tests/unit/guard/breaker_fixture.h"

namespace hotel::guard::test {

struct InflightFixture {
  SwitchableSettings settings;
  std::unique_ptr<InflightLimiter> limiter;

  InflightFixture() {
    Edit([](InflightLimiterSettings&) {});
    limiter = MakeInflightLimiter(&settings);
  }

  /// Defaults with changes.
  template <typename Change>
  void Edit(const Change& change) {
    Settings all;
    all.global.inflight_limiter.enabled = true;
    all.global.inflight_limiter.grow_after = 20;
    all.global.inflight_limiter.forget_after = std::chrono::minutes(10);
    change(all.global.inflight_limiter);
    settings.Set(std::move(all));
  }

  static InflightTarget Of(std::string_view id, int max_in_flight = 0) {
    return {id, id, max_in_flight};
  }

  InflightSlot Take(std::string_view id, int max_in_flight = 0, TimePoint now = kNow) {
    return limiter->TryAcquire(Of(id, max_in_flight), now);
  }
  std::vector<InflightSlot> TakeMany(std::string_view id, int count, int max_in_flight = 0) {
    std::vector<InflightSlot> slots;
    for (int i = 0; i < count; ++i) slots.push_back(Take(id, max_in_flight));
    return slots;
  }
  /// All-zero when there is nothing to tell.
  InflightView View(std::string_view id, TimePoint now = kNow) {
    for (InflightView& view : limiter->Views(now)) {
      if (view.provider_id == id) return std::move(view);
    }
    return {};
  }
};

}  // namespace hotel::guard::test

#endif  // HOTEL_TESTS_UNIT_GUARD_INFLIGHT_FIXTURE_H_
