// The rows of facts a: what an attempt's outcome does to the request and to the circuit.
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/decide/machine_run.h"

namespace hotel::decide::test {
namespace {

struct Expected {
  bool fails_over;
  Verdict verdict;
  const char* cause;
  int client_status;  // when nobody is left
  How how;
  ErrorKind kind;
};

// Plays the outcome with a sibling left and as the last one.
void CheckRow(const AttemptEnd& end, const Expected& expected, bool streaming = false) {
  MachineRun two(2, streaming);
  two.Go().EndWith(end);
  const auto* verdict = two.Get<ReportVerdict>();
  REQUIRE(verdict != nullptr);
  CHECK(verdict->attempt == 0);
  CHECK(verdict->report.verdict == expected.verdict);
  CHECK(verdict->report.cause == expected.cause);
  CHECK(verdict->kind == expected.kind);
  if (expected.fails_over) {
    CHECK(two.Words() == "verdict");  // the pause
    two.Sleep();
    CHECK(two.Words() == "ask start");
    CHECK(two.Get<StartAttempt>()->candidate == 1);
    CHECK(two.Get<StartAttempt>()->attempt == 1);
  } else {
    CHECK(two.Words() == "verdict finish");
  }

  MachineRun one(1, streaming);
  one.Go().EndWith(end);
  CHECK(one.Words() == "verdict finish");
  CHECK(one.finish().how == expected.how);
  CHECK(one.finish().attempt == 0);
  CHECK(one.finish().contacted == 1);
  CHECK(one.finish().kind == expected.kind);
  CHECK(one.Terminal().status == expected.client_status);
}

void CheckStatus(int status, const Expected& expected) {
  CAPTURE(status);
  CheckRow(End(EndKind::kHttpError, status), expected);
  CheckRow(End(EndKind::kHttpError, status), expected, /*streaming=*/true);
}

constexpr Expected Unusable(const char* cause) {
  return {true, Verdict::kFailure, cause, 502, How::kGatewayError, ErrorKind::kProviderError};
}

}  // namespace

TEST_CASE("2xx with a usable answer: success, the answer") {
  MachineRun run(2);
  run.Go().EndWith(End(EndKind::kAnswer, 201));
  CHECK(run.Words() == "verdict commit finish");
  CHECK(run.Get<ReportVerdict>()->report.verdict == Verdict::kSuccess);
  CHECK(run.Get<ReportVerdict>()->report.cause == "success");
  CHECK(run.Get<ReportVerdict>()->kind == ErrorKind::kNone);
  CHECK(run.finish().how == How::kServed);
  CHECK(run.finish().kind == ErrorKind::kNone);
  CHECK(run.machine->committed());
}

TEST_CASE("2xx, body not a completion: fails over, charged, 502 on last") {
  CheckRow(End(EndKind::kBadAnswer), Unusable("upstream body could not be translated"));
}

TEST_CASE("2xx, decoded but carries nothing: fails over, charged, 502 on last") {
  CheckRow(End(EndKind::kEmptyAnswer), Unusable("response completed without delivering content"));
}

TEST_CASE("2xx, empty text but a finish_reason: served as it is, charged") {
  for (const bool streaming : {false, true}) {
    MachineRun run(2, streaming);
    run.Go().EndWith(End(EndKind::kEmptyCharged));
    CHECK(run.Words() == "verdict commit finish");
    CHECK(run.Get<ReportVerdict>()->report.verdict == Verdict::kFailure);
    CHECK(run.Get<ReportVerdict>()->report.cause ==
          "response completed without delivering content");
    CHECK(run.finish().how == How::kServed);
  }
}

TEST_CASE("2xx stream, an error envelope first: judged by its status") {
  const AttemptEnd end = End(EndKind::kHiddenError, 502);
  CheckRow(end, Unusable("response carried an error instead of an answer"), true);
  CheckRow(end, Unusable("response carried an error instead of an answer"));
  // The machine takes the label of the other side of the commit as well.
  CheckRow(End(EndKind::kStreamError, 502),
           Unusable("response carried an error instead of an answer"), true);
  // Without a status that means something it is a 502.
  CheckRow(End(EndKind::kHiddenError, 0),
           Unusable("response carried an error instead of an answer"), true);
}

TEST_CASE("decisions 10: the client gets the status the last error event carried") {
  MachineRun run(1, true);
  run.Go().EndWith(End(EndKind::kHiddenError, 529));
  CHECK(run.finish().reason == Reason::kUpstreamStatus);
  CHECK(run.Terminal().status == 529);
}

TEST_CASE("decisions 10: a hidden 400 or 422 is final like a real one") {
  for (const int status : {400, 422}) {
    const std::string cause = "upstream status " + std::to_string(status) + " (alive)";
    CheckRow(End(EndKind::kHiddenError, status),
             {false, Verdict::kAlive, cause.c_str(), status, How::kProviderError,
              ErrorKind::kProviderBadRequest});
  }
}

TEST_CASE("hidden 402, 404: opens at once, neutral, as real ones") {
  CheckRow(End(EndKind::kHiddenError, 402),
           {true, Verdict::kOpenNow, "response carried an error instead of an answer", 402,
            How::kGatewayError, ErrorKind::kProviderNotEntitled});
  CheckRow(End(EndKind::kHiddenError, 404), {true, Verdict::kNeutral, "upstream status 404", 404,
                                             How::kGatewayError, ErrorKind::kProviderModelGone});
}

TEST_CASE("2xx stream that ends with no data frame: fails over, charged, 502 on last") {
  CheckRow(End(EndKind::kEmptyStream), Unusable("stream failed without delivering content"), true);
}

TEST_CASE("decisions 10: an opener followed by a cut fails over") {
  CheckRow(End(EndKind::kStreamCut), Unusable("response failed after headers"), true);
}

TEST_CASE("2xx body larger than the gateway's cap: no failover, neutral, 502") {
  CheckRow(End(EndKind::kTooLarge), {false, Verdict::kNeutral, "response failed after headers", 502,
                                     How::kGatewayError, ErrorKind::kProviderError});
}

TEST_CASE("F013 400: no failover, alive, the provider's own body") {
  CheckStatus(400, {false, Verdict::kAlive, "upstream status 400 (alive)", 400, How::kProviderError,
                    ErrorKind::kProviderBadRequest});
}

TEST_CASE("422, 409, 413 and other 4xx: no failover, alive, the provider's own body") {
  for (const int status : {405, 406, 408, 409, 410, 413, 415, 418, 422, 424, 431, 451}) {
    const std::string cause = "upstream status " + std::to_string(status) + " (alive)";
    CheckStatus(status, {false, Verdict::kAlive, cause.c_str(), status, How::kProviderError,
                         ErrorKind::kProviderBadRequest});
  }
}

TEST_CASE("F005 401, 403: fail over, charged, that status in the gateway's words") {
  CheckStatus(401, {true, Verdict::kFailure, "upstream status 401", 401, How::kGatewayError,
                    ErrorKind::kProviderNotEntitled});
  CheckStatus(403, {true, Verdict::kFailure, "upstream status 403", 403, How::kGatewayError,
                    ErrorKind::kProviderNotEntitled});
}

TEST_CASE("402: fails over, opens at once") {
  CheckStatus(402, {true, Verdict::kOpenNow, "upstream status 402", 402, How::kGatewayError,
                    ErrorKind::kProviderNotEntitled});
}

TEST_CASE("F007 404 fails over, neither charges nor credits") {
  CheckStatus(404, {true, Verdict::kNeutral, "upstream status 404", 404, How::kGatewayError,
                    ErrorKind::kProviderModelGone});
}

TEST_CASE("F015 404 everywhere: one call each, final 404") {
  MachineRun run(2);
  run.Go().EndWith(End(EndKind::kHttpError, 404));
  run.Sleep();
  run.EndWith(End(EndKind::kHttpError, 404));
  CHECK(run.finish().contacted == 2);
  CHECK(run.Terminal().status == 404);
}

TEST_CASE("407 as the last failure is told in the gateway's words") {
  CheckStatus(407, {false, Verdict::kAlive, "upstream status 407 (alive)", 407, How::kGatewayError,
                    ErrorKind::kProviderError});
}

TEST_CASE("429: fails over, charged, never body-forwarded") {
  CheckStatus(429, {true, Verdict::kFailure, "upstream status 429", 429, How::kGatewayError,
                    ErrorKind::kProviderError});
}

TEST_CASE("decisions 10: 429 taken out of both lists goes to the client, alive") {
  EngineSettings settings = FailoverFirst();
  settings.failover.retry_on_statuses = StatusSet().AddClass(5);
  settings.circuit_breaker.failure_on_statuses = StatusSet().AddClass(5);
  MachineRun run(2, false, settings);
  run.Go().EndWith(End(EndKind::kHttpError, 429));
  CHECK(run.Words() == "verdict finish");
  CHECK(run.Get<ReportVerdict>()->report.verdict == Verdict::kAlive);
  CHECK(run.finish().how == How::kGatewayError);
  CHECK(run.Terminal().status == 429);
}

TEST_CASE("F011 a literal upstream 499 fails over and is no client disconnect") {
  CheckStatus(499, {true, Verdict::kNeutral, "upstream status 499", 499, How::kGatewayError,
                    ErrorKind::kProviderError});
}

TEST_CASE("F009 every 5xx fails over, 52x and 529 included") {
  for (const int status : {500, 501, 502, 503, 504, 505, 520, 522, 524, 529, 530, 599}) {
    const std::string cause = "upstream status " + std::to_string(status);
    CheckStatus(status, {true, Verdict::kFailure, cause.c_str(), status, How::kGatewayError,
                         ErrorKind::kProviderError});
  }
}

TEST_CASE("decisions 10: a 3xx is a failed attempt, 502 as the last") {
  for (const int status : {301, 302, 304, 307, 308}) {
    const std::string cause = "upstream status " + std::to_string(status);
    CheckStatus(status, {true, Verdict::kFailure, cause.c_str(), 502, How::kGatewayError,
                         ErrorKind::kProviderError});
  }
}

TEST_CASE("F011 statuses HTTP does not know are malformed transport") {
  for (const int status : {0, 99, 100, 103, 199, 600, 999}) {
    CheckStatus(status, Unusable("upstream request failed"));
  }
}

TEST_CASE("F001 F003 transport failures of every kind fail over, one charge, 502 on last") {
  using E = TransportError;
  for (const E error : {E::kResolve, E::kRefusedAddress, E::kConnect, E::kTls, E::kInterrupted,
                        E::kProtocol, E::kTooLarge, E::kOther}) {
    for (const TransportPhase phase :
         {TransportPhase::kNotSent, TransportPhase::kSent, TransportPhase::kHead}) {
      CheckRow(Transport(error, phase), Unusable("upstream request failed"));
    }
    CheckRow(Transport(error, TransportPhase::kBody), Unusable("response failed after headers"));
  }
}

TEST_CASE("the answer follows the last contacted attempt") {
  MachineRun run(3);
  run.Go().EndWith(Transport(TransportError::kInterrupted, TransportPhase::kSent));
  run.Sleep();
  run.EndWith(End(EndKind::kHttpError, 503));
  run.Sleep();
  run.EndWith(End(EndKind::kHttpError, 401));
  CHECK(run.finish().attempt == 2);
  CHECK(run.finish().contacted == 3);
  CHECK(run.Terminal().status == 401);
}

TEST_CASE("a payload status in the failover list goes on, and as the last keeps its own body") {
  EngineSettings settings = FailoverFirst();
  settings.failover.retry_on_statuses.AddCode(400);
  MachineRun run(2, false, settings);
  run.Go().EndWith(End(EndKind::kHttpError, 400));
  run.Sleep();
  CHECK(run.Words() == "ask start");
  run.EndWith(End(EndKind::kHttpError, 400));
  CHECK(run.finish().how == How::kProviderError);
  CHECK(run.finish().status == 400);
  CHECK(run.finish().attempt == 1);
}

TEST_CASE("an empty failover list: a 5xx is final and its body stays inside") {
  EngineSettings settings = FailoverFirst();
  settings.failover.retry_on_statuses = StatusSet();
  MachineRun run(2, false, settings);
  run.Go().EndWith(End(EndKind::kHttpError, 500));
  CHECK(run.Words() == "verdict finish");
  CHECK(run.finish().how == How::kGatewayError);
  CHECK(run.finish().reason == Reason::kUpstreamStatus);
}

}  // namespace hotel::decide::test
