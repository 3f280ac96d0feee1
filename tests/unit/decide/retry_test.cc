// Transport failures that are repeated at the same candidate (facts a; decisions 2, 4 and 10).
#include "libhotel/decide/retry.h"

#include <limits>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/decide/machine_run.h"

namespace hotel::decide::test {
namespace {

using E = TransportError;
using P = TransportPhase;

EngineSettings WithRetries() {
  EngineSettings s = FailoverFirst();
  s.retry.max_retries = 2;
  s.retry.initial_backoff = milliseconds(100);
  s.retry.max_backoff = milliseconds(500);
  s.retry.backoff_factor = 2;
  s.retry.jitter_factor = 0.1;
  return s;
}

AttemptEnd Reset() { return Transport(E::kInterrupted, P::kSent); }

}  // namespace

TEST_CASE("F133 two more tries, one verdict by the last, then the sibling") {
  MachineRun run(2, false, WithRetries());
  run.Go();
  for (int n = 0; n < 2; ++n) {
    run.EndWith(Reset());
    CHECK(run.Words().empty());
    run.Sleep();
    CHECK(run.Words() == "start");
    CHECK(run.Get<StartAttempt>()->attempt == 0);
    CHECK(run.Get<StartAttempt>()->candidate == 0);
  }
  run.EndWith(Reset());
  CHECK(run.Words() == "verdict");
  CHECK(run.Get<ReportVerdict>()->report.verdict == Verdict::kFailure);
  run.Sleep();
  CHECK(run.Get<StartAttempt>()->attempt == 1);
  run.EndWith(End(EndKind::kAnswer));
  CHECK(run.finish().contacted == 2);
}

TEST_CASE("decisions 4: the last try decides") {
  MachineRun run(2, false, WithRetries());
  run.Go().EndWith(Reset());
  run.Sleep();
  run.Feed(HeadSeen{0, 200});
  run.EndWith(End(EndKind::kAnswer));
  CHECK(run.Words() == "verdict commit finish");
  CHECK(run.Get<ReportVerdict>()->report.verdict == Verdict::kSuccess);
  CHECK(run.finish().contacted == 1);

  MachineRun refused(2, false, WithRetries());
  refused.Go().EndWith(Reset());
  refused.Sleep();
  refused.EndWith(End(EndKind::kHttpError, 402));
  CHECK(refused.Get<ReportVerdict>()->report.verdict == Verdict::kOpenNow);
}

TEST_CASE("F017 the bound: candidates x (1 + max_retries) exchanges") {
  for (const int retries : {0, 1, 2, 10}) {
    EngineSettings settings = WithRetries();
    settings.retry.max_retries = retries;
    MachineRun run(3, false, settings);
    run.Go();
    while (!run.machine->finished()) {
      run.EndWith(Reset());
      if (!run.machine->finished()) run.Sleep();
    }
    int starts = 0;
    for (const Action& action : run.all) starts += std::holds_alternative<StartAttempt>(action);
    CHECK(starts == 3 * (1 + retries));
    CHECK(run.finish().contacted == 3);
  }
}

TEST_CASE("facts a: what is safe to repeat") {
  const RetrySettings on = WithRetries().retry;
  for (const bool streaming : {false, true}) {
    for (const E error : {E::kResolve, E::kConnect, E::kTls}) {
      CHECK(Repeatable(Transport(error, P::kNotSent), streaming, on));
      CHECK_FALSE(Repeatable(Transport(error, P::kSent), streaming, on));
    }
    for (const P phase : {P::kNotSent, P::kSent, P::kHead, P::kBody}) {
      CHECK(Repeatable(Transport(E::kInterrupted, phase), streaming, on));
      for (const E error : {E::kNone, E::kRefusedAddress, E::kConnectTimeout, E::kLocal,
                            E::kProtocol, E::kTooLarge, E::kOther}) {
        CHECK_FALSE(Repeatable(Transport(error, phase), streaming, on));
      }
    }
    for (const EndKind kind :
         {EndKind::kAnswer, EndKind::kHttpError, EndKind::kHiddenError, EndKind::kBadAnswer,
          EndKind::kEmptyAnswer, EndKind::kEmptyStream, EndKind::kTooLarge, EndKind::kStreamCut}) {
      AttemptEnd end = End(kind, 503);
      end.transport = E::kInterrupted;
      CHECK_FALSE(Repeatable(end, streaming, on));
    }
  }
}

TEST_CASE("decisions 10: a cut body repeats a whole answer, never a stream") {
  const RetrySettings on = WithRetries().retry;
  const AttemptEnd cut = Transport(E::kInterrupted, P::kBody, true);
  CHECK(Repeatable(cut, false, on));
  CHECK_FALSE(Repeatable(cut, true, on));
}

TEST_CASE("on_transport none repeats nothing, streaming never no stream") {
  RetrySettings off = WithRetries().retry;
  off.on_transport = RetrySettings::OnTransport::kNone;
  CHECK_FALSE(Repeatable(Reset(), false, off));
  RetrySettings never = WithRetries().retry;
  never.streaming = RetrySettings::Streaming::kNever;
  CHECK_FALSE(Repeatable(Reset(), true, never));
  CHECK(Repeatable(Reset(), false, never));
}

TEST_CASE("decisions 4: a half-open probe is a single try") {
  MachineRun run(2, false, WithRetries());
  run.probe = true;
  run.Go().EndWith(Reset());
  CHECK(run.Words() == "verdict");
}

TEST_CASE("R5 R5a waits grow by the factor, jitter both ways, never above max_backoff") {
  RetrySettings retry = WithRetries().retry;
  std::uint64_t random = 1;
  const struct {
    int n;
    Duration low, high;
  } rows[] = {{1, milliseconds(90), milliseconds(110)},
              {2, milliseconds(180), milliseconds(220)},
              {3, milliseconds(360), milliseconds(440)},
              {4, milliseconds(450), milliseconds(500)},
              {std::numeric_limits<int>::max(), milliseconds(450), milliseconds(500)}};
  for (const auto& row : rows) {
    Duration least = Duration::max();
    Duration most{};
    for (int i = 0; i < 2000; ++i) {
      const Duration wait = RetryBackoff(retry, row.n, &random);
      least = std::min(least, wait);
      most = std::max(most, wait);
    }
    INFO(row.n);
    CHECK(least >= row.low);
    CHECK(most <= row.high);
    CHECK(most - least > (row.high - row.low) / 2);
  }
  retry.jitter_factor = 0;
  retry.backoff_factor = 1.5;
  CHECK(RetryBackoff(retry, 3, &random) == milliseconds(225));
  retry.initial_backoff = seconds(3);
  CHECK(RetryBackoff(retry, 1, &random) == milliseconds(500));
  retry.initial_backoff = Duration::zero();
  CHECK(RetryBackoff(retry, 5, &random) == Duration::zero());
  retry.initial_backoff = retry.max_backoff = Duration::max();
  CHECK(RetryBackoff(retry, 9, &random) > std::chrono::hours(24 * 365));
}

TEST_CASE("without a wait the next try comes with the next wake, not from inside the end") {
  EngineSettings settings = WithRetries();
  settings.retry.initial_backoff = Duration::zero();
  MachineRun run(1, false, settings);
  run.Go().EndWith(Reset());
  CHECK(run.Words().empty());
  CHECK(run.machine->next_wake() == run.now);
  run.Feed(Wake{});
  CHECK(run.Words() == "start");
}

TEST_CASE("tries stay inside the attempt's timeout; a wait that would not is not begun") {
  EngineSettings settings = WithRetries();
  settings.timeouts.request_timeout = seconds(1);
  MachineRun run(2, false, settings);
  run.Go();
  run.now += milliseconds(500);
  run.EndWith(Reset());
  run.Sleep();
  CHECK(run.Words() == "start");
  CHECK(run.Get<StartAttempt>()->connect_timeout == run.plan.arrival + seconds(1) - run.now);
  run.Sleep();  // the second try hangs
  CHECK(run.now == run.plan.arrival + seconds(1));
  CHECK(run.Words() == "cancel verdict");
  CHECK(run.machine->last_timeout() == TimeoutKind::kAttempt);

  MachineRun late(2, false, settings);
  late.Go();
  late.now += milliseconds(950);
  late.EndWith(Reset());
  CHECK(late.Words() == "verdict");
}

TEST_CASE("the overall deadline bounds the tries as well") {
  EngineSettings settings = WithRetries();
  settings.timeouts.deadline_factor = 1;
  settings.timeouts.request_timeout = seconds(1);
  MachineRun run(1, false, settings);
  run.Go();
  run.now += milliseconds(950);
  run.EndWith(Reset());
  CHECK(run.Words() == "verdict finish");
}

TEST_CASE("decisions 10: ttft_timeout and the wait for the head run anew with each try") {
  EngineSettings settings = WithRetries();
  settings.timeouts.ttft_timeout = seconds(5);
  settings.timeouts.upstream_header_timeout = seconds(3);
  MachineRun run(1, true, settings);
  run.Go();
  run.Feed(HeadSeen{0, 200});
  run.now += seconds(4);
  run.EndWith(Transport(E::kInterrupted, P::kBody));
  CHECK(*run.machine->next_wake() < run.now + seconds(1));
  run.Sleep();
  CHECK(run.Words() == "start");
  CHECK(*run.machine->next_wake() == run.now + seconds(3));
  run.Feed(HeadSeen{0, 200});
  CHECK(*run.machine->next_wake() == run.now + seconds(5));
}

TEST_CASE("events of a try that is over change nothing between the tries") {
  MachineRun run(1, true, WithRetries());
  run.Go().EndWith(Reset());
  const std::vector<Event> late = {HeadSeen{0, 200}, FirstOutput{0}, Ended{0, Reset()},
                                   Unsendable{0}};
  for (const Event& event : late) {
    run.Feed(event);
    CHECK(run.Words().empty());
  }
}

TEST_CASE("client gone or shutdown between the tries: stopped, abandoned") {
  MachineRun gone(1, false, WithRetries());
  gone.Go().EndWith(Reset());
  gone.Feed(ClientGone{});
  CHECK(gone.Words() == "cancel verdict finish");
  CHECK(gone.Get<ReportVerdict>()->report.verdict == Verdict::kAbandoned);

  MachineRun down(1, false, WithRetries());
  down.Go().EndWith(Reset());
  down.Feed(Shutdown{});
  CHECK(down.Words() == "cancel verdict finish");
  CHECK(down.Terminal().status == 503);
}

TEST_CASE("a repeat that cannot be built leaves the end of the try before") {
  MachineRun run(1, false, WithRetries());
  run.Go().EndWith(Reset());
  run.Sleep();
  run.Feed(Unsendable{0});
  CHECK(run.Words() == "verdict finish");
  CHECK(run.Get<ReportVerdict>()->report.verdict == Verdict::kFailure);
  CHECK(run.finish().reason == Reason::kAllFailed);
  CHECK(run.finish().contacted == 1);
}

TEST_CASE("F133 a reset behind the commit is never repeated") {
  MachineRun run(2, true, WithRetries());
  run.Go();
  run.Feed(FirstOutput{0});
  run.EndWith(Transport(E::kInterrupted, P::kBody, true));
  CHECK(run.Words() == "verdict finish");
  CHECK(run.finish().how == How::kServedBroken);
}

}  // namespace hotel::decide::test
