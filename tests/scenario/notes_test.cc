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

/// `<source>: <message>` of the debug notes, in order.
Lines DebugOf(const Harness& h) {
  Lines lines;
  for (const LogNote& note : h.events.debug) lines.push_back(note.source + ": " + note.message);
  return lines;
}

/// An attribute as text; "" when the note has none of that name.
std::string Attribute(const LogNote& note, const std::string& name) {
  for (const auto& [key, value] : note.attributes) {
    if (key != name) continue;
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
    return std::get<bool>(value) ? "true" : "false";
  }
  return "";
}

TEST_CASE("request log: a request that runs for a second is told of once, a short one never") {
  Harness h;
  h.Demo({"u1"});
  h.On("u1", Script::Chat("Good day")).On("u1", Script().Hang());
  h.Ask();
  h.Settle();
  CHECK(h.log.running.empty());

  Client early = h.Chat();
  h.loop.Advance(milliseconds(900));
  Client late = h.Chat();
  CHECK(h.log.running.empty());
  h.loop.Advance(milliseconds(1100));
  REQUIRE_FALSE(h.log.running.empty());
  CHECK(h.log.running[0].request_id == early.call->request_id());
  CHECK(h.log.running[0].requested_model == "hotel/demo");
  h.loop.Advance(seconds(5));
  REQUIRE(h.log.running.size() == 2);
  CHECK(h.log.running[1].request_id == late.call->request_id());
  early.call->Cancel();
  late.call->Cancel();
  h.Settle();
  CHECK(h.log.running.size() == 2);
  CHECK(h.log.records.size() == 3);
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

TEST_CASE("facts b DEBUG_LOG: a request is explained from its name to its end") {
  Harness h;
  h.events.wants_debug = true;
  h.Demo({"u1", "u2"}).On("u1", Script::Json(503, "{}")).On("u2", Script::Chat("Hi"));
  h.Ask();
  CHECK(DebugOf(h) == Lines{"resolve: name resolved", "proxy: attempt started", "proxy: try ended",
                            "circuit-breaker: verdict", "proxy: attempt started",
                            "proxy: try ended", "circuit-breaker: verdict",
                            "proxy: request ended"});
  const auto& notes = h.events.debug;
  CHECK(Attribute(notes[0], "form") == "group");
  CHECK(Attribute(notes[0], "candidates") == "2");
  CHECK(Attribute(notes[0], "order") == "u1/m, u2/m");
  CHECK(Attribute(notes[2], "outcome") == "http error");
  CHECK(Attribute(notes[2], "status") == "503");
  CHECK(Attribute(notes[3], "effect") == "charge");
  CHECK(Attribute(notes[3], "cause") == "upstream status 503");
  CHECK(Attribute(notes[4], "provider") == "u2");
  CHECK(Attribute(notes[4], "attempt") == "2");
  CHECK(Attribute(notes[7], "status") == "200");
  for (const LogNote& note : notes) CHECK(Attribute(note, "request").size() == 16);
}

TEST_CASE("facts b DEBUG_LOG: a wait before the next try is told with its length") {
  Harness h;
  h.events.wants_debug = true;
  h.Demo({"u1"}).On("u1", Script::Refused()).On("u1", Script::Chat("Hi"));
  h.Ask();
  const Lines lines = DebugOf(h);
  REQUIRE(lines.size() >= 5);
  CHECK(lines[2] == "proxy: try ended");
  CHECK(lines[3] == "proxy: waiting before the next try");
  CHECK(lines[4] == "proxy: try repeated");
  CHECK(Attribute(h.events.debug[2], "outcome") == "transport");
  CHECK(std::stoi(Attribute(h.events.debug[3], "wait_ms")) > 0);
  CHECK(Attribute(h.events.debug[3], "try") == "2");
}

TEST_CASE("facts b DEBUG_LOG: no text of prompt, answer or refusal, and no key, is in any line") {
  Harness h;
  h.events.wants_debug = true;
  h.Demo({"u1", "u2"})
      .On("u1", Script::Json(429, "{\"error\":{\"message\":\"SECRETWORD slow down\"}}"))
      .On("u2", Script::Chat("SECRETWORD"));
  h.Ask();
  REQUIRE_FALSE(h.events.debug.empty());
  for (const LogNote& note : h.events.debug) {
    for (const auto& [name, value] : note.attributes) {
      const auto* text = std::get_if<std::string>(&value);
      if (text == nullptr) continue;
      CHECK(text->find("SECRETWORD") == std::string::npos);
      CHECK(text->find("sk-") == std::string::npos);
    }
  }
}

TEST_CASE("facts b: nothing is explained to who does not ask") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Chat("Hi"));
  h.Ask();
  CHECK(h.events.debug.empty());
}

}  // namespace hotel::scenario
