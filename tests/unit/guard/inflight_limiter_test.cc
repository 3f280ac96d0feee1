// Slots and windows; the lines are in slot_wait_test.cc.
#include "hotel/inflight_limiter.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/guard/inflight_fixture.h"

namespace hotel::guard::test {

using std::chrono::minutes;

TEST_CASE("a slot is given back once, by whatever ends it first") {
  InflightFixture f;
  InflightSlot slot = f.Take("a");
  REQUIRE(slot.valid());
  CHECK(f.View("a").inflight == 1);
  InflightSlot moved = std::move(slot);
  CHECK_FALSE(slot.valid());
  CHECK(f.View("a").inflight == 1);
  moved.End(SlotEnd::kClean, kNow);
  CHECK_FALSE(moved.valid());
  CHECK(f.View("a").inflight == 0);
}

TEST_CASE("F185 a slot that dies or is assigned over is back at once, unclean") {
  InflightFixture f;
  f.Edit([](auto& s) { s.grow_after = 2; });
  f.Take("a").EndSaturated(Duration::zero(), kNow);
  REQUIRE(f.View("a").limit == 1);
  f.Take("a").End(SlotEnd::kClean, kNow);
  { const InflightSlot dies = f.Take("a"); }
  CHECK(f.View("a").inflight == 0);
  f.Take("a").End(SlotEnd::kClean, kNow);
  CHECK(f.View("a").limit == 1);  // the run was broken

  InflightSlot kept = f.Take("b");
  kept = InflightSlot();
  CHECK(f.View("b").inflight == 0);
}

TEST_CASE("facts e: an uncapped provider admits whatever comes") {
  InflightFixture f;
  const auto slots = f.TakeMany("a", 1000);
  for (const InflightSlot& slot : slots) REQUIRE(slot.valid());
  CHECK_FALSE(f.limiter->Busy(f.Of("a"), kNow));
  CHECK(f.View("a").effective == 0);
}

TEST_CASE("facts e: the drawing request's slot is settled before the cut") {
  InflightFixture f;
  auto slots = f.TakeMany("a", 4);
  slots.back().EndSaturated(Duration::zero(), kNow);
  const InflightView view = f.View("a");
  CHECK(view.limit == 3);
  CHECK(view.inflight == 3);
  CHECK(f.limiter->Busy(f.Of("a"), kNow));
  CHECK_FALSE(f.Take("a").valid());
  slots.front().End(SlotEnd::kClean, kNow);
  CHECK_FALSE(f.limiter->Busy(f.Of("a"), kNow));
  CHECK(f.Take("a").valid());
}

TEST_CASE("facts e: remaining 0 caps and keeps the slot") {
  InflightFixture f;
  auto slots = f.TakeMany("a", 2);
  slots[0].NoneRemaining(kNow);
  CHECK(slots[0].valid());
  CHECK(f.View("a").limit == 2);
  CHECK_FALSE(f.Take("a").valid());
}

TEST_CASE("windows are per provider, not shared and not per model") {
  InflightFixture f;
  f.Take("a").EndSaturated(Duration::zero(), kNow);
  const auto held = f.Take("a");
  CHECK(f.limiter->Busy(f.Of("a"), kNow));
  CHECK_FALSE(f.limiter->Busy(f.Of("b"), kNow));
  CHECK_FALSE(f.limiter->Busy(f.Of("never seen", 1), kNow));
}

TEST_CASE("max_in_flight is a hard ceiling, with the learner on or off") {
  for (const bool enabled : {true, false}) {
    InflightFixture f;
    f.Edit([&](auto& s) { s.enabled = enabled; });
    auto slots = f.TakeMany("a", 3, 3);
    CHECK(slots.back().valid());
    CHECK(f.limiter->Busy(f.Of("a", 3), kNow));
    CHECK_FALSE(f.Take("a", 3).valid());
    slots.pop_back();
    CHECK(f.Take("a", 3).valid());
  }
}

TEST_CASE("a changed max_in_flight holds from the next decision on") {
  InflightFixture f;
  auto slots = f.TakeMany("a", 3, 3);
  CHECK_FALSE(f.limiter->Busy(f.Of("a", 4), kNow));
  CHECK(f.limiter->Busy(f.Of("a", 3), kNow));
  slots.push_back(f.Take("a", 4));
  CHECK(slots.back().valid());
  CHECK(f.View("a").max_in_flight == 4);
  CHECK_FALSE(f.Take("a", 1).valid());
  CHECK(f.View("a").inflight == 4);
}

TEST_CASE("facts e: the learner off learns nothing and slots still count") {
  InflightFixture f;
  f.Edit([](auto& s) { s.enabled = false; });
  auto slots = f.TakeMany("a", 4);
  slots[0].EndSaturated(Duration::zero(), kNow);
  slots[1].NoneRemaining(kNow);
  CHECK(f.View("a").limit == 0);
  CHECK(f.View("a").inflight == 3);
  f.Edit([](auto&) {});
  slots[1].EndSaturated(Duration::zero(), kNow);
  CHECK(f.View("a").limit == 2);
}

TEST_CASE("options are read per provider, by its name in routing form") {
  InflightFixture f;
  Settings all = *f.settings.Current();
  all.providers["quiet"] = all.global;
  all.providers["quiet"].inflight_limiter.enabled = false;
  f.settings.Set(all);
  f.limiter->TryAcquire({"id-1", "quiet", 0}, kNow).EndSaturated(Duration::zero(), kNow);
  f.limiter->TryAcquire({"id-2", "loud", 0}, kNow).EndSaturated(Duration::zero(), kNow);
  const auto views = f.limiter->Views(kNow);
  REQUIRE(views.size() == 1);
  CHECK(views[0].provider_id == "id-2");
  CHECK(views[0].provider_name == "loud");
}

TEST_CASE("a slot ended without an instant goes by the latest one the provider has seen") {
  InflightFixture f;
  f.Take("a").EndSaturated(Duration::zero(), kNow);
  { const InflightSlot slot = f.Take("a", 0, kNow + minutes(10) - Duration(1)); }
  CHECK(f.View("a", kNow).limit == 1);
  InflightSlot slot = f.Take("a", 0, kNow + minutes(10));
  CHECK(f.View("a", kNow).limit == 0);
}

TEST_CASE("views tell of providers with something to tell, in order") {
  InflightFixture f;
  CHECK(f.limiter->Views(kNow).empty());
  f.Take("c");
  CHECK(f.limiter->Views(kNow).empty());
  const auto b = f.TakeMany("b", 2, 5);
  f.Take("a").EndSaturated(Duration::zero(), kNow);
  const auto views = f.limiter->Views(kNow);
  REQUIRE(views.size() == 2);
  CHECK(views[0].provider_id == "a");
  CHECK(views[0].limit == 1);
  CHECK(views[0].effective == 1);
  CHECK(views[0].inflight == 0);
  CHECK(views[1].provider_id == "b");
  CHECK(views[1].limit == 0);
  CHECK(views[1].max_in_flight == 5);
  CHECK(views[1].effective == 5);
  CHECK(views[1].inflight == 2);
  CHECK(f.limiter->Views(kNow + minutes(10)).size() == 1);
}

}  // namespace hotel::guard::test
