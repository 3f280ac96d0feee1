#include <string>
#include <vector>

#include "hotel/settings.h"

#include "tests/support/catch.h"

namespace {

using hotel::StatusSet;

TEST_CASE("An exact code contains itself only") {
  const StatusSet set = StatusSet().AddCode(429);
  CHECK(set.Contains(429));
  CHECK(set.ContainsExactly(429));
  CHECK_FALSE(set.Contains(428));
  CHECK_FALSE(set.ContainsClass(4));
}

TEST_CASE("A class contains its hundred") {
  const StatusSet set = StatusSet().AddClass(4);
  CHECK(set.Contains(400));
  CHECK(set.Contains(499));
  CHECK_FALSE(set.Contains(399));
  CHECK_FALSE(set.Contains(500));
  CHECK_FALSE(set.ContainsExactly(400));
  CHECK(set.ContainsClass(4));
}

TEST_CASE("F009 class 5xx covers made-up statuses above 599") {
  const StatusSet set = StatusSet().AddClass(5);
  for (const int status : {500, 529, 599, 600, 700, 999}) CHECK(set.Contains(status));
  CHECK_FALSE(StatusSet().AddCode(599).Contains(600));
}

TEST_CASE("Statuses that cannot be are in no set") {
  const StatusSet set = StatusSet().AddClass(1).AddClass(4).AddCode(100);
  for (const int status : {-1, 0, 99}) CHECK_FALSE(set.Contains(status));
  CHECK_FALSE(set.ContainsClass(0));
  CHECK_FALSE(set.ContainsClass(6));
}

TEST_CASE("A set is written codes first, then classes") {
  const StatusSet set = StatusSet().AddClass(5).AddCode(429).AddCode(401);
  CHECK(set.ToStrings() == std::vector<std::string>{"401", "429", "5xx"});
  CHECK(StatusSet().empty());
  CHECK_FALSE(set.empty());
  CHECK(set == StatusSet().AddCode(401).AddCode(429).AddClass(5));
  CHECK_FALSE(set == StatusSet());
}

}  // namespace
