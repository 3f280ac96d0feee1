// The stall watchdog (seed 000, "a stall watchdog monitors for silence"; facts f; decisions 5, 10).
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

Script Words(int count) {
  Script script = Open({});
  for (int i = 0; i < count; ++i) script.Bytes(Text("x") + "\n\n");
  return script;
}

std::string LastCause(const Harness& h) {
  for (const CircuitView& view : h.breaker.Views(h.clock.Now())) {
    if (view.key.provider_name == "u1") return view.last_cause;
  }
  return "";
}

void CheckStalled(const Harness& h, const Client& client, const std::string& relayed) {
  CHECK(client.status() == 200);
  REQUIRE(client.body().size() > relayed.size());
  CHECK(client.body().substr(0, relayed.size()) == relayed);
  CHECK(client.body().find("\"code\":\"stream_incomplete\"", relayed.size()) != std::string::npos);
  CHECK(client.body().find("[DONE]") == std::string::npos);
  CHECK_FALSE(client.sink->end.complete);
  CHECK(h.Seen("u1").cancelled);
  CHECK(h.Calls("u2") == 0);
  CHECK(h.Trail() == Lines{"0 u1 200 charge provider_timeout"});
  CHECK(h.Circuit("u1") == "closed 1");
  CHECK(LastCause(h) == "stream stalled");
}

TEST_CASE("seed 000: 30 s of silence behind the commit end a stream, visibly, and are charged") {
  Harness h;
  const Script sent = Open({Role(), Text("one")});
  h.Demo({"u1", "u2"}).On("u1", Script(sent).Hang());
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.took == seconds(30));
  CheckStalled(h, client, BytesOf(sent));
}

TEST_CASE("facts f: three times as long behind 50 frames") {
  for (const auto& [frames, limit] : {std::pair<int, int>{50, 30}, {51, 90}, {200, 90}}) {
    INFO(frames << " frames");
    Harness h;
    const Script sent = Words(frames);
    h.Demo({"u1", "u2"}).On("u1", Script(sent).Hang());
    const Client client = h.Ask("hotel/demo", true);
    CHECK(client.took == seconds(limit));
    CheckStalled(h, client, BytesOf(sent));
  }
}

TEST_CASE("R44 retry_first: 300 s, also behind 50 frames; stream_verdict start charges nothing") {
  Harness h(RetryFirst());
  const Script sent = Words(60);
  h.Demo({"u1", "u2"}).On("u1", Script(sent).Hang());
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.took == seconds(300));
  CHECK_FALSE(client.sink->end.complete);
  CHECK(h.Circuit("u1", "") == "closed 0");
}

TEST_CASE("stream_stall_timeout 0: not watched, the attempt's own limit ends it") {
  Harness h(FailoverFirst({{"stream_stall_timeout", "0s"}}));
  h.Demo({"u1", "u2"}).On("u1", Open({Text("one")}).Hang());
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.took == minutes(10));
  CHECK(LastCause(h) == "response failed after headers");
}

TEST_CASE("F123 every line is a sign of life, a comment too; the deadline bounds the whole") {
  Harness h(FailoverFirst({{"request_timeout", "20s"}, {"stream_stall_timeout", "1s"}}));
  Script script = Open({Text("one"), Text("two"), Text("three")});
  for (int i = 0; i < 1000; ++i) script.After(milliseconds(500)).Bytes(": ping\n\n");
  h.Demo({"u1", "u2"}).On("u1", script);
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.took == seconds(200));
  CHECK_FALSE(client.sink->end.complete);
  // The record tells a deadline from a stall.
  CHECK(LastCause(h) == "response failed after headers");
  CHECK(h.record().error_message == "request timed out for model hotel/demo");
}

TEST_CASE("decisions 5: silence behind a finish_reason: the answer is whole, [DONE] is added") {
  Harness h;
  const Script sent = Open({Role(), Text("one"), Fin()});
  h.Demo({"u1"}).On("u1", Script(sent).Hang());
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.took == seconds(30));
  CHECK(client.body() == BytesOf(sent) + "data: [DONE]\n\n");
  CHECK(client.sink->end.complete);
  CHECK(h.Trail() == Lines{"0 u1 200 success -"});
  CHECK(h.Seen("u1").cancelled);
}

TEST_CASE("decisions 5: what came together with the first output counts: frames, finish_reason") {
  const Lines opener = {Role(), Text("one"), Fin()};
  Harness whole;
  Script sent = Open({});
  sent.Bytes(Bytes(opener)).Hang();
  whole.Demo({"u1"}).On("u1", sent);
  const Client client = whole.Ask("hotel/demo", true);
  CHECK(client.body() == Bytes(opener) + "data: [DONE]\n\n");
  CHECK(client.sink->end.complete);
  CHECK(whole.Circuit("u1") == "closed 0");

  Harness many;
  Script burst = Open({});
  burst.Bytes(BytesOf(Words(60))).Hang();
  many.Demo({"u1"}).On("u1", burst);
  CHECK(many.Ask("hotel/demo", true).took == seconds(90));
}

TEST_CASE("a provider that is slow but within its limits is left alone") {
  Harness h;
  Script script = Open({Role(), Text("one")});
  for (int i = 0; i < 15; ++i) script.After(seconds(29)).Bytes(Text("x") + "\n\n");
  script.After(seconds(29)).Bytes(Bytes({Fin(), Done()})).End();
  h.Demo({"u1"}).On("u1", script);
  CHECK(h.Ask("hotel/demo", true).body() == BytesOf(script));
  CHECK(h.Circuit("u1") == "closed 0");
}

TEST_CASE("decisions 10: the watchdog does not count time in which the client took nothing") {
  Harness h;
  const Script sent = Open({Text("one"), Text("two"), Text("three")});
  h.Demo({"u1", "u2"}).On("u1", Script(sent).Hang());
  Client client = h.Chat("hotel/demo", true);
  client.sink->pause_after = 2;
  h.loop.Advance(minutes(7));
  CHECK_FALSE(client.sink->ended);
  client.call->Resume();
  h.Wait(client);
  CHECK(client.took == seconds(30));
  CheckStalled(h, client, BytesOf(sent));
}

/// A line of this many pieces, one at each step, and then the rest of a good stream.
Script LongLine(int pieces, std::size_t bytes, Duration step) {
  Script script = Open({Text("one")});
  script.Bytes(R"(data: {"choices":[{"index":0,"delta":{"content":")");
  for (int i = 0; i < pieces; ++i) script.After(step).Bytes(std::string(bytes, 'x'));
  return script.Bytes("\"}}]}\n\n" + Bytes({Fin(), Done()})).End();
}

TEST_CASE("seed 000 large frames: 4 KiB of one line are a sign of life") {
  Harness h;
  const Script line = LongLine(4, 4096, seconds(20));  // 80 s, not yet three windows
  h.Demo({"u1"}).On("u1", line);
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.body() == BytesOf(line));
  CHECK(client.sink->end.complete);
  CHECK(h.Circuit("u1") == "closed 0");
}

TEST_CASE("seed 000 large frames: fewer bytes than 4 KiB are none") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", LongLine(100, 400, seconds(5)));
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.took == seconds(30));  // 2400 bytes by then
  CHECK_FALSE(client.sink->end.complete);
}

TEST_CASE("seed 000 large frames: a trickle that goes on for three windows is a stall") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", LongLine(100, 4096, seconds(20)));
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.took == seconds(80 + 30));  // the last piece that counted came within 90 s
  CHECK_FALSE(client.sink->end.complete);
  CHECK(LastCause(h) == "stream stalled");
}

TEST_CASE("seed 000 large frames: 64 KiB/s keep a line going for as long as it takes") {
  for (const auto& [bytes, lives] : {std::pair<std::size_t, bool>{33000, true}, {32000, false}}) {
    INFO(bytes << " bytes each half second");
    Harness h(FailoverFirst({{"stream_stall_timeout", "1s"}}));
    const Script line = LongLine(40, bytes, milliseconds(500));
    h.Demo({"u1", "u2"}).On("u1", line);
    const Client client = h.Ask("hotel/demo", true);
    CHECK(client.sink->end.complete == lives);
    CHECK(client.took == (lives ? seconds(20) : seconds(4)));
    if (lives) CHECK(client.body() == BytesOf(line));
  }
}

TEST_CASE("seed 000 large frames: the client's pause is not counted against a line's pace") {
  Harness h(FailoverFirst({{"stream_stall_timeout", "1s"}}));
  const Script line = LongLine(12, 33000, milliseconds(500));
  h.Demo({"u1"}).On("u1", line);
  Client client = h.Chat("hotel/demo", true);
  h.loop.Advance(milliseconds(1600));
  client.sink->pause_after = client.sink->chunks.size() + 1;
  h.loop.Advance(minutes(2));
  CHECK_FALSE(client.sink->ended);
  client.call->Resume();
  h.Wait(client);
  CHECK(client.body() == BytesOf(line));
  CHECK(client.sink->end.complete);
}

TEST_CASE("f.7/8 a cut behind the commit: same bytes under both verdicts, another count") {
  std::string bodies[2];
  int at = 0;
  for (const char* verdict : {"start", "end"}) {
    Harness h(FailoverFirst({{"resilience.circuit_breaker.stream_verdict", verdict}}));
    h.Demo({"u1", "u2"}).On("u1", Cut(Open({Role(), Text("one")})));
    const Client client = h.Ask("hotel/demo", true);
    bodies[at++] = client.body();
    CHECK_FALSE(client.sink->end.complete);
    CHECK(h.Circuit("u1") == (std::string(verdict) == "start" ? "closed 0" : "closed 1"));
    CHECK(h.record().attempts[0].breaker ==
          (std::string(verdict) == "start" ? BreakerEffect::kSuccess : BreakerEffect::kCharge));
  }
  CHECK(bodies[0] == bodies[1]);
}

}  // namespace
}  // namespace hotel::scenario
