// Statuses that are repeated at the same candidate (R4 to R17; decisions 2, 4 and 10).
#include <algorithm>
#include <vector>

#include "libhotel/decide/retry.h"
#include "tests/support/catch.h"
#include "tests/unit/decide/machine_run.h"

namespace hotel::decide::test {
namespace {

using E = TransportError;
using P = TransportPhase;

/// The retry block of retry_first, without pauses between candidates.
EngineSettings RetryFirst() {
  EngineSettings s = FailoverFirst();
  s.failover.backoff_initial = {};
  s.timeouts.request_timeout = seconds(600);
  s.timeouts.long_factor = 1;
  s.timeouts.deadline_factor = 0;
  s.timeouts.ttft_timeout = {};
  s.timeouts.upstream_header_timeout = {};
  s.retry.max_retries = 3;
  for (const int code : {429, 502, 503, 504, 522, 524}) s.retry.retry_on_statuses.AddCode(code);
  s.retry.initial_backoff = seconds(1);
  s.retry.max_backoff = seconds(30);
  s.retry.backoff_factor = 2;
  s.retry.jitter_factor = 0.1;
  s.retry.on_transport = RetrySettings::OnTransport::kAny;
  s.retry.streaming = RetrySettings::Streaming::kNever;
  return s;
}

AttemptEnd Status(int status) { return End(EndKind::kHttpError, status); }

/// Ends every try of the attempt that runs like this; the waits between them.
std::vector<Duration> Exhaust(MachineRun& run, const AttemptEnd& end) {
  std::vector<Duration> waits;
  const int attempt = run.attempt();
  for (;;) {
    run.EndWith(end);
    if (run.Get<ReportVerdict>() != nullptr) return waits;
    const TimePoint before = run.now;
    run.Sleep();
    REQUIRE(run.Words() == "start");
    REQUIRE(run.attempt() == attempt);
    waits.push_back(run.now - before);
  }
}

}  // namespace

TEST_CASE("R4 max_retries N: at most N + 1 tries, 0 is one") {
  for (const int retries : {0, 1, 3, 5}) {
    EngineSettings settings = RetryFirst();
    settings.retry.max_retries = retries;
    MachineRun run(1, false, settings);
    run.Go();
    CHECK(Exhaust(run, Status(503)).size() == static_cast<std::size_t>(retries));
    CHECK(run.Count<StartAttempt>() == retries + 1);
    CHECK(run.finish().contacted == 1);
  }
}

TEST_CASE("R5 the waits of the defaults: 1, 2, 4 seconds, each ten percent up or down") {
  Duration least_sum = Duration::max();
  Duration most_sum{};
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    MachineRun run(1, false, RetryFirst());
    run.plan.seed = seed;
    run.Go();
    const std::vector<Duration> waits = Exhaust(run, Status(502));
    REQUIRE(waits.size() == 3);
    Duration sum{};
    for (std::size_t n = 0; n < 3; ++n) {
      const Duration base = seconds(1 << n);
      REQUIRE(waits[n] >= base * 9 / 10);
      REQUIRE(waits[n] < base * 11 / 10);
      sum += waits[n];
    }
    least_sum = std::min(least_sum, sum);
    most_sum = std::max(most_sum, sum);
  }
  CHECK(least_sum < Duration(milliseconds(6600)));
  CHECK(most_sum > Duration(milliseconds(7400)));
}

TEST_CASE("R5 without jitter the waits are exact, R5a never above max_backoff") {
  EngineSettings settings = RetryFirst();
  settings.retry.max_retries = 5;
  settings.retry.initial_backoff = milliseconds(500);
  settings.retry.backoff_factor = 1.5;
  settings.retry.max_backoff = seconds(2);
  settings.retry.jitter_factor = 0;
  MachineRun run(1, false, settings);
  run.Go();
  CHECK(Exhaust(run, Status(503)) ==
        std::vector<Duration>{milliseconds(500), milliseconds(750), milliseconds(1125),
                              std::chrono::microseconds(1687500), seconds(2)});
  settings.retry.jitter_factor = 1;
  MachineRun wild(1, false, settings);
  wild.Go();
  for (const Duration wait : Exhaust(wild, Status(503))) CHECK(wait <= Duration(seconds(2)));
}

TEST_CASE("R6 R11 transport failures are repeated also with an empty list") {
  EngineSettings settings = RetryFirst();
  settings.retry.retry_on_statuses = StatusSet();
  MachineRun run(1, false, settings);
  run.Go();
  CHECK(Exhaust(run, Transport(E::kConnect, P::kNotSent)).size() == 3);
  MachineRun refused(1, false, settings);
  refused.Go();
  CHECK(Exhaust(refused, Status(503)).empty());
}

TEST_CASE("R7 a status of the list is repeated, any other goes back after the first try") {
  for (const int status : {429, 502, 503, 504, 522, 524, 500, 501, 400, 401, 404, 529, 302}) {
    CAPTURE(status);
    MachineRun run(1, false, RetryFirst());
    run.Go();
    const bool listed =
        status == 429 || (status >= 502 && status <= 504) || status == 522 || status == 524;
    CHECK(Exhaust(run, Status(status)).size() == (listed ? 3u : 0u));
  }
}

TEST_CASE("R8 timeouts are never repeated") {
  EngineSettings settings = RetryFirst();
  settings.retry.streaming = RetrySettings::Streaming::kBeforeCommit;
  settings.timeouts.upstream_header_timeout = seconds(5);
  settings.timeouts.ttft_timeout = seconds(7);
  MachineRun head(1, true, settings);
  head.Go().Sleep();
  CHECK(head.Words() == "cancel verdict finish");
  MachineRun output(1, true, settings);
  output.Go().Feed(HeadSeen{0, 200});
  output.Sleep();
  CHECK(output.Words() == "cancel verdict finish");
  CHECK(output.machine->last_timeout() == TimeoutKind::kFirstOutput);
  MachineRun connect(1, false, settings);
  connect.Go();
  CHECK(Exhaust(connect, Transport(E::kConnectTimeout, P::kNotSent)).empty());
}

TEST_CASE(
    "R9 a wait that does not fit the deadline is not begun, the error in hand is the answer") {
  EngineSettings settings = RetryFirst();
  settings.timeouts.request_timeout = seconds(4);
  settings.timeouts.deadline_factor = 2;
  settings.retry.jitter_factor = 0;
  MachineRun run(1, false, settings);
  run.Go();
  CHECK(Exhaust(run, Status(503)).size() == 2);  // 1 + 2 s; 4 more do not fit
  CHECK(run.finish().reason == Reason::kUpstreamStatus);
  CHECK(run.Terminal().status == 503);

  // A wait that would end at the deadline leaves no time for a try.
  settings.retry.initial_backoff = seconds(4);
  MachineRun exact(1, false, settings);
  exact.Go().EndWith(Status(503));
  CHECK(exact.Words() == "verdict finish");
  settings.retry.initial_backoff = seconds(4) - Duration(1);
  MachineRun fits(1, false, settings);
  fits.Go().EndWith(Status(503));
  CHECK(fits.Words().empty());

  settings.timeouts.request_timeout = seconds(600);
  MachineRun cut(1, false, settings);
  cut.plan.arrival = cut.now - seconds(1199);
  cut.Go();
  cut.now += milliseconds(100);
  cut.EndWith(Status(503));
  CHECK(cut.Words() == "verdict finish");
}

TEST_CASE("R9 a client that leaves in the wait ends it") {
  MachineRun run(2, false, RetryFirst());
  run.Go().EndWith(Status(503));
  CHECK(run.Words().empty());
  run.Feed(ClientGone{});
  CHECK(run.Words() == "cancel verdict finish");
  CHECK(run.verdict().report.verdict == Verdict::kAbandoned);
}

TEST_CASE("R11 a class in the list stands for all of it") {
  EngineSettings settings = RetryFirst();
  settings.retry.retry_on_statuses = StatusSet().AddClass(5);
  for (const int status : {500, 529, 599}) {
    MachineRun run(1, false, settings);
    run.Go();
    CHECK(Exhaust(run, Status(status)).size() == 3);
  }
}

TEST_CASE("R12 the list of the retries and that of the circuit know nothing of each other") {
  EngineSettings retried = RetryFirst();
  retried.retry.max_retries = 2;
  retried.retry.retry_on_statuses = StatusSet().AddClass(5);
  retried.circuit_breaker.failure_on_statuses = StatusSet();
  MachineRun a(1, false, retried);
  a.Go();
  Exhaust(a, Status(500));
  CHECK(a.Count<StartAttempt>() == 3);
  CHECK(a.verdict().report.verdict == Verdict::kAlive);

  EngineSettings charged = RetryFirst();
  charged.retry.retry_on_statuses = StatusSet();
  MachineRun b(1, false, charged);
  b.Go();
  Exhaust(b, Status(524));
  CHECK(b.Count<StartAttempt>() == 1);
  CHECK(b.verdict().report.verdict == Verdict::kFailure);
}

TEST_CASE("R13 streams: never, transport alone, or statuses before the commit as well") {
  const AttemptEnd statuses[] = {Status(503), End(EndKind::kHiddenError, 503)};
  const AttemptEnd reset = Transport(E::kInterrupted, P::kSent);
  const AttemptEnd other = Transport(E::kOther, P::kSent);
  using S = RetrySettings::Streaming;
  for (const S mode : {S::kNever, S::kTransport, S::kBeforeCommit}) {
    RetrySettings retry = RetryFirst().retry;
    retry.streaming = mode;
    for (const AttemptEnd& end : statuses) {
      CHECK(Repeatable(end, true, retry) == (mode == S::kBeforeCommit));
      CHECK(Repeatable(end, false, retry));
    }
    CHECK(Repeatable(reset, true, retry) == (mode != S::kNever));
    // decisions 10: of a stream only what is safe to repeat, also under on_transport any.
    CHECK_FALSE(Repeatable(other, true, retry));
    CHECK(Repeatable(other, false, retry));
  }
}

TEST_CASE("R13 before_commit: the stream's next try starts clean and commits once") {
  EngineSettings settings = RetryFirst();
  settings.retry.streaming = RetrySettings::Streaming::kBeforeCommit;
  MachineRun run(1, true, settings);
  run.Go();
  run.Feed(HeadSeen{0, 200});
  run.EndWith(End(EndKind::kHiddenError, 503));
  run.Sleep();
  CHECK(run.Words() == "start");
  run.Feed(FirstOutput{0});
  CHECK(run.Words() == "commit");
  run.EndWith(End(EndKind::kAnswer));
  CHECK(run.verdict().report.verdict == Verdict::kSuccess);

  MachineRun committed(1, true, settings);
  committed.Go().Feed(FirstOutput{0});
  committed.EndWith(End(EndKind::kStreamError, 503));
  CHECK(committed.Words() == "verdict finish");
}

TEST_CASE("R15 a half-open probe is one try") {
  MachineRun run(1, false, RetryFirst());
  run.probe = true;
  run.Go();
  CHECK(Exhaust(run, Status(503)).empty());
}

TEST_CASE("R16 a later try that cannot be built leaves the status of the one before") {
  MachineRun run(1, false, RetryFirst());
  run.Go().EndWith(Status(503));
  run.Sleep();
  run.Feed(Unsendable{0});
  CHECK(run.Words() == "verdict finish");
  CHECK(run.verdict().report.verdict == Verdict::kFailure);
  CHECK(run.verdict().report.status == 503);
  CHECK(run.Terminal().status == 503);

  MachineRun first(1, false, RetryFirst());
  first.Go().Feed(Unsendable{0});
  CHECK(first.verdict().report.verdict == Verdict::kAbandoned);
  CHECK(first.finish().contacted == 0);
}

TEST_CASE("R17 retry_after ignore: a Retry-After changes nothing") {
  EngineSettings settings = RetryFirst();
  settings.retry.jitter_factor = 0;
  AttemptEnd end = Status(503);
  end.retry_after = seconds(25);
  MachineRun run(1, false, settings);
  run.Go();
  CHECK(Exhaust(run, end) == std::vector<Duration>{seconds(1), seconds(2), seconds(4)});
}

TEST_CASE("decisions 10: retry_after floor waits max(backoff, Retry-After), beyond it moves on") {
  EngineSettings settings = RetryFirst();
  settings.retry.jitter_factor = 0;
  settings.retry.retry_after = RetrySettings::RetryAfter::kFloor;
  AttemptEnd end = Status(503);
  end.retry_after = seconds(3);
  MachineRun run(1, false, settings);
  run.Go();
  CHECK(Exhaust(run, end) == std::vector<Duration>{seconds(3), seconds(3), seconds(4)});

  end.retry_after = seconds(30);
  MachineRun edge(1, false, settings);
  edge.Go();
  CHECK(Exhaust(edge, end).front() == Duration(seconds(30)));

  end.retry_after = seconds(31);
  MachineRun beyond(2, false, settings);
  beyond.Go();
  CHECK(Exhaust(beyond, end).empty());
  CHECK(beyond.Get<StartAttempt>()->candidate == 1);
}

TEST_CASE("R23 R26 a hidden status is repeated like a real one") {
  MachineRun run(1, false, RetryFirst());
  run.Go();
  CHECK(Exhaust(run, End(EndKind::kHiddenError, 503)).size() == 3);
  MachineRun other(1, false, RetryFirst());
  other.Go();
  CHECK(Exhaust(other, End(EndKind::kHiddenError, 500)).empty());
}

TEST_CASE("facts F3: an exhausted 429 ends the tries at once, busy and unknown ones do not") {
  MachineRun spent(1, false, RetryFirst());
  spent.Go();
  CHECK(Exhaust(spent, Exhausted(seconds(90))).empty());
  CHECK(spent.verdict().report.verdict == Verdict::kOpenNow);

  MachineRun busy(1, false, RetryFirst());
  busy.Go();
  CHECK(Exhaust(busy, Saturated(seconds(90))).size() == 3);
  MachineRun unknown(1, false, RetryFirst());
  unknown.Go();
  CHECK(Exhaust(unknown, Refusal(RefusalClass::kUnknown)).size() == 3);

  // A spent account met on a later try ends them there.
  MachineRun later(1, false, RetryFirst());
  later.Go().EndWith(Saturated(seconds(1)));
  later.Sleep();
  later.EndWith(Exhausted(std::chrono::hours(1)));
  CHECK(later.Count<ReportVerdict>() == 1);
  CHECK(later.verdict().report.verdict == Verdict::kOpenNow);
}

TEST_CASE("R47 one exhausted sequence is one failure, one that ends well a success") {
  MachineRun bad(1, false, RetryFirst());
  bad.Go();
  Exhaust(bad, Status(524));
  CHECK(bad.Count<StartAttempt>() == 4);
  CHECK(bad.Count<ReportVerdict>() == 1);
  CHECK(bad.verdict().report.verdict == Verdict::kFailure);

  MachineRun good(1, false, RetryFirst());
  good.Go().EndWith(Status(524));
  good.Sleep();
  good.EndWith(Status(524));
  good.Sleep();
  good.EndWith(End(EndKind::kAnswer));
  CHECK(good.Count<ReportVerdict>() == 1);
  CHECK(good.verdict().report.verdict == Verdict::kSuccess);
}

TEST_CASE("R3 every candidate has the whole budget, also by its own options") {
  EngineSettings thrifty = RetryFirst();
  thrifty.retry.max_retries = 1;
  MachineRun run(3, false, RetryFirst());
  run.plan.candidates[1].settings = &thrifty;
  run.Go();
  CHECK(Exhaust(run, Status(503)).size() == 3);
  CHECK(Exhaust(run, Status(503)).size() == 1);
  CHECK(Exhaust(run, Status(503)).size() == 3);
  CHECK(run.Count<StartAttempt>() == 4 + 2 + 4);
  CHECK(run.finish().contacted == 3);
}

TEST_CASE("R6 on_transport any repeats every failure of the connection, none repeats none") {
  RetrySettings any = RetryFirst().retry;
  RetrySettings none = any;
  none.on_transport = RetrySettings::OnTransport::kNone;
  for (const E error : {E::kResolve, E::kConnect, E::kTls, E::kInterrupted, E::kOther}) {
    CHECK(Repeatable(Transport(error, P::kSent), false, any));
    CHECK_FALSE(Repeatable(Transport(error, P::kNotSent), false, none));
  }
  for (const E error :
       {E::kRefusedAddress, E::kConnectTimeout, E::kProtocol, E::kLocal, E::kTooLarge, E::kNone}) {
    CHECK_FALSE(Repeatable(Transport(error, P::kNotSent), false, any));
  }
}

}  // namespace hotel::decide::test
