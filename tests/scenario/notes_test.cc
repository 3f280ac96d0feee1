// The log lines of a failover (seed 000, "Failover Request Logging", "Debugging").
#include <string>
#include <variant>

#include "tests/scenario/harness.h"
#include "tests/scenario/refusals.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

/// `<source>: <message> <name>=<value> ...` of the notes of this source.
Lines NotesOf(const Harness& h, const std::string& source) {
  Lines lines;
  for (const LogNote& note : h.events.notes) {
    if (note.source != source) continue;
    std::string line = note.source + ": " + note.message;
    for (const auto& [name, value] : note.attributes) {
      if (name == "provider_id") continue;
      const auto* number = std::get_if<std::int64_t>(&value);
      line += " " + name + "=" +
              (number != nullptr ? std::to_string(*number) : std::get<std::string>(value));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

TEST_CASE("seed 000 a failover is told as it happens: who failed, why, and the pause behind it") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Busy(5)).On("u2", Script::Chat("Hi"));
  h.Ask();
  const Lines lines = NotesOf(h, "proxy");
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] ==
        "proxy: failover triggered attempt=1 provider=u1 status=429 error_kind=provider_saturated "
        "rate_limit_class=saturated");
  CHECK(lines[1].rfind("proxy: failover backoff backoff=1", 0) == 0);
  CHECK(lines[1].find("ms attempt=2") != std::string::npos);
}

TEST_CASE("seed 000 what is served at once, or fails with nobody left, is no failover") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Chat("Hi")).On("u1", Script::Json(400, "{}"));
  h.Ask();
  h.Ask();
  CHECK(NotesOf(h, "proxy").empty());
}

TEST_CASE("seed 000 a candidate that is left out is told with its reason") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", SpentWindow()).On("u2", Script::Chat("Hi"));
  h.Ask();
  CHECK(NotesOf(h, "resolve").empty());
  h.Ask();
  CHECK(NotesOf(h, "resolve") ==
        Lines{"resolve: skipping candidate: circuit breaker open provider=u1 model=m"});
}

}  // namespace hotel::scenario
