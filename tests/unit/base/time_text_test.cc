#include "libhotel/base/time_text.h"

#include <chrono>
#include <string>

#include "hotel/clock.h"
#include "hotel/defaults.h"

#include "tests/support/catch.h"

namespace {

using hotel::WallTime;
using hotel::base::FormatTime;
using hotel::base::ParseTime;
using std::chrono::milliseconds;

WallTime At(std::int64_t unix_ms) { return WallTime(milliseconds(unix_ms)); }

TEST_CASE("Times are written in UTC with milliseconds") {
  CHECK(FormatTime(At(0)) == "1970-01-01T00:00:00.000Z");
  CHECK(FormatTime(At(1788256800123)) == "2026-09-01T10:00:00.123Z");
  CHECK(FormatTime(At(-1)) == "1969-12-31T23:59:59.999Z");
  CHECK(FormatTime(WallTime::max()) == "9999-12-31T23:59:59.999Z");
  CHECK(FormatTime(WallTime::min()) == "0000-01-01T00:00:00.000Z");
}

TEST_CASE("RFC 3339 times are read with any fraction and offset") {
  CHECK(ParseTime("2026-09-01T10:00:00Z") == At(1788256800000));
  CHECK(ParseTime("2026-09-01t10:00:00.1239999z") == At(1788256800123));
  CHECK(ParseTime("2026-09-01 12:30:00.5+02:30") == At(1788256800500));
  CHECK(ParseTime("2026-09-01T02:00:00-08:00") == At(1788256800000));
  CHECK(ParseTime("2024-02-29T00:00:00Z").has_value());
  CHECK(ParseTime("2016-12-31T23:59:60Z") == ParseTime("2017-01-01T00:00:00Z"));
}

TEST_CASE("What is no time is refused") {
  for (const char* text :
       {"", "2026-09-01", "2026-09-01T10:00:00", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
        "2026-09-01T24:00:00Z", "2026-09-01T10:60:00Z", "2026-09-01T10:00:61Z",
        "2026-09-01T10:00:00.Z", "2026-09-01T10:00:00+24:00", "2026-09-01T10:00:00Zx",
        "26-09-01T10:00:00Z", "2026-09-01T10:00:00+0200"}) {
    INFO(text);
    CHECK_FALSE(ParseTime(text).has_value());
  }
}

TEST_CASE("Writing and reading a time gives it back") {
  for (std::int64_t ms = -60000000000000; ms < 250000000000000; ms += 777777777777) {
    REQUIRE(ParseTime(FormatTime(At(ms))) == At(ms));
  }
}

TEST_CASE("The system clock moves forward and knows the century") {
  const auto clock = hotel::MakeSystemClock();
  const auto first = clock->Now();
  CHECK(clock->Now() >= first);
  CHECK(FormatTime(clock->WallNow()).substr(0, 2) == "20");
}

}  // namespace
