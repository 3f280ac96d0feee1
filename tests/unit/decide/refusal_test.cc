// What a 429 that was read does: to the circuit, the window, the request and the client (facts a,
// c; decisions 4 and 10).
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/decide/machine_run.h"

namespace hotel::decide::test {
namespace {

using Class = RefusalClass;

AttemptEnd Unknown(bool recent_success) {
  AttemptEnd end = Refusal(Class::kUnknown);
  end.refusal.recent_success = recent_success;
  return end;
}

}  // namespace

TEST_CASE("facts a: a saturated 429 fails over, charges nobody and cuts the window") {
  MachineRun run(2);
  run.Go().EndWith(Saturated(seconds(7)));
  const ReportVerdict verdict = run.verdict();
  CHECK(verdict.report.verdict == Verdict::kNeutral);
  CHECK(verdict.report.cause == "upstream status 429 (saturated)");
  CHECK_FALSE(verdict.report.rate_limited);
  CHECK_FALSE(verdict.report.pin.has_value());
  CHECK(verdict.kind == ErrorKind::kProviderSaturated);
  CHECK(verdict.cut == Duration(seconds(7)));
  CHECK_FALSE(verdict.clean);
  run.Sleep();
  CHECK(run.Get<StartAttempt>()->candidate == 1);
}

TEST_CASE("facts a: a saturated 429 as the last: 429 with the provider's wait") {
  MachineRun run(1);
  run.Go().EndWith(Saturated(seconds(7)));
  const TerminalAnswer answer = run.Terminal();
  CHECK(answer.status == 429);
  CHECK(answer.code == "provider_saturated");
  CHECK(answer.retry_after_seconds == 7);
  CHECK(run.finish().how == How::kGatewayError);
}

TEST_CASE("facts g: saturated without a stated wait: Retry-After 2") {
  MachineRun run(1);
  run.Go().EndWith(Saturated(seconds(2), false));
  CHECK(run.Terminal().retry_after_seconds == 2);
  MachineRun fallback(1);
  fallback.Go().EndWith(Unknown(true));
  CHECK(fallback.Terminal().retry_after_seconds == 2);
}

TEST_CASE("decisions 4: unknown within the recent-success window is saturated, else charged") {
  MachineRun recent(1);
  recent.Go().EndWith(Unknown(true));
  CHECK(recent.verdict().report.verdict == Verdict::kNeutral);
  CHECK(recent.verdict().report.cause == "upstream status 429 (saturated)");
  CHECK(recent.verdict().cut == kSaturatedWait);
  CHECK(recent.verdict().kind == ErrorKind::kProviderSaturated);

  MachineRun stranger(1);
  stranger.Go().EndWith(Unknown(false));
  CHECK(stranger.verdict().report.verdict == Verdict::kFailure);
  CHECK(stranger.verdict().report.cause == "upstream status 429 (unrecognised)");
  CHECK(stranger.verdict().report.rate_limited);
  CHECK_FALSE(stranger.verdict().cut.has_value());
  CHECK(stranger.verdict().kind == ErrorKind::kProviderError);
  CHECK(stranger.Terminal().status == 429);
  CHECK(stranger.Terminal().code == "provider_rate_limited");
  CHECK_FALSE(stranger.Terminal().retry_after_seconds.has_value());
}

TEST_CASE("decisions 4: an exhausted 429 opens at once, pinned by what it states") {
  for (const bool account : {false, true}) {
    AttemptEnd end = Exhausted(std::chrono::hours(5));
    end.refusal.account_wide = account;
    MachineRun run(2);
    run.Go().EndWith(end);
    const CircuitReport report = run.verdict().report;
    CHECK(report.verdict == Verdict::kOpenNow);
    CHECK(report.cause == "upstream status 429 (exhausted)");
    CHECK(report.rate_limited);
    REQUIRE(report.pin.has_value());
    CHECK(report.pin->duration == std::chrono::hours(5));
    CHECK(report.pin->account == account);
    CHECK_FALSE(run.verdict().cut.has_value());
    CHECK(run.verdict().kind == ErrorKind::kProviderQuotaExhausted);
    CHECK(run.Words() == "verdict");  // fails over
  }
}

TEST_CASE("facts g: an exhausted 429 as the last: 429, its own kind, back when it stated") {
  MachineRun time(1);
  time.Go().EndWith(Exhausted(std::chrono::hours(5)));
  CHECK(time.Terminal().status == 429);
  CHECK(time.Terminal().code == "provider_quota_exhausted");
  CHECK(time.finish().retry_at == time.now + std::chrono::hours(5));

  AttemptEnd guessed = Exhausted(std::chrono::hours(5), false);
  MachineRun silent(1);
  silent.Go().EndWith(guessed);
  CHECK_FALSE(silent.Terminal().retry_after_seconds.has_value());

  AttemptEnd unpaid = Exhausted(std::chrono::hours(24 * 90), false);
  unpaid.refusal.needs_payment = true;
  MachineRun person(1);
  person.Go().EndWith(unpaid);
  CHECK(person.Terminal().status == 429);
  CHECK(person.finish().kind == ErrorKind::kProviderNotEntitled);
}

TEST_CASE("decisions 4: open_on_exhaustion off: an exhausted 429 is a plain charge") {
  EngineSettings settings = FailoverFirst();
  settings.circuit_breaker.open_on_exhaustion = false;
  MachineRun run(1, false, settings);
  run.Go().EndWith(Exhausted(std::chrono::hours(1)));
  CHECK(run.verdict().report.verdict == Verdict::kFailure);
  CHECK(run.verdict().report.cause == "upstream status 429 (exhausted, not opened by setting)");
  CHECK(run.verdict().report.rate_limited);
  CHECK_FALSE(run.verdict().report.pin.has_value());
}

TEST_CASE("facts f.7 5: with 429 out of the breaker's list alone, what it says still counts") {
  EngineSettings settings = FailoverFirst();
  settings.circuit_breaker.failure_on_statuses = StatusSet().AddClass(5);
  const auto verdict = [&](const AttemptEnd& end) {
    MachineRun run(1, false, settings);
    run.Go().EndWith(end);
    return run.verdict().report.verdict;
  };
  CHECK(verdict(Saturated(seconds(1))) == Verdict::kNeutral);
  CHECK(verdict(Exhausted(std::chrono::hours(1))) == Verdict::kOpenNow);
  CHECK(verdict(Unknown(false)) == Verdict::kAlive);
  CHECK(verdict(End(EndKind::kHttpError, 429)) == Verdict::kAlive);  // classify off
}

TEST_CASE("decisions 10: failover_on_rate_limit off: to the client, alive, whatever was read") {
  EngineSettings settings = FailoverFirst();
  settings.failover.retry_on_statuses = StatusSet().AddClass(5);
  settings.circuit_breaker.failure_on_statuses = StatusSet().AddClass(5);
  for (const AttemptEnd& end :
       {Saturated(seconds(3)), Exhausted(std::chrono::hours(3)), Unknown(true), Unknown(false)}) {
    MachineRun run(2, false, settings);
    run.Go().EndWith(end);
    CHECK(run.Words() == "verdict finish");
    CHECK(run.verdict().report.verdict == Verdict::kAlive);
    CHECK_FALSE(run.verdict().cut.has_value());
    CHECK_FALSE(run.verdict().report.rate_limited);
    CHECK(run.Terminal().status == 429);
    CHECK(run.finish().how == How::kGatewayError);
  }
}

TEST_CASE("decisions 4: neutral and open lists come before the reading") {
  EngineSettings neutral = FailoverFirst();
  neutral.circuit_breaker.failure_on_statuses = StatusSet().AddClass(5);
  neutral.circuit_breaker.neutral_on_statuses.AddCode(429);
  MachineRun quiet(1, false, neutral);
  quiet.Go().EndWith(Exhausted(std::chrono::hours(1)));
  CHECK(quiet.verdict().report.verdict == Verdict::kNeutral);
  CHECK(quiet.verdict().report.cause == "upstream status 429");
  CHECK_FALSE(quiet.verdict().cut.has_value());

  EngineSettings open = FailoverFirst();
  open.circuit_breaker.failure_on_statuses = StatusSet().AddClass(5);
  open.circuit_breaker.open_on_statuses.AddCode(429);
  MachineRun loud(1, false, open);
  loud.Go().EndWith(Saturated(seconds(9)));
  CHECK(loud.verdict().report.verdict == Verdict::kOpenNow);
  REQUIRE(loud.verdict().report.pin.has_value());
  CHECK(loud.verdict().report.pin->duration == Duration(seconds(9)));
}

TEST_CASE("facts a: a 402 is pinned until somebody pays, other opening statuses by what they say") {
  EngineSettings settings = FailoverFirst();
  settings.circuit_breaker.open_on_statuses.AddCode(503);
  MachineRun unpaid(1, false, settings);
  unpaid.Go().EndWith(End(EndKind::kHttpError, 402));
  REQUIRE(unpaid.verdict().report.pin.has_value());
  CHECK(unpaid.verdict().report.pin->duration == std::chrono::hours(90 * 24));
  CHECK_FALSE(unpaid.verdict().report.rate_limited);

  MachineRun down(1, false, settings);
  down.Go().EndWith(End(EndKind::kHttpError, 503));
  CHECK(down.verdict().report.verdict == Verdict::kOpenNow);
  CHECK_FALSE(down.verdict().report.pin.has_value());

  AttemptEnd stated = End(EndKind::kHttpError, 503);
  stated.retry_after = seconds(90);
  MachineRun later(1, false, settings);
  later.Go().EndWith(stated);
  REQUIRE(later.verdict().report.pin.has_value());
  CHECK(later.verdict().report.pin->duration == Duration(seconds(90)));
}

TEST_CASE("F095 a Retry-After survives on a 429 and a 503, not on other statuses") {
  for (const int status : {429, 503, 500}) {
    AttemptEnd end = End(EndKind::kHttpError, status);
    end.retry_after = seconds(11);
    MachineRun run(1);
    run.Go().EndWith(end);
    CHECK(run.Terminal().status == status);
    CHECK(run.Terminal().retry_after_seconds.value_or(0) == (status == 500 ? 0 : 11));
  }
}

TEST_CASE("a hidden 429 is read like a real one") {
  AttemptEnd end = Saturated(seconds(4));
  end.kind = EndKind::kHiddenError;
  MachineRun run(2, true);
  run.Go().EndWith(end);
  CHECK(run.verdict().report.verdict == Verdict::kNeutral);
  CHECK(run.verdict().cut == Duration(seconds(4)));
}

TEST_CASE("decisions 10: a provider's 429 event behind the commit is read, nobody else is asked") {
  AttemptEnd end = Exhausted(std::chrono::hours(1));
  end.kind = EndKind::kStreamError;
  MachineRun run(2, true);
  run.Go();
  run.Feed(FirstOutput{0});
  run.EndWith(end);
  CHECK(run.Words() == "verdict finish");
  CHECK(run.verdict().report.verdict == Verdict::kOpenNow);
  CHECK(run.finish().how == How::kServedError);
}

TEST_CASE("error_body provider: the last refusal in the provider's words, gateway: in ours") {
  for (const int status : {401, 404, 429, 500, 503, 400, 422}) {
    EngineSettings settings = FailoverFirst();
    MachineRun ours(1, false, settings);
    ours.Go().EndWith(End(EndKind::kHttpError, status));
    CHECK((ours.finish().how == How::kProviderError) == (status == 400 || status == 422));
    settings.failover.error_body = FailoverSettings::ErrorBody::kProvider;
    MachineRun theirs(1, false, settings);
    theirs.Go().EndWith(End(EndKind::kHttpError, status));
    CHECK(theirs.finish().how == How::kProviderError);
    CHECK(theirs.finish().status == status);
  }
  EngineSettings settings = FailoverFirst();
  settings.failover.error_body = FailoverSettings::ErrorBody::kProvider;
  MachineRun moved(1, false, settings);
  moved.Go().EndWith(End(EndKind::kHttpError, 302));
  CHECK(moved.finish().how == How::kGatewayError);
  CHECK(moved.Terminal().status == 502);
}

TEST_CASE("decisions 4: judging widens the window by what was read to its end alone") {
  for (const EndKind kind :
       {EndKind::kAnswer, EndKind::kEmptyCharged, EndKind::kEmptyAnswer, EndKind::kBadAnswer}) {
    MachineRun run(1);
    run.Go().EndWith(End(kind));
    CHECK(run.verdict().clean);
  }
  for (const EndKind kind : {EndKind::kHttpError, EndKind::kHiddenError, EndKind::kEmptyStream,
                             EndKind::kTooLarge, EndKind::kTransport, EndKind::kStreamCut}) {
    MachineRun run(1);
    run.Go().EndWith(End(kind, kind == EndKind::kHttpError ? 500 : 200));
    CHECK_FALSE(run.verdict().clean);
  }
}

TEST_CASE("B11 judge first: only the first contacted candidate's error is judged") {
  EngineSettings settings = FailoverFirst();
  settings.failover.backoff_initial = {};
  settings.failover.judge = FailoverSettings::Judge::kFirst;
  MachineRun first(3, false, settings);
  first.Go().EndWith(End(EndKind::kHttpError, 400));
  CHECK(first.Words() == "verdict finish");

  MachineRun later(3, false, settings);
  later.Go().EndWith(End(EndKind::kHttpError, 500));
  later.EndWith(End(EndKind::kHttpError, 400));
  CHECK(later.Words() == "verdict ask start");
  later.EndWith(End(EndKind::kHttpError, 422));
  CHECK(later.Words() == "verdict finish");
  CHECK(later.finish().status == 422);

  MachineRun large(3, false, settings);
  large.Go().EndWith(End(EndKind::kHttpError, 500));
  large.EndWith(End(EndKind::kTooLarge));
  CHECK(large.Words() == "verdict finish");

  // Who was never contacted does not count.
  MachineRun skipped(3, false, settings);
  skipped.Go().Feed(Unsendable{0});
  skipped.EndWith(End(EndKind::kHttpError, 400));
  CHECK(skipped.Words() == "verdict finish");

  settings.failover.judge = FailoverSettings::Judge::kEvery;
  MachineRun every(3, false, settings);
  every.Go().EndWith(End(EndKind::kHttpError, 500));
  every.EndWith(End(EndKind::kHttpError, 400));
  CHECK(every.Words() == "verdict finish");
}

}  // namespace hotel::decide::test
