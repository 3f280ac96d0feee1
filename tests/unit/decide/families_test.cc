// Requests that are no chat: answers without a stream that commit at their first byte, the
// passthrough, what may not be sent twice (R14, R29; decisions 10).
#include "tests/support/catch.h"
#include "tests/unit/decide/machine_run.h"

namespace hotel::decide::test {
namespace {

EngineSettings Repeating() {
  EngineSettings s = FailoverFirst();
  s.retry.max_retries = 2;
  s.retry.retry_on_statuses.AddCode(503);
  return s;
}

const AttemptEnd kUnsent = Transport(TransportError::kConnect, TransportPhase::kNotSent);
const AttemptEnd kReset = Transport(TransportError::kInterrupted, TransportPhase::kSent);

}  // namespace

TEST_CASE("what is no stream of text commits at its first byte and goes nowhere else") {
  MachineRun run(2);
  run.Go();
  run.Feed(HeadSeen{0, 200});
  run.Feed(FirstOutput{0});
  CHECK(run.Words() == "commit");
  run.EndWith(End(EndKind::kStreamCut));
  CHECK(run.Words() == "verdict finish");
  CHECK(run.verdict().report.verdict == Verdict::kFailure);
  CHECK(run.finish().how == How::kServedBroken);
}

TEST_CASE("seed 000 long-running requests have the time of streams, and no probe") {
  MachineRun run(1, false);
  run.plan.long_running = true;
  run.Go();
  run.Feed(HeadSeen{0, 200});
  CHECK(run.machine->next_wake() == run.now + seconds(600));
  run.Feed(FirstOutput{0});
  run.settings.timeouts.stream_stall_timeout = seconds(30);
  CHECK(run.machine->next_wake() == run.now + seconds(30));
}

TEST_CASE("decisions 10 a stream that does not race asks one after another") {
  EngineSettings s = FailoverFirst();
  s.hedging = {true, seconds(4)};
  MachineRun run(2, true, s);
  run.plan.races = false;
  run.Go();
  CHECK_FALSE(run.machine->racing());
  CHECK(run.machine->next_wake() == run.now + seconds(30));  // the head, not the next runner
}

TEST_CASE("R14 what may not be sent twice is repeated only when nothing of it had left") {
  for (const bool safe : {true, false}) {
    for (const AttemptEnd& end : {kReset, End(EndKind::kHttpError, 503)}) {
      MachineRun run(1, false, Repeating());
      run.plan.replay_safe = safe;
      run.Go();
      run.Feed(HeadSeen{0, 503});
      CHECK(run.machine->MayRepeat(0, 503) == safe);
      run.EndWith(end);
      CHECK((run.Words() == "verdict finish") == !safe);
    }
    MachineRun run(1, false, Repeating());
    run.plan.replay_safe = safe;
    run.Go().EndWith(kUnsent);
    CHECK(run.Words().empty());
  }
}

TEST_CASE("R14 the last candidate's repeat is a repeat too") {
  EngineSettings s = FailoverFirst();
  s.failover.last_candidate_statuses.AddCode(503);
  MachineRun run(1, false, s);
  run.plan.replay_safe = false;
  run.Go().EndWith(End(EndKind::kHttpError, 503));
  CHECK(run.Words() == "verdict finish");
}

TEST_CASE("whether a status may be repeated is known before its words are") {
  MachineRun run(1, false, Repeating());
  run.Go();
  CHECK(run.machine->MayRepeat(0, 503));
  CHECK_FALSE(run.machine->MayRepeat(0, 500));
  CHECK_FALSE(run.machine->MayRepeat(1, 503));
  for (int i = 0; i < 2; ++i) {
    run.EndWith(End(EndKind::kHttpError, 503));
    run.Sleep();
  }
  CHECK_FALSE(run.machine->MayRepeat(0, 503));  // the tries are used up
  MachineRun probe(1, false, Repeating());
  probe.probe = true;
  probe.Go();
  CHECK_FALSE(probe.machine->MayRepeat(0, 503));  // R15
}

TEST_CASE("R29 what was passed on is served whatever it is, and judged by its status") {
  struct Row {
    int status;
    Verdict verdict;
    ErrorKind kind;
  };
  const Row rows[] = {{200, Verdict::kSuccess, ErrorKind::kNone},
                      {302, Verdict::kAlive, ErrorKind::kNone},
                      {304, Verdict::kAlive, ErrorKind::kNone},
                      {400, Verdict::kAlive, ErrorKind::kProviderBadRequest},
                      {401, Verdict::kFailure, ErrorKind::kProviderNotEntitled},
                      {402, Verdict::kFailure, ErrorKind::kProviderNotEntitled},
                      {404, Verdict::kNeutral, ErrorKind::kProviderModelGone},
                      {503, Verdict::kFailure, ErrorKind::kProviderError}};
  for (const bool committed : {false, true}) {
    for (const Row& row : rows) {
      INFO(row.status << (committed ? " committed" : ""));
      EngineSettings s = Repeating();
      s.circuit_breaker.open_on_exhaustion = false;
      MachineRun run(1, false, s);
      run.Go();
      run.Feed(HeadSeen{0, row.status});
      if (committed) run.Feed(FirstOutput{0});
      run.EndWith(End(EndKind::kPassedOn, row.status));
      CHECK(run.verdict().report.verdict == row.verdict);
      CHECK(run.verdict().kind == row.kind);
      CHECK(run.verdict().clean == (row.status == 200));
      CHECK(run.finish().how == How::kServed);
      CHECK(run.finish().kind == row.kind);
      CHECK(run.finish().status == row.status);
    }
  }
}

TEST_CASE("R29 a refusal that is passed on settles nothing before its words are there") {
  EngineSettings s = FailoverFirst();
  s.circuit_breaker.stream_verdict = CircuitBreakerSettings::StreamVerdict::kStart;
  for (const int status : {200, 503}) {
    MachineRun run(1, false, s);
    run.Go();
    run.Feed(HeadSeen{0, status});
    run.Feed(FirstOutput{0});
    CHECK(run.Words() == (status == 200 ? "commit settle" : "commit"));
    run.EndWith(End(EndKind::kPassedOn, status));
    CHECK(run.verdict().settled == (status == 200));
  }
}

TEST_CASE("facts a 204 where it is an answer: served, and the circuit is not touched") {
  MachineRun run(2);
  run.Go();
  run.Feed(HeadSeen{0, 204});
  run.EndWith(End(EndKind::kNoContent, 204));
  CHECK(run.Words() == "verdict commit finish");
  CHECK(run.verdict().report.verdict == Verdict::kNeutral);
  CHECK(run.verdict().kind == ErrorKind::kNone);
  CHECK(run.finish().how == How::kServed);
}

}  // namespace hotel::decide::test
