// Waiting for the first slot anywhere in the route.
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hotel/inflight_limiter.h"

#include "tests/support/catch.h"
#include "tests/unit/guard/inflight_fixture.h"

namespace hotel::guard::test {
namespace {

using std::chrono::minutes;

/// One waiting request.
struct Client {
  int calls = 0;
  SlotWait wait;

  Client(InflightFixture& f, const std::vector<InflightTarget>& targets, TimePoint now = kNow,
         std::uint64_t seniority = 0) {
    wait = f.limiter->Wait(
        targets, now, [this] { ++calls; }, seniority);
  }
  Client(const Client&) = delete;

  /// The index of the target whose slot was handed over.
  std::optional<std::size_t> Got() {
    std::size_t target = 99;
    slot = wait.Take(&target);
    if (!slot.valid()) return std::nullopt;
    return target;
  }
  InflightSlot slot;
};

using Targets = std::vector<InflightTarget>;

}  // namespace

TEST_CASE("facts e: a waiter gets the first slot that comes free on any of its providers") {
  InflightFixture f;
  InflightSlot a = f.Take("a", 1);
  InflightSlot b = f.Take("b", 1);
  Client client(f, Targets{f.Of("a", 1), f.Of("b", 1)});
  CHECK_FALSE(client.wait.ready());
  CHECK_FALSE(client.Got());
  CHECK(f.View("a").waiting == 1);
  CHECK(f.View("b").waiting == 1);
  b.End(SlotEnd::kClean, kNow);
  CHECK(client.calls == 1);
  CHECK(client.wait.ready());
  CHECK(f.View("a").waiting == 0);
  CHECK(client.Got() == 1u);
  CHECK(f.View("b").inflight == 1);
  // It has left the other line: that slot is anybody's.
  a.End(SlotEnd::kClean, kNow);
  CHECK(client.calls == 1);
  CHECK(f.Take("a", 1).valid());
}

TEST_CASE("a slot that came free between the refusal and the waiting is not missed") {
  InflightFixture f;
  InflightSlot a = f.Take("a", 1);
  const InflightSlot b = f.Take("b", 1);
  REQUIRE_FALSE(f.Take("a", 1).valid());
  REQUIRE_FALSE(f.Take("b", 1).valid());
  a.End(SlotEnd::kClean, kNow);
  Client client(f, Targets{f.Of("b", 1), f.Of("a", 1)});
  CHECK(client.wait.ready());
  CHECK(client.calls == 0);
  CHECK(client.Got() == 1u);
  CHECK(f.View("b").waiting == 0);
}

TEST_CASE("facts e: of several that admit the first in priority order is taken") {
  InflightFixture f;
  Client client(f, Targets{f.Of("b", 1), f.Of("a", 1)});
  CHECK(client.Got() == 0u);
  CHECK(f.View("b").inflight == 1);
  CHECK(f.View("a").inflight == 0);
}

TEST_CASE("lines are first come, first served; one slot wakes one waiter") {
  InflightFixture f;
  InflightSlot a = f.Take("a", 1);
  const Targets line{f.Of("a", 1)};
  Client first(f, line);
  Client second(f, line);
  Client third(f, line);
  a.End(SlotEnd::kClean, kNow);
  CHECK(first.calls == 1);
  CHECK(second.calls == 0);
  CHECK(third.calls == 0);
  REQUIRE(first.Got());
  first.slot.End(SlotEnd::kClean, kNow);
  CHECK(second.calls == 1);
  CHECK(third.calls == 0);
}

TEST_CASE("newcomers do not overtake who stands in line") {
  InflightFixture f;
  InflightSlot a = f.Take("a", 1);
  Client first(f, Targets{f.Of("a", 1)});
  a.End(SlotEnd::kClean, kNow);
  // The slot is the waiter's already, whenever its loop gets to it.
  CHECK(f.limiter->Busy(f.Of("a", 1), kNow));
  CHECK_FALSE(f.Take("a", 1).valid());
  CHECK(first.Got() == 0u);
}

TEST_CASE("a waiter that leaves passes its slot on, unused") {
  InflightFixture f;
  f.Edit([](auto& s) { s.grow_after = 2; });
  f.Take("a").EndSaturated(Duration::zero(), kNow);
  f.Take("a").End(SlotEnd::kClean, kNow);
  InflightSlot a = f.Take("a");
  auto first = std::make_unique<Client>(f, Targets{f.Of("a")});
  Client second(f, Targets{f.Of("a")});
  a.End(SlotEnd::kUnused, kNow);
  REQUIRE(first->calls == 1);
  REQUIRE(second.calls == 0);
  first.reset();
  CHECK(second.calls == 1);
  REQUIRE(second.Got());
  // Nothing of that broke the run of clean ends.
  second.slot.End(SlotEnd::kClean, kNow);
  CHECK(f.View("a").limit == 2);
}

TEST_CASE("a waiter that left before its turn is not called and costs nobody a slot") {
  InflightFixture f;
  InflightSlot a = f.Take("a", 1);
  auto first = std::make_unique<Client>(f, Targets{f.Of("a", 1)});
  Client second(f, Targets{f.Of("a", 1)});
  first.reset();
  CHECK(f.View("a").waiting == 1);
  a.End(SlotEnd::kClean, kNow);
  CHECK(second.Got() == 0u);
}

TEST_CASE("a waiter served at one provider is passed over at the others") {
  InflightFixture f;
  InflightSlot a = f.Take("a", 1);
  InflightSlot b = f.Take("b", 1);
  Client both(f, Targets{f.Of("a", 1), f.Of("b", 1)});
  Client only_b(f, Targets{f.Of("b", 1)});
  a.End(SlotEnd::kClean, kNow);
  b.End(SlotEnd::kClean, kNow);  // `both` has not taken its slot yet
  CHECK(both.calls == 1);
  CHECK(only_b.calls == 1);
  CHECK(both.Got() == 0u);
  CHECK(only_b.Got() == 0u);
}

TEST_CASE("a seniority kept from an earlier place goes before who came between") {
  InflightFixture f;
  InflightSlot a = f.Take("a", 1);
  auto first = std::make_unique<Client>(f, Targets{f.Of("a", 1)});
  const std::uint64_t seniority = first->wait.seniority();
  CHECK(seniority != 0);
  first.reset();
  Client second(f, Targets{f.Of("a", 1)});
  Client again(f, Targets{f.Of("a", 1)}, kNow, seniority);
  Client twin(f, Targets{f.Of("a", 1)}, kNow, seniority);  // two places may not swallow each other
  a.End(SlotEnd::kClean, kNow);
  REQUIRE(again.Got());
  again.slot.End(SlotEnd::kClean, kNow);
  REQUIRE(twin.Got());
  twin.slot.End(SlotEnd::kClean, kNow);
  CHECK(second.Got());
}

TEST_CASE("a provider listed twice, as with two models of it, is one place in its line") {
  InflightFixture f;
  InflightSlot a = f.Take("a", 1);
  {
    Client client(f, Targets{f.Of("a", 1), f.Of("a", 1)});
    CHECK(f.View("a").waiting == 1);
    a.End(SlotEnd::kClean, kNow);
    CHECK(client.calls == 1);
    CHECK(client.Got() == 0u);
  }
  CHECK(f.View("a").inflight == 0);
}

TEST_CASE("a cut while others wait hands nothing out until the window has room") {
  InflightFixture f;
  auto slots = f.TakeMany("a", 4, 4);
  Client client(f, Targets{f.Of("a", 4)});
  slots[3].EndSaturated(Duration::zero(), kNow);  // 3 in flight, window 3
  CHECK(client.calls == 0);
  slots[2].EndSaturated(Duration::zero(), kNow);  // 2 in flight, window 2
  CHECK(client.calls == 0);
  slots[1].End(SlotEnd::kClean, kNow);
  CHECK(client.calls == 1);
}

TEST_CASE("a window that grows serves two with one release") {
  InflightFixture f;
  f.Edit([](auto& s) { s.grow_after = 1; });
  f.Take("a").EndSaturated(Duration::zero(), kNow);
  InflightSlot a = f.Take("a");
  Client first(f, Targets{f.Of("a")});
  Client second(f, Targets{f.Of("a")});
  Client third(f, Targets{f.Of("a")});
  a.End(SlotEnd::kClean, kNow);
  CHECK(first.calls == 1);
  CHECK(second.calls == 1);
  CHECK(third.calls == 0);
}

TEST_CASE("the release that forgets a window serves everybody in line") {
  InflightFixture f;
  f.Take("a").EndSaturated(Duration::zero(), kNow);
  InflightSlot a = f.Take("a");
  Client first(f, Targets{f.Of("a")});
  Client second(f, Targets{f.Of("a")});
  a.End(SlotEnd::kClean, kNow + minutes(10));
  CHECK(first.Got());
  CHECK(second.Got());
}

TEST_CASE("Refresh serves who waits when time, settings or a ceiling made room") {
  InflightFixture f;
  SECTION("the window is forgotten while its slot is held") {
    f.Take("a").EndSaturated(Duration::zero(), kNow);
    const InflightSlot a = f.Take("a");
    Client client(f, Targets{f.Of("a")});
    f.limiter->Refresh({}, kNow + minutes(10) - Duration(1));
    CHECK(client.calls == 0);
    f.limiter->Refresh({}, kNow + minutes(10));
    CHECK(client.calls == 1);
  }
  SECTION("the learner is switched off") {
    f.Take("a").EndSaturated(Duration::zero(), kNow);
    const InflightSlot a = f.Take("a");
    Client client(f, Targets{f.Of("a")});
    f.Edit([](auto& s) { s.enabled = false; });
    f.limiter->Refresh({}, kNow);
    CHECK(client.calls == 1);
  }
  SECTION("the ceiling is raised by one") {
    const InflightSlot a = f.Take("a", 1);
    Client first(f, Targets{f.Of("a", 1)});
    Client second(f, Targets{f.Of("a", 1)});
    f.limiter->Refresh({f.Of("a", 2), f.Of("unknown", 1)}, kNow);
    CHECK(first.calls == 1);
    CHECK(second.calls == 0);
    CHECK(f.View("unknown").max_in_flight == 0);
  }
}

TEST_CASE("a newcomer behind a forgotten window lets the line go first") {
  InflightFixture f;
  InflightSlot a = f.Take("a", 1);
  Client client(f, Targets{f.Of("a", 1)});
  const InflightSlot newcomer = f.Take("a", 2);
  CHECK_FALSE(newcomer.valid());
  CHECK(client.calls == 1);
}

TEST_CASE("an empty list of targets waits for nothing") {
  InflightFixture f;
  Client client(f, Targets{});
  CHECK(client.wait.valid());
  CHECK_FALSE(client.wait.ready());
}

TEST_CASE("what the callback owns is released with the place, not by the line") {
  InflightFixture f;
  InflightSlot a = f.Take("a", 1);
  auto owned = std::make_shared<int>(1);
  SlotWait wait = f.limiter->Wait({f.Of("a", 1)}, kNow, [owned] {});
  CHECK(owned.use_count() == 2);
  wait = SlotWait();
  CHECK(owned.use_count() == 1);
}

}  // namespace hotel::guard::test
