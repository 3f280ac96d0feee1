// Candidates at their in-flight window, and the wait in line for a slot (facts e, g; decisions 7).
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/decide/machine_run.h"

namespace hotel::decide::test {
namespace {

EngineSettings WithSlots() {
  EngineSettings s = FailoverFirst();
  s.failover.backoff_initial = {};
  s.rate_limit.saturation_max_wait = seconds(20);
  return s;
}

AttemptEnd Status(int status) { return End(EndKind::kHttpError, status); }

}  // namespace

TEST_CASE("facts e: a busy candidate is skipped at once, its sibling served") {
  MachineRun run(2, false, WithSlots());
  run.refuse[0] = Busy();
  run.Go();
  CHECK(run.Words() == "ask ask start");
  CHECK(run.Get<StartAttempt>()->candidate == 1);
  CHECK(run.Get<StartAttempt>()->attempt == 0);
  run.EndWith(End(EndKind::kAnswer));
  CHECK(run.finish().how == How::kServed);
}

TEST_CASE("facts e: a busy skip does not advance the pause between candidates") {
  EngineSettings settings = WithSlots();
  settings.failover.backoff_initial = milliseconds(100);
  MachineRun run(3, false, settings);
  run.refuse[0] = Busy();
  run.Go().EndWith(Status(500));
  CHECK(run.machine->next_wake().value() < run.now + milliseconds(200));
}

TEST_CASE("facts e: all busy: one line for all of them, in priority order") {
  MachineRun run(3, false, WithSlots());
  run.refuse[0] = run.refuse[1] = run.refuse[2] = Busy();
  run.Go();
  CHECK(run.Words() == "ask ask ask wait");
  CHECK(run.Get<WaitForSlot>()->candidates == std::vector<int>{0, 1, 2});
  CHECK(run.machine->next_wake() == run.now + seconds(20));

  run.refuse.clear();
  run.now += seconds(3);
  run.Feed(SlotFree{1});
  CHECK(run.Words() == "ask start");
  CHECK(run.Get<StartAttempt>()->candidate == 1);
  CHECK(run.Get<StartAttempt>()->attempt == 0);
  run.EndWith(End(EndKind::kAnswer));
  CHECK(run.finish().how == How::kServed);
  CHECK(run.finish().contacted == 1);
}

TEST_CASE("facts g: no slot in time: 429, retry shortly") {
  MachineRun run(2, false, WithSlots());
  run.refuse[0] = run.refuse[1] = Busy();
  run.Go().Sleep();
  CHECK(run.Words() == "finish");
  CHECK(run.now == run.plan.arrival + seconds(20));
  const TerminalAnswer answer = run.Terminal();
  CHECK(answer.status == 429);
  CHECK(answer.code == "provider_saturated");
  CHECK(answer.message == "all providers busy for model hotel/glm-4.6, retry shortly");
  CHECK(answer.retry_after_seconds == 2);
  CHECK(run.finish().attempt == -1);
}

TEST_CASE("decisions 10: Retry-After is the smallest wait that the busy ones stated") {
  MachineRun run(3, false, WithSlots());
  run.refuse[2] = Busy();
  run.Go().EndWith(Saturated(seconds(30)));
  run.EndWith(Saturated(seconds(12)));
  CHECK(run.Words() == "verdict ask wait");
  run.Sleep();
  CHECK(run.Terminal().status == 429);
  CHECK(run.Terminal().code == "provider_saturated");
  CHECK(run.Terminal().retry_after_seconds == 12);
}

TEST_CASE("facts e: some busy, the others failed: the line all the same, 429 when it is in vain") {
  MachineRun run(2, false, WithSlots());
  run.refuse[0] = Busy();
  run.Go().EndWith(Status(500));
  CHECK(run.Words() == "verdict wait");
  CHECK(run.Get<WaitForSlot>()->candidates == std::vector<int>{0});
  run.Sleep();
  CHECK(run.finish().reason == Reason::kAllBusy);
}

TEST_CASE("facts e: a real failure behind the wait ends the request") {
  MachineRun run(3, false, WithSlots());
  run.refuse[0] = run.refuse[1] = run.refuse[2] = Busy();
  run.Go();
  run.refuse.erase(0);
  run.Feed(SlotFree{0});
  run.EndWith(Status(500));
  CHECK(run.Words() == "verdict finish");
  CHECK(run.Terminal().status == 500);
}

TEST_CASE("the attempt with a slot is not asked once more, unless it drew a busy answer") {
  EngineSettings settings = WithSlots();
  settings.failover.last_candidate_statuses.AddCode(503);
  settings.failover.wait_saturated = true;
  MachineRun failed(1, false, settings);
  failed.refuse[0] = Busy();
  failed.Go();
  failed.refuse.clear();
  failed.Feed(SlotFree{0});
  failed.EndWith(Status(503));
  CHECK(failed.Words() == "verdict finish");
}

TEST_CASE("a slot that was one too many: the wait it stated, and the line once more, no further") {
  EngineSettings settings = WithSlots();
  settings.failover.wait_saturated = true;
  for (const bool free : {true, false}) {
    MachineRun run(1, false, settings);
    run.refuse[0] = Busy();
    run.Go();
    run.refuse.clear();
    run.Feed(SlotFree{0});
    run.EndWith(Saturated(seconds(1)));
    CHECK(run.Words() == "verdict");
    CHECK(run.machine->next_wake() == run.now + seconds(1));
    if (!free) run.refuse[0] = Busy();
    run.Sleep();
    if (!free) {
      CHECK(run.Words() == "ask wait");
      CHECK(run.machine->next_wake() == run.plan.arrival + seconds(20));
      run.refuse.clear();
      run.Feed(SlotFree{0});
    }
    run.EndWith(Saturated(seconds(1)));
    CHECK(run.Words() == "verdict finish");
    CHECK(run.finish().kind == ErrorKind::kProviderSaturated);
  }
}

TEST_CASE("facts e: who loses the slot keeps waiting, for what is left of the time") {
  MachineRun run(2, false, WithSlots());
  run.refuse[0] = run.refuse[1] = Busy();
  run.Go();
  run.now += seconds(15);
  run.Feed(SlotFree{0});
  CHECK(run.Words() == "ask wait");
  CHECK(run.machine->next_wake() == run.plan.arrival + seconds(20));
}

TEST_CASE("a circuit that opened in the line leaves it") {
  MachineRun run(2, false, WithSlots());
  run.refuse[0] = run.refuse[1] = Busy();
  run.Go();
  run.refuse[0] = Open(run.now + seconds(30));
  run.Feed(SlotFree{0});
  CHECK(run.Words() == "ask wait");
  CHECK(run.Get<WaitForSlot>()->candidates == std::vector<int>{1});
  run.refuse[1] = Open(run.now + seconds(40));
  run.Feed(SlotFree{1});
  CHECK(run.Words() == "ask finish");
  CHECK(run.finish().reason == Reason::kAllCircuitsOpen);
  CHECK(run.Terminal().retry_after_seconds == 30);
}

TEST_CASE("the overall deadline bounds the line; at it the candidates are still merely busy") {
  EngineSettings settings = WithSlots();
  settings.timeouts.request_timeout = seconds(4);  // 8 s in all
  MachineRun run(1, false, settings);
  run.refuse[0] = Busy();
  run.Go();
  CHECK(run.machine->next_wake() == run.plan.arrival + seconds(8));
  run.Sleep();
  CHECK(run.finish().reason == Reason::kAllBusy);

  MachineRun late(1, false, settings);
  late.refuse[0] = Busy();
  late.Go();
  late.now += seconds(9);  // the slot comes before the wake
  late.Feed(SlotFree{0});
  CHECK(late.Words() == "finish");
  CHECK(late.finish().reason == Reason::kAllBusy);
}

TEST_CASE("a slot of nobody who was waited for, or without a wait, changes nothing") {
  MachineRun run(2, false, WithSlots());
  run.refuse[0] = Busy();
  run.Go();
  run.Feed(SlotFree{0});  // candidate 1 runs
  CHECK(run.Words().empty());
  run.EndWith(Status(500));
  CHECK(run.Words() == "verdict wait");
  for (const int candidate : {-1, 1, 7}) {
    run.Feed(SlotFree{candidate});
    CHECK(run.Words().empty());
  }
}

TEST_CASE("client gone and shutdown end the line") {
  MachineRun gone(1, false, WithSlots());
  gone.refuse[0] = Busy();
  gone.Go().Feed(ClientGone{});
  CHECK(gone.Words() == "finish");
  CHECK(gone.finish().how == How::kClientGone);
  MachineRun down(1, false, WithSlots());
  down.refuse[0] = Busy();
  down.Go().Feed(Shutdown{});
  CHECK(down.Terminal().status == 503);
}

TEST_CASE("exhaustion last_error: no slot in time is 502, or the failure before it") {
  EngineSettings settings = WithSlots();
  settings.failover.exhaustion_status_429 = false;
  MachineRun none(1, false, settings);
  none.refuse[0] = Busy();
  none.Go().Sleep();
  CHECK(none.Terminal().status == 502);
  MachineRun failed(2, false, settings);
  failed.refuse[0] = Busy();
  failed.Go().EndWith(Status(503));
  failed.Sleep();
  CHECK(failed.Terminal().status == 503);
}

TEST_CASE("a repeat and a line at the same time: whoever comes first") {
  EngineSettings settings = WithSlots();
  settings.failover.last_candidate_statuses.AddCode(503);
  settings.failover.wait_saturated = true;
  const auto begin = [&](MachineRun& run, const AttemptEnd& end) {
    run.refuse[0] = Busy();
    run.Go().EndWith(end);
    REQUIRE(run.Words() == "verdict wait");
  };
  MachineRun repeat(2, false, settings);
  begin(repeat, Status(503));
  repeat.Sleep();
  CHECK(repeat.Words() == "ask start");
  CHECK(repeat.Get<StartAttempt>()->candidate == 1);
  CHECK(repeat.now < repeat.plan.arrival + seconds(1));
  repeat.Feed(SlotFree{0});  // too late
  CHECK(repeat.Words().empty());
  repeat.EndWith(Status(503));
  CHECK(repeat.Words() == "verdict wait");  // what is left of the time
  CHECK(repeat.machine->next_wake() == repeat.plan.arrival + seconds(20));

  MachineRun slot(2, false, settings);
  begin(slot, Saturated(seconds(8)));
  slot.refuse.clear();
  slot.now += seconds(1);
  slot.Feed(SlotFree{0});
  CHECK(slot.Get<StartAttempt>()->candidate == 0);
  slot.EndWith(Status(500));
  CHECK(slot.Words() == "verdict finish");  // and no repeat behind it

  // The wait that was stated is as long as the line is held: the repeat comes, then the end.
  MachineRun both(2, false, settings);
  begin(both, Saturated(seconds(20)));
  both.Sleep();
  CHECK(both.now == both.plan.arrival + seconds(20));
  CHECK(both.Words() == "ask start");
  both.EndWith(Saturated(seconds(20)));
  CHECK(both.Words() == "verdict finish");
  CHECK(both.finish().reason == Reason::kAllBusy);

  // A line that is shorter than the pause of the repeat lasts until the repeat is due.
  EngineSettings brief = settings;
  brief.rate_limit.saturation_max_wait = milliseconds(100);
  MachineRun shorter(2, false, brief);
  begin(shorter, Status(503));
  shorter.Sleep();
  CHECK(shorter.Words() == "ask start");
  shorter.EndWith(End(EndKind::kAnswer));
  CHECK(shorter.finish().how == How::kServed);
}

TEST_CASE("a repeat that falls due while a question is open waits for its answer") {
  EngineSettings settings = WithSlots();
  settings.failover.wait_saturated = true;
  MachineRun run(2, false, settings);
  run.refuse[0] = Busy();
  run.Go().EndWith(Saturated(seconds(8)));
  run.refuse.clear();
  run.admit = false;
  run.Feed(SlotFree{0});
  CHECK(run.Words() == "ask");
  run.Advance(seconds(8));
  CHECK(run.Words().empty());
  CHECK(*run.machine->next_wake() > run.now);  // no busy loop
  run.Feed(Refused{1, run.now + seconds(1)});
  run.Sleep();
  CHECK(run.Words() == "ask");
  CHECK(run.Get<AskAdmission>()->candidate == 1);
}

TEST_CASE("a last candidate whose provider became busy meanwhile is waited for") {
  EngineSettings settings = WithSlots();
  settings.failover.last_candidate_statuses.AddCode(503);
  MachineRun run(1, false, settings);
  run.Go().EndWith(Status(503));
  run.refuse[0] = Busy();
  run.Sleep();
  CHECK(run.Words() == "ask wait");
  run.refuse.clear();
  run.Feed(SlotFree{0});
  CHECK(run.Words() == "ask start");
  run.EndWith(Status(503));
  CHECK(run.Words() == "verdict finish");
  CHECK(run.finish().contacted == 2);
}

TEST_CASE("busy and open circuits: busy is what a client can wait for") {
  MachineRun run(2, false, WithSlots());
  run.refuse[0] = Open(run.now + seconds(50));
  run.refuse[1] = Busy();
  run.Go();
  CHECK(run.Words() == "ask ask wait");
  run.Sleep();
  CHECK(run.finish().reason == Reason::kAllBusy);
}

TEST_CASE("R70 no room for a circuit: 503, behind open circuits their own answer") {
  Refused full{};
  full.why = Refused::Why::kCapacity;
  MachineRun run(2, false, WithSlots());
  run.refuse[0] = run.refuse[1] = full;
  run.Go();
  CHECK(run.Words() == "ask ask finish");
  CHECK(run.finish().reason == Reason::kCircuitCapacity);
  CHECK(run.Terminal().status == 503);
  CHECK(run.Terminal().code == "circuit_capacity");

  MachineRun mixed(2, false, WithSlots());
  mixed.refuse[0] = full;
  mixed.refuse[1] = Open(mixed.now + seconds(5), /*pinned=*/true);
  mixed.Go();
  CHECK(mixed.finish().reason == Reason::kAllCircuitsOpen);
  CHECK(mixed.finish().kind == ErrorKind::kProviderSaturated);

  MachineRun sibling(2, false, WithSlots());
  sibling.refuse[0] = full;
  sibling.Go().EndWith(End(EndKind::kAnswer));
  CHECK(sibling.finish().how == How::kServed);
}

TEST_CASE("facts g: every skip waits out a quota pin: 429 of its own kind") {
  MachineRun run(2, false, WithSlots());
  run.plan.skipped_open = run.plan.skipped_pinned = 1;
  run.plan.earliest_retry = run.now + seconds(90);
  run.refuse[0] = run.refuse[1] = Open(run.now + seconds(40), /*pinned=*/true);
  run.Go();
  CHECK(run.finish().kind == ErrorKind::kProviderQuotaExhausted);
  CHECK(run.Terminal().status == 429);
  CHECK(run.Terminal().retry_after_seconds == 40);
  run.plan.skipped_open = 2;  // one that is not pinned
  MachineRun mixed(1, false, WithSlots());
  mixed.plan = run.plan;
  mixed.refuse = run.refuse;
  mixed.Go();
  CHECK(mixed.finish().kind == ErrorKind::kProviderSaturated);
}

}  // namespace hotel::decide::test
