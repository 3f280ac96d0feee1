// The hot path of a decision takes no memory.
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include "tests/support/catch.h"
#include "tests/unit/guard/breaker_fixture.h"
#include "tests/unit/guard/inflight_fixture.h"

namespace {
thread_local std::size_t allocations = 0;
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace hotel::guard::test {

TEST_CASE("Blocked and TryAcquire do not allocate, with a circuit or without") {
  Fixture f;
  const std::string provider = "5f0c1c9e-6f0e-4b2e-9f43-0f3a4c1d2e3f";  // no small string
  const std::string model = "a-vendor/a-model-with-a-long-name";
  const CircuitKey known = f.Key(model, provider);
  f.Once(known, Verdict::kFailure);
  const CircuitKey unknown = f.Key("another-" + model, "another-" + provider);
  for (const CircuitKey& key : {known, unknown}) {
    CircuitKey moved = key;
    const std::size_t before = allocations;
    const bool blocked = f.breaker->Blocked(key, kNow).has_value();
    const Admission admission = f.breaker->TryAcquire(std::move(moved), kNow);
    const std::size_t after = allocations;
    CHECK_FALSE(blocked);
    CHECK(admission.admitted());
    CHECK(after == before);
  }
  f.Open(known);
  CircuitKey moved = known;
  const std::size_t before = allocations;
  const bool refused = !f.breaker->TryAcquire(std::move(moved), kNow).admitted();
  const std::size_t after = allocations;
  CHECK(refused);
  CHECK(after == before);
}

TEST_CASE("a slot of a known provider is taken and given back without allocating") {
  InflightFixture f;
  const std::string id = "5f0c1c9e-6f0e-4b2e-9f43-0f3a4c1d2e3f";
  const InflightTarget target{id, id, 8};
  f.limiter->TryAcquire(target, kNow).EndSaturated(Duration::zero(), kNow);
  const std::size_t before = allocations;
  const bool busy = f.limiter->Busy(target, kNow);
  InflightSlot slot = f.limiter->TryAcquire(target, kNow);
  const bool taken = slot.valid();
  const bool refused = !f.limiter->TryAcquire(target, kNow).valid();
  slot.End(SlotEnd::kClean, kNow);
  const std::size_t after = allocations;
  CHECK_FALSE(busy);
  CHECK(taken);
  CHECK(refused);
  CHECK(after == before);
}

}  // namespace hotel::guard::test
