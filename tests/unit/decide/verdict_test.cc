// The order of the verdict pipeline (decisions 4) and the pause between candidates.
#include "libhotel/decide/verdict.h"

#include <set>

#include "tests/support/catch.h"
#include "tests/unit/decide/machine_run.h"

namespace hotel::decide::test {
namespace {

Verdict Of(int status, const CircuitBreakerSettings& settings) {
  return JudgeEnd(End(EndKind::kHttpError, status), settings).verdict;
}

}  // namespace

TEST_CASE("decisions 4: neutral before open before failure before alive") {
  CircuitBreakerSettings settings;
  settings.failure_on_statuses.AddClass(4);
  CHECK(Of(418, settings) == Verdict::kFailure);
  settings.open_on_statuses.AddClass(4);
  CHECK(Of(418, settings) == Verdict::kOpenNow);
  settings.neutral_on_statuses.AddClass(4);
  CHECK(Of(418, settings) == Verdict::kNeutral);
  CHECK(Of(503, settings) == Verdict::kAlive);
}

TEST_CASE("decisions 2: an exact code beats a class of another list") {
  CircuitBreakerSettings settings;
  settings.neutral_on_statuses.AddClass(5);
  settings.failure_on_statuses.AddCode(503);
  CHECK(Of(503, settings) == Verdict::kFailure);
  CHECK(Of(500, settings) == Verdict::kNeutral);
  settings.open_on_statuses.AddCode(500);
  CHECK(Of(500, settings) == Verdict::kOpenNow);
}

TEST_CASE("open_on_exhaustion off: a 402 is an ordinary charge with its own cause") {
  CircuitBreakerSettings settings = FailoverFirst().circuit_breaker;
  settings.open_on_exhaustion = false;
  settings.open_on_statuses.AddCode(429);
  const CircuitReport paid = JudgeEnd(End(EndKind::kHttpError, 402), settings);
  CHECK(paid.verdict == Verdict::kFailure);
  CHECK(paid.cause == "upstream status 402 (payment required, not opened by setting)");
  CHECK(paid.status == 402);
  const CircuitReport spent = JudgeEnd(End(EndKind::kHttpError, 429), settings);
  CHECK(spent.verdict == Verdict::kFailure);
  CHECK(spent.cause == "upstream status 429 (exhausted, not opened by setting)");
}

TEST_CASE("empty lists: no status charges, transport and unusable answers still do") {
  const CircuitBreakerSettings none;
  CHECK(Of(500, none) == Verdict::kAlive);
  CHECK(Of(302, none) == Verdict::kFailure);
  CHECK(JudgeEnd(Transport(TransportError::kConnect, TransportPhase::kNotSent), none).verdict ==
        Verdict::kFailure);
  for (const EndKind kind : {EndKind::kBadAnswer, EndKind::kEmptyAnswer, EndKind::kEmptyStream,
                             EndKind::kStreamCut, EndKind::kEmptyCharged}) {
    CHECK(JudgeEnd(End(kind), none).verdict == Verdict::kFailure);
  }
}

TEST_CASE(
    "decisions 4: what the gateway itself lacks charges nobody, and a sibling may still serve") {
  AttemptEnd end = End(EndKind::kTransport, 0);
  end.transport = TransportError::kLocal;
  const EngineSettings settings = FailoverFirst();
  CHECK(JudgeEnd(end, settings.circuit_breaker).verdict == Verdict::kAbandoned);
  CHECK(KindOf(end) == ErrorKind::kInternal);
  CHECK(FailsOver(end, settings.failover));
}

TEST_CASE("a 2xx labelled as an error status is an answer that could not be read") {
  const AttemptEnd end = Normalized(End(EndKind::kHttpError, 204), false);
  CHECK(end.kind == EndKind::kBadAnswer);
  CHECK(FailsOver(end, FailoverFirst().failover));
}

TEST_CASE("payload statuses: every 4xx but 401, 402, 403, 404, 407, 429, 499") {
  const std::set<int> not_payload = {401, 402, 403, 404, 407, 429, 499};
  for (int status = 100; status < 1000; ++status) {
    CHECK(IsPayloadStatus(status) ==
          (status >= 400 && status < 500 && not_payload.count(status) == 0));
  }
}

TEST_CASE("the pause is the same for the same seed and moves with it") {
  const FailoverSettings settings = FailoverFirst().failover;
  std::uint64_t a = 42;
  std::uint64_t b = 42;
  std::set<Duration> seen;
  for (int i = 0; i < 20; ++i) {
    const Duration pause = FailoverBackoff(settings, 1, &a);
    CHECK(pause == FailoverBackoff(settings, 1, &b));
    CHECK(pause >= Duration(milliseconds(100)));
    CHECK(pause < Duration(milliseconds(200)));
    seen.insert(pause);
  }
  CHECK(seen.size() > 15);
}

TEST_CASE("the pause stays under its ceiling for any count and any span") {
  FailoverSettings settings;
  settings.backoff_initial = milliseconds(100);
  settings.backoff_max = seconds(2);
  std::uint64_t random = 1;
  CHECK(FailoverBackoff(settings, 1'000'000, &random) < Duration(milliseconds(2100)));
  settings.backoff_max = std::chrono::hours(200'000);
  CHECK(FailoverBackoff(settings, 1'000'000, &random) >= settings.backoff_max);
  settings.backoff_max = Duration::max();
  CHECK(FailoverBackoff(settings, 1'000'000, &random) == Duration::max());
  settings.backoff_max = milliseconds(40);
  CHECK(FailoverBackoff(settings, 1, &random) < Duration(milliseconds(140)));
  settings.backoff_initial = Duration::zero();
  CHECK(FailoverBackoff(settings, 5, &random) == Duration::zero());
}

}  // namespace hotel::decide::test
