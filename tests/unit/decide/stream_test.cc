// The commit of a stream, and what its end means behind it (decisions 5 and 10).
#include "tests/support/catch.h"
#include "tests/unit/decide/machine_run.h"

namespace hotel::decide::test {
namespace {

// A stream that has begun to reach the client.
void Committed(MachineRun& run) {
  run.Go();
  run.Feed(HeadSeen{0, 200});
  CHECK(run.Words().empty());
  run.Feed(FirstOutput{0});
  CHECK(run.Words() == "commit");
}

}  // namespace

TEST_CASE("first output commits, once") {
  MachineRun run(2, true);
  Committed(run);
  run.Feed(FirstOutput{0});
  CHECK(run.Words().empty());
}

TEST_CASE("r28 success is reported at the stream's end, not at its first token") {
  MachineRun run(2, true);
  Committed(run);
  run.EndWith(End(EndKind::kAnswer));
  CHECK(run.Words() == "verdict finish");
  CHECK(run.Get<ReportVerdict>()->report.verdict == Verdict::kSuccess);
  CHECK(run.finish().how == How::kServed);
}

TEST_CASE("r30 an empty answer behind the commit is served and charged once") {
  MachineRun run(2, true);
  Committed(run);
  run.EndWith(End(EndKind::kEmptyCharged));
  CHECK(run.Words() == "verdict finish");
  CHECK(run.Get<ReportVerdict>()->report.verdict == Verdict::kFailure);
  CHECK(run.finish().how == How::kServed);
}

TEST_CASE("a role-only opener and its end: committed and served without a first output") {
  MachineRun run(2, true);
  run.Go();
  run.Feed(HeadSeen{0, 200});
  run.EndWith(End(EndKind::kEmptyCharged));
  CHECK(run.Words() == "verdict commit finish");
  CHECK(run.finish().how == How::kServed);
}

TEST_CASE("F033 a cut behind the commit never reaches another candidate") {
  for (const AttemptEnd& end :
       {End(EndKind::kStreamCut), Transport(TransportError::kInterrupted, TransportPhase::kBody)}) {
    MachineRun run(3, true);
    Committed(run);
    run.EndWith(end);
    CHECK(run.Words() == "verdict finish");
    CHECK(run.Get<ReportVerdict>()->report.verdict == Verdict::kFailure);
    CHECK(run.Get<ReportVerdict>()->report.cause == "response failed after headers");
    CHECK(run.finish().how == How::kServedBroken);
    CHECK(run.finish().reason == Reason::kStreamIncomplete);
    CHECK(run.Terminal().code == "stream_incomplete");
  }
}

TEST_CASE("a frame over the cap behind the commit: neutral, the stream is told") {
  MachineRun run(2, true);
  Committed(run);
  run.EndWith(End(EndKind::kTooLarge));
  CHECK(run.Get<ReportVerdict>()->report.verdict == Verdict::kNeutral);
  CHECK(run.finish().how == How::kServedBroken);
}

TEST_CASE("decisions 10: a provider's error event behind the commit is judged by its status") {
  struct Row {
    int status;
    Verdict verdict;
  };
  for (const Row row :
       {Row{502, Verdict::kFailure}, Row{429, Verdict::kFailure}, Row{402, Verdict::kOpenNow},
        Row{404, Verdict::kNeutral}, Row{400, Verdict::kAlive}}) {
    MachineRun run(2, true);
    Committed(run);
    run.EndWith(End(EndKind::kStreamError, row.status));
    CHECK(run.Words() == "verdict finish");
    CHECK(run.Get<ReportVerdict>()->report.verdict == row.verdict);
    CHECK(run.finish().how == How::kServedError);
    CHECK(run.finish().status == row.status);
  }
}

}  // namespace hotel::decide::test
