#include "libhotel/base/ids.h"

#include <set>
#include <string>

#include "libhotel/base/random.h"
#include "tests/support/catch.h"

namespace {

using namespace hotel::base;

TEST_CASE("New UUIDs are of version 4 and distinct") {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = NewUuid();
    REQUIRE(IsUuid(id));
    REQUIRE(id[14] == '4');
    REQUIRE(std::string("89ab").find(id[19]) != std::string::npos);
    REQUIRE(seen.insert(id).second);
  }
}

TEST_CASE("IsUuid wants the 8-4-4-4-12 form") {
  CHECK(IsUuid("123e4567-e89b-12d3-a456-426614174000"));
  CHECK(IsUuid("123E4567-E89B-12D3-A456-426614174000"));
  CHECK_FALSE(IsUuid("123e4567e89b12d3a456426614174000"));
  CHECK_FALSE(IsUuid("123e4567-e89b-12d3-a456-42661417400g"));
  CHECK_FALSE(IsUuid("123e4567-e89b-12d3-a456-4266141740001"));
  CHECK_FALSE(IsUuid("123e4567-e89b-12d3-a4560426614174000"));
  CHECK_FALSE(IsUuid(""));
}

TEST_CASE("Request ids are 16 hex digits") {
  const std::string id = NewRequestId();
  CHECK(id.size() == 16);
  CHECK(id.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(id != NewRequestId());
}

TEST_CASE("The generator follows the published splitmix64 sequence") {
  std::uint64_t state = 1234567;
  CHECK(NextRandom(&state) == 6457827717110365317u);
  CHECK(NextRandom(&state) == 3203168211198807973u);
  CHECK(NextRandom(&state) == 9817491932198370423u);
}

TEST_CASE("RandomBelow stays below its bound and reaches every value") {
  std::uint64_t state = 7;
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = RandomBelow(&state, 10);
    REQUIRE(value < 10);
    seen.insert(value);
  }
  CHECK(seen.size() == 10);
  const std::uint64_t before = state;
  CHECK(RandomBelow(&state, 0) == 0);
  CHECK(state == before);
  CHECK(RandomBelow(&state, 1) == 0);
}

}  // namespace
