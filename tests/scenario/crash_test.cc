// The situations of public crash tests of gateways, under examples/crash-test.yaml as it is.
// Nothing is scaled: time is virtual.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include "libhotel/settings/config.h"
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

Settings CrashTest() {
  const auto no_variables = [](std::string_view) { return std::optional<std::string>(); };
  const settings::ReadResult read =
      settings::ReadConfigFile(HOTEL_SOURCE_DIR "/examples/crash-test.yaml", no_variables);
  if (!read.errors.empty()) throw std::runtime_error(read.errors.front().ToString());
  return read.config.settings;
}

/// A whole chat stream of `tokens` tokens, `gap` apart, cut off behind `until` of them.
Script Tokens(int until, Duration gap = milliseconds(50)) {
  Script script;
  script.Head(200, {{"content-type", "text/event-stream"}}).Bytes(Bytes({Role()}));
  for (int i = 0; i < until; ++i) {
    script.After(gap).Bytes(Bytes({Text("t" + std::to_string(i) + " ")}));
  }
  return script;
}

Script Whole(int tokens) { return Tokens(tokens).Bytes(Bytes({Fin(), Done()})).End(); }

std::size_t Count(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

/// What the client holds is not taken for a whole answer.
void CheckBroken(const Client& client) {
  CHECK(client.status() == 200);
  CHECK_FALSE(client.sink->end.complete);
  CHECK(Count(client.body(), "\"stream_incomplete\"") == 1);
  CHECK(Count(client.body(), "\"error\"") == 1);
  CHECK(Count(client.body(), "[DONE]") == 0);
  CHECK(Count(client.body(), "\"finish_reason\":\"") == 0);
}

void CheckWhole(const Client& client) {
  CHECK(client.status() == 200);
  CHECK(client.sink->end.complete);
  CHECK(Count(client.body(), "[DONE]") == 1);
  CHECK(Count(client.body(), "\"error\"") == 0);
}

struct Crash : Harness {
  Crash() : Harness(CrashTest()) {
    Demo({"primary", "backup"});
    testing::AddGroup(*store, "alone", {"primary/m"});
    On("backup", Whole(60));
  }
  Client Stream() { return Ask("hotel/demo", true); }
  Client StreamOfOne() { return Ask("hotel/alone", true); }
};

TEST_CASE("crash test 1: a 429 with Retry-After 2") {
  const auto refuse = [] {
    return Script()
        .Head(429, {{"content-type", "application/json"}, {"retry-after", "2"}})
        .Bytes(R"({"error":{"message":"Too many requests at a time","type":"rate_limit_error"}})")
        .End();
  };
  Crash h;
  h.On("primary", refuse()).On("primary", Whole(60));
  const Client client = h.Stream();
  CheckWhole(client);
  CHECK(client.header("x-hotel-provider") == "backup");
  CHECK(h.EventCount("circuit_breaker.open") == 0);
  CHECK(h.record().attempts[0].breaker == BreakerEffect::kNoop);

  Crash alone;  // nobody else: the stated wait is waited out, once
  alone.On("primary", refuse()).On("primary", Whole(60));
  const Client patient = alone.StreamOfOne();
  CheckWhole(patient);
  CHECK(patient.took >= seconds(2));
  CHECK(patient.took < seconds(7));
  CHECK(alone.Calls("primary") == 2);
}

TEST_CASE("crash test 2: a 429 that stays") {
  Crash h;
  h.On("primary", Script().Head(429, {{"retry-after", "2"}}).End());
  CheckWhole(h.Stream());
  const Client client = h.StreamOfOne();
  CHECK(client.status() == 429);
  CHECK_FALSE(client.header("retry-after").empty());
  CHECK(client.took < seconds(31));
  CHECK(h.Calls("primary") <= 3);
}

TEST_CASE("crash test 3: one 500") {
  Crash h;
  h.On("primary", Script::Json(500, "{}")).On("primary", Whole(60));
  CheckWhole(h.Stream());
  CHECK(h.Calls("backup") == 1);

  Crash alone;
  alone.On("primary", Script::Json(500, "{}")).On("primary", Whole(60));
  CheckWhole(alone.StreamOfOne());
  CHECK(alone.Calls("primary") == 2);
}

TEST_CASE("crash test 4: a 503 that stays") {
  Crash h;
  h.On("primary", Script::Json(503, "{}"));
  for (int i = 0; i < 5; ++i) CheckWhole(h.Stream());
  CHECK(h.Calls("primary") < 5);  // known to be down by then

  Crash alone;
  alone.On("primary", Script::Json(503, "{}"));
  const Client client = alone.StreamOfOne();
  CHECK(client.status() == 503);
  CHECK(client.took < seconds(2));
  CHECK(alone.Calls("primary") == 2);
}

TEST_CASE("crash test 5: a reset before the head") {
  Crash h;
  h.On("primary", Script::Reset());
  for (const bool stream : {true, false}) {
    if (!stream) h.upstreams.Clear(Url("backup")), h.On("backup", Script::Chat("Good day"));
    const Client client = h.Ask("hotel/demo", stream);
    CHECK(client.status() == 200);
    CHECK(client.header("x-hotel-provider") == "backup");
    CHECK(client.took < (stream ? seconds(5) : seconds(2)));  // 3 s of it are the answer's own
  }
}

TEST_CASE("crash test 6: no answer at all costs at most 31 s") {
  Crash h;
  h.On("primary", Script().Hang());
  const Client stream = h.Stream();
  CheckWhole(stream);
  CHECK(stream.took < seconds(31));

  Crash whole;
  whole.On("primary", Script().Hang());
  whole.upstreams.Clear(Url("backup"));
  whole.On("backup", Script::Chat("Good day"));
  const Client client = whole.Ask();
  CHECK(client.status() == 200);
  CHECK(client.took <= seconds(31));

  Crash alone;
  alone.On("primary", Script().Hang());
  const Client nobody = alone.Ask("hotel/alone");
  CHECK(nobody.status() == 504);
  CHECK(nobody.took <= seconds(31));
}

TEST_CASE("crash test 7: a first token after 20 s, and nobody waits longer than 15 s for one") {
  const auto late = [](Duration wait) {
    return Open({Role()}).After(wait).Bytes(Bytes({Text("late"), Fin(), Done()})).End();
  };
  Crash h;
  h.On("primary", late(seconds(20)));
  const Client client = h.Stream();
  CheckWhole(client);
  CHECK(client.header("x-hotel-provider") == "backup");
  REQUIRE(h.record().ttft);
  CHECK(*h.record().ttft <= seconds(15));

  Crash patient;  // within the limit it is waited for
  patient.On("primary", late(seconds(13)));
  CHECK(patient.Stream().header("x-hotel-provider") == "primary");
}

TEST_CASE("crash test 8: cut at 40 of 60 tokens") {
  Crash h;
  h.On("primary", Cut(Tokens(40)));
  const Client client = h.Stream();
  CheckBroken(client);
  CHECK(Count(client.body(), "\"content\":\"t") == 40);
  CHECK(h.Calls("backup") == 0);  // another provider's answer is never spliced on (F033)

  Crash clean;  // the same with a clean end of the connection's body
  clean.On("primary", Tokens(40).End());
  CheckBroken(clean.Stream());
}

TEST_CASE("crash test 9: silence behind 20 tokens costs at most 31 s") {
  for (const int tokens : {20, 200}) {  // also late in a long answer
    Crash h;
    h.On("primary", Tokens(tokens).Hang());
    const Client client = h.Stream();
    CheckBroken(client);
    CHECK(Count(client.body(), "\"content\":\"t") == static_cast<std::size_t>(tokens));
    CHECK(client.took <= tokens * milliseconds(50) + seconds(31));
    CHECK(h.Seen("primary").cancelled);
  }
}

TEST_CASE("crash test 10: a malformed event in the middle") {
  Crash h;
  h.On("primary", Tokens(20)
                      .Bytes("data: {\"choices\":[{\"delta\":{\"conte\n\n")
                      .Bytes(Bytes({Text("after"), Fin(), Done()}))
                      .End());
  const Client client = h.Stream();
  CheckWhole(client);
  CHECK(Count(client.body(), "after") == 1);
}

TEST_CASE("crash test 11: no [DONE]") {
  Crash h;
  h.On("primary", Tokens(20).Bytes(Bytes({Fin()})).End());
  CheckWhole(h.Stream());
  Crash cut;  // nor a finish_reason: not whole
  cut.On("primary", Tokens(20).End());
  CheckBroken(cut.Stream());
}

TEST_CASE("crash tests 12 and 13: a 400 is the client's, as the provider wrote it") {
  const std::string too_long =
      R"({"error":{"message":"This model's maximum context length is 8192 tokens","type":"invalid_request_error","code":"context_length_exceeded"}})";
  const std::string policy =
      R"({"error":{"message":"The response was filtered","type":"invalid_request_error","code":"content_filter"}})";
  for (const std::string& body : {too_long, policy}) {
    Crash h;
    h.On("primary", Script::Json(400, body));
    for (const bool stream : {true, false}) {
      const Client client = h.Ask("hotel/demo", stream);
      CHECK(client.status() == 400);
      CHECK(client.body() == body);
    }
    CHECK(h.Calls("backup") == 0);
    CHECK(h.Circuit("primary") == "closed 0");
  }
}

TEST_CASE("crash test 14: cut, and the second provider refuses") {
  Crash h;
  h.upstreams.Clear(Url("backup"));
  h.On("backup", Script::Json(401, R"({"error":{"message":"bad key"}})"));
  h.On("primary", Cut(Tokens(40))).On("primary", Cut(Open({Role()})));
  CheckBroken(h.Stream());
  CHECK(h.Calls("backup") == 0);
  // Before any token the second one is asked, and its refusal is the truth.
  const Client client = h.Stream();
  CHECK(client.status() == 401);
  CHECK(Message(client.body()).find("backup") != std::string::npos);
}

TEST_CASE("crash test 15: down for 60 s and back, with a request every 4 s") {
  for (const bool stream : {true, false}) {
    Crash h;
    h.upstreams.Clear(Url("backup"));
    const auto good = [stream] { return stream ? Whole(3) : Script::Chat("Good day"); };
    h.On("backup", good());
    const TimePoint begin = h.clock.Now();
    const TimePoint back = begin + seconds(60);
    h.upstreams.OnEach(Url("primary"), [&](const testing::SeenRequest& seen) {
      return seen.at < back ? Script::Json(503, "{}") : good();
    });
    std::vector<TimePoint> spent;  // requests that reached it behind the opening
    std::optional<TimePoint> again;
    for (TimePoint next = begin; next < back + minutes(1); next += seconds(4)) {
      h.loop.Advance(std::max(Duration::zero(), next - h.clock.Now()));
      const bool open = h.Circuit("primary").rfind("closed", 0) != 0;
      const std::size_t before = h.Calls("primary");
      const Client client = h.Ask("hotel/demo", stream);
      CHECK(client.status() == 200);
      if (h.Calls("primary") > before && open && next < back) spent.push_back(next);
      if (!again && next >= back && client.header("x-hotel-provider") == "primary") again = next;
    }
    REQUIRE(again);
    CHECK(*again - back <= seconds(30));
    // At most one for each cooldown: 12 s, then 24 s.
    CHECK(spent.size() <= 3);
    for (std::size_t i = 1; i < spent.size(); ++i) CHECK(spent[i] - spent[i - 1] >= seconds(12));
    // And it stays.
    CHECK(h.Ask("hotel/demo", stream).header("x-hotel-provider") == "primary");
  }
}

TEST_CASE("crash test 16: model and usage are those of the provider that served") {
  Crash h;
  testing::AddGroup(*h.store, "two", {"primary/small", "backup/large"});
  h.upstreams.Clear(Url("backup"));
  h.On("primary", Script::Json(503, "{}"));
  const std::string answer =
      R"({"id":"c","object":"chat.completion","model":"large-2","choices":[{"index":0,"message":)"
      R"({"role":"assistant","content":"Good day"},"finish_reason":"stop"}],)"
      R"("usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}})";
  h.On("backup", Script::Json(200, answer));
  const Client client = h.Ask("hotel/two");
  CHECK(client.body() == answer);
  CHECK(client.header("x-hotel-provider") == "backup");
  CHECK(client.header("x-hotel-model") == "large");
  CHECK(client.header("x-hotel-attempts") == "2");
  CHECK(h.record().resolved_model == "large");
  REQUIRE(h.record().usage);
  CHECK(h.record().usage->prompt == 7);
  CHECK(h.record().usage->completion == 2);
  CHECK_FALSE(h.record().usage->estimated);
  REQUIRE(h.record().attempts.size() == 2);
  CHECK_FALSE(h.record().attempts[0].usage);
  CHECK(h.record().attempts[1].usage == h.record().usage);
}

}  // namespace
}  // namespace hotel::scenario
