#include "server/body_budget.h"

#include <memory>
#include <optional>
#include <utility>

#include "tests/support/catch.h"

namespace hotel::server {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST_CASE("bodies take room and give it back") {
  BodyBudget budget(10 * kMiB);
  auto first = budget.Open();
  REQUIRE(first.GrowTo(6 * kMiB));
  CHECK(budget.used() == 6 * kMiB);
  {
    auto second = budget.Open();
    REQUIRE(second.GrowTo(4 * kMiB));
    CHECK(budget.used() == 10 * kMiB);
  }
  CHECK(budget.used() == 6 * kMiB);
  first = budget.Open();
  CHECK(budget.used() == 0);
}

TEST_CASE("what finds no room leaves everything as it was") {
  BodyBudget budget(10 * kMiB);
  auto first = budget.Open();
  auto second = budget.Open();
  REQUIRE(first.GrowTo(8 * kMiB));
  CHECK_FALSE(second.GrowTo(2 * kMiB + 1));
  CHECK(budget.used() == 8 * kMiB);
  CHECK(second.GrowTo(2 * kMiB));
  CHECK_FALSE(first.GrowTo(8 * kMiB + 1));
  CHECK(budget.used() == 10 * kMiB);
}

TEST_CASE("a part grows by what is new and never shrinks") {
  BodyBudget budget(10 * kMiB);
  auto part = budget.Open();
  REQUIRE(part.GrowTo(kMiB));
  REQUIRE(part.GrowTo(3 * kMiB));
  REQUIRE(part.GrowTo(2 * kMiB));
  CHECK(budget.used() == 3 * kMiB);
}

TEST_CASE("small bodies find room when there is none, and count") {
  BodyBudget budget(kMiB);
  auto large = budget.Open();
  REQUIRE(large.GrowTo(kMiB));
  auto small = budget.Open();
  CHECK(small.GrowTo(BodyBudget::kAlwaysRoom));
  CHECK(budget.used() == kMiB + BodyBudget::kAlwaysRoom);
  CHECK_FALSE(small.GrowTo(BodyBudget::kAlwaysRoom + 1));
}

TEST_CASE("a part moves with its room and may outlive the budget") {
  std::optional<BodyBudget> budget(10 * kMiB);
  auto part = budget->Open();
  REQUIRE(part.GrowTo(5 * kMiB));
  auto moved = std::make_unique<BodyBudget::Part>(std::move(part));
  CHECK(budget->used() == 5 * kMiB);
  part = budget->Open();
  CHECK(budget->used() == 5 * kMiB);
  budget.reset();
  moved.reset();
}

}  // namespace
}  // namespace hotel::server
