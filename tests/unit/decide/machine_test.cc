// Order, pauses and admission in the life of a request.
#include "tests/support/catch.h"
#include "tests/unit/decide/machine_run.h"

namespace hotel::decide::test {

TEST_CASE("Begin asks for candidate 0 and Admitted starts it at once") {
  MachineRun run(2);
  run.admit = false;
  run.Go();
  CHECK(run.Words() == "ask");
  CHECK(run.Get<AskAdmission>()->attempt == 0);
  CHECK(run.Get<AskAdmission>()->candidate == 0);
  run.Feed(Admitted{0});
  CHECK(run.Words() == "start");
  CHECK(run.Get<StartAttempt>()->candidate == 0);
  CHECK(run.Get<StartAttempt>()->connect_timeout == Duration(seconds(10)));
}

TEST_CASE("F027 no candidates, no open circuit: 502") {
  MachineRun run(0);
  run.Go();
  CHECK(run.Words() == "finish");
  CHECK(run.finish().reason == Reason::kNoProvider);
  CHECK(run.finish().attempt == -1);
  CHECK(run.Terminal().status == 502);
  CHECK_FALSE(run.Terminal().retry_after_seconds.has_value());
}

TEST_CASE("F027 no candidates but skipped circuits: 429 with the earliest retry") {
  MachineRun run(0);
  run.plan.skipped_open = 2;
  run.plan.earliest_retry = run.now + milliseconds(2100);
  run.Go();
  CHECK(run.finish().reason == Reason::kAllCircuitsOpen);
  CHECK(run.finish().kind == ErrorKind::kProviderSaturated);
  CHECK(run.Terminal().retry_after_seconds == 3);
}

TEST_CASE("exhaustion status off: skipped circuits answer 502") {
  EngineSettings settings = FailoverFirst();
  settings.failover.exhaustion_status_429 = false;
  MachineRun run(0, false, settings);
  run.plan.skipped_open = 1;
  run.plan.earliest_retry = run.now + seconds(3);
  run.Go();
  CHECK(run.finish().reason == Reason::kNoProvider);
  CHECK(run.Terminal().status == 502);
}

TEST_CASE("a refused candidate is passed over without a pause and keeps no index") {
  MachineRun run(2);
  run.admit = false;
  run.Go();
  run.Feed(Refused{0, run.now + seconds(5)});
  CHECK(run.Words() == "ask");
  CHECK(run.Get<AskAdmission>()->attempt == 0);
  CHECK(run.Get<AskAdmission>()->candidate == 1);
}

TEST_CASE("F119 all refused, nobody contacted: 429 with the earliest of all retries") {
  MachineRun run(2);
  run.admit = false;
  run.plan.skipped_open = 1;
  run.plan.earliest_retry = run.now + seconds(8);
  run.Go();
  run.Feed(Refused{0, run.now + seconds(9)});
  run.Feed(Refused{0, run.now + seconds(3)});
  CHECK(run.Words() == "finish");
  CHECK(run.finish().reason == Reason::kAllCircuitsOpen);
  CHECK(run.finish().retry_at == run.now + seconds(3));
  CHECK(run.finish().contacted == 0);
}

TEST_CASE("a refusal behind a contact leaves the contact's failure as the answer") {
  MachineRun run(2);
  run.Go().EndWith(End(EndKind::kHttpError, 503));
  run.admit = false;
  run.Sleep();
  run.Feed(Refused{1, run.now + seconds(5)});
  CHECK(run.finish().reason == Reason::kUpstreamStatus);
  CHECK(run.finish().status == 503);
  CHECK(run.finish().attempt == 0);
}

TEST_CASE("backoff doubles from 100 ms to 2 s with additive jitter, by contacted candidates") {
  MachineRun run(9, true);
  run.Go();
  const Duration floors[] = {milliseconds(100),  milliseconds(200),  milliseconds(400),
                             milliseconds(800),  milliseconds(1600), milliseconds(2000),
                             milliseconds(2000), milliseconds(2000)};
  for (const Duration floor : floors) {
    run.EndWith(End(EndKind::kHttpError, 500));
    CHECK(run.Words() == "verdict");
    const Duration pause = *run.machine->next_wake() - run.now;
    CHECK(pause >= floor);
    CHECK(pause < floor + milliseconds(100));
    run.now += pause - Duration(1);
    run.Feed(Wake{});
    CHECK(run.Words().empty());
    run.Sleep();
    CHECK(run.Words() == "ask start");
  }
}

TEST_CASE("a refused candidate does not advance the backoff") {
  MachineRun run(3);
  run.admit = false;
  run.Go();
  run.Feed(Refused{0, run.now + seconds(5)});
  run.Feed(Admitted{0});
  run.EndWith(End(EndKind::kHttpError, 500));
  const Duration pause = *run.machine->next_wake() - run.now;
  CHECK(pause >= milliseconds(100));
  CHECK(pause < milliseconds(200));
}

TEST_CASE("a refusal behind a pause costs no second pause") {
  MachineRun run(3);
  run.Go().EndWith(End(EndKind::kHttpError, 500));
  run.admit = false;
  run.Sleep();
  run.Feed(Refused{1, run.now + seconds(5)});
  CHECK(run.Words() == "ask");
  CHECK(run.Get<AskAdmission>()->candidate == 2);
}

TEST_CASE("backoff 0: the next candidate at once") {
  EngineSettings settings = FailoverFirst();
  settings.failover.backoff_initial = Duration::zero();
  settings.failover.backoff_max = Duration::zero();
  MachineRun run(2, false, settings);
  run.Go().EndWith(End(EndKind::kHttpError, 500));
  CHECK(run.Words() == "verdict ask start");
}

TEST_CASE("F017 three candidates, all 500: one call each") {
  MachineRun run(3);
  run.Go().EndWith(End(EndKind::kHttpError, 500));
  run.Sleep();
  run.EndWith(End(EndKind::kHttpError, 500));
  run.Sleep();
  run.EndWith(End(EndKind::kHttpError, 500));
  CHECK(run.machine->finished());
  CHECK(run.finish().contacted == 3);
}

TEST_CASE("an unsendable candidate is skipped: abandoned, no pause, not contacted") {
  MachineRun run(2);
  run.Go();
  run.Feed(Unsendable{0});
  CHECK(run.Words() == "verdict ask start");
  CHECK(run.Get<ReportVerdict>()->report.verdict == Verdict::kAbandoned);
  CHECK(run.Get<StartAttempt>()->attempt == 1);
  run.EndWith(End(EndKind::kAnswer));
  CHECK(run.finish().contacted == 1);
  CHECK(run.finish().attempt == 1);
}

TEST_CASE("nobody could be sent the request: its own answer") {
  MachineRun run(2);
  run.Go();
  run.Feed(Unsendable{0});
  run.Feed(Unsendable{1});
  CHECK(run.finish().reason == Reason::kUnsendable);
  CHECK(run.finish().contacted == 0);
  CHECK(run.finish().attempt == -1);
  CHECK(run.Terminal().status == 500);
  CHECK(run.Terminal().code == "provider_unusable");
}

TEST_CASE("an unsendable candidate behind a contact leaves the contact's failure as the answer") {
  MachineRun run(2);
  run.Go().EndWith(End(EndKind::kHttpError, 503));
  run.Sleep();
  run.Feed(Unsendable{1});
  CHECK(run.finish().status == 503);
  CHECK(run.finish().attempt == 0);
}

TEST_CASE("open circuits beside unsendable candidates: waiting can help, so 429") {
  MachineRun run(1);
  run.plan.skipped_open = 1;
  run.plan.earliest_retry = run.now + seconds(4);
  run.Go();
  run.Feed(Unsendable{0});
  CHECK(run.finish().reason == Reason::kAllCircuitsOpen);
}

TEST_CASE("client gone while an attempt runs: cancel, abandoned, finish") {
  for (const bool committed : {false, true}) {
    MachineRun run(2, true);
    run.Go();
    if (committed) run.Feed(FirstOutput{0});
    run.Feed(ClientGone{});
    CHECK(run.Words() == "cancel verdict finish");
    CHECK(run.Get<ReportVerdict>()->report.verdict == Verdict::kAbandoned);
    CHECK(run.Get<ReportVerdict>()->kind == ErrorKind::kClientDisconnect);
    CHECK(run.finish().how == How::kClientGone);
    CHECK(run.Terminal().status == 499);
    CHECK(run.Terminal().message == "client disconnected");
  }
}

TEST_CASE("client gone during a pause or an open question: only the finish") {
  MachineRun waiting(2);
  waiting.Go().EndWith(End(EndKind::kHttpError, 500));
  waiting.Feed(ClientGone{});
  CHECK(waiting.Words() == "finish");
  CHECK(waiting.finish().how == How::kClientGone);

  MachineRun asking(1);
  asking.admit = false;
  asking.Go();
  asking.Feed(ClientGone{});
  CHECK(asking.Words() == "finish");
  asking.Feed(Admitted{0});
  CHECK(asking.Words().empty());
}

TEST_CASE("shutdown before the commit: abandoned, 503") {
  MachineRun run(2);
  run.Go();
  run.Feed(Shutdown{});
  CHECK(run.Words() == "cancel verdict finish");
  CHECK(run.Get<ReportVerdict>()->report.verdict == Verdict::kAbandoned);
  CHECK(run.finish().how == How::kGatewayError);
  CHECK(run.Terminal().status == 503);
  CHECK(run.Terminal().kind == ErrorKind::kInternal);
}

TEST_CASE("r27 shutdown behind the commit: charged to nobody, the stream is told") {
  MachineRun run(2, true);
  run.Go();
  run.Feed(FirstOutput{0});
  run.Feed(Shutdown{});
  CHECK(run.Words() == "cancel verdict finish");
  CHECK(run.Get<ReportVerdict>()->report.verdict == Verdict::kAbandoned);
  CHECK(run.finish().how == How::kServedBroken);
  CHECK(run.finish().reason == Reason::kShutdown);
  CHECK(run.Terminal().message == "gateway restarting");
}

TEST_CASE("nothing is said behind Finish, and events of other attempts change nothing") {
  MachineRun run(2);
  run.Go().EndWith(End(EndKind::kHttpError, 500));
  run.Sleep();
  run.Feed(Ended{0, End(EndKind::kAnswer)});
  CHECK(run.Words().empty());
  run.Feed(Unsendable{0});
  CHECK(run.Words().empty());
  run.EndWith(End(EndKind::kAnswer));
  CHECK(run.machine->finished());
  CHECK_FALSE(run.machine->next_wake().has_value());
  for (const Event& late : {Event{Begin{}}, Event{ClientGone{}}, Event{Shutdown{}}, Event{Wake{}},
                            Event{Ended{1, End(EndKind::kAnswer)}}}) {
    run.Feed(late);
    CHECK(run.Words().empty());
  }
}

}  // namespace hotel::decide::test
