// Rows, summaries and resets (facts d, "Status API", "Reset API").
#include <chrono>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/guard/breaker_fixture.h"

namespace hotel::guard::test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

struct StatusFixture : Fixture {
  StatusFixture() {
    Change([](CircuitBreakerSettings& s) {
      s.span_models = 2;
      s.backoff_max = minutes(15);
      s.quota_pin_max = hours(24);
      s.pin_probe_interval = hours(1);
    });
  }
};

}  // namespace

TEST_CASE("a circuit's row: cooldown and retry while it refuses, the opening until it closes") {
  StatusFixture f;
  f.Open(f.Key());
  f.Once(f.Key(), Verdict::kFailure, kNow + seconds(60), 503);
  const TimePoint at = kNow + seconds(61);
  const CircuitView open = f.View(f.Key(), at);
  CHECK(open.state == CircuitState::kOpen);
  CHECK(open.cooldown == minutes(2));
  CHECK(open.next_retry_at == kNow + seconds(60) + minutes(2));
  CHECK(open.backed_off);
  CHECK(open.failed_probes == 1);
  CHECK(open.opens == 2);
  CHECK_FALSE(open.quota_pinned);
  CHECK(open.pin_source == PinSource::kNone);
  CHECK(open.last_status == 503);
  const CircuitView due = f.View(f.Key(), kNow + minutes(3));
  CHECK(due.state == CircuitState::kHalfOpen);
  CHECK(due.opened_at == kNow + seconds(60));
  CHECK_FALSE(due.cooldown.has_value());
  CHECK_FALSE(due.next_retry_at.has_value());
  CHECK_FALSE(due.backed_off);
  CHECK(due.failed_probes == 1);
}

TEST_CASE(
    "R72 a provider row is that of its dominant circuit, not the latest: state, retry, fails, "
    "model") {
  StatusFixture f;
  f.Once(f.Key("b"), Verdict::kFailure);
  f.Once(f.Key("a"), Verdict::kFailure);
  CHECK(f.breaker->Providers(kNow)[0].row().key.model == "a");  // a tie goes by model
  f.Once(f.Key("b"), Verdict::kFailure);
  CHECK(f.breaker->Providers(kNow)[0].row().key.model == "b");
  f.Open(f.Key("due"), kNow - minutes(2));
  CHECK(f.breaker->Providers(kNow)[0].row().key.model == "due");
  f.Open(f.Key("early"), kNow - seconds(30));
  f.Open(f.Key("late"), kNow);
  const ProviderView row = f.breaker->Providers(kNow)[0];
  CHECK(row.row().key.model == "late");
  CHECK(row.provider_open);
  CHECK(row.provider_id == "p1");
  CHECK(row.provider_name == "name-p1");
  CHECK(row.open_models() == std::vector<std::string>{"early", "late"});
  CHECK(row.circuits.size() == 5);
  CHECK_FALSE(row.quota_pinned);
}

TEST_CASE("a row is pinned when any of its refusing circuits is") {
  StatusFixture f;
  f.Open(f.Key("a"), kNow + hours(3));
  f.Report(f.Key("b"), {Verdict::kOpenNow, "upstream status 429 (exhausted)", 429, true,
                        PinHint{hours(9), false}});
  CHECK(f.breaker->Providers(kNow)[0].quota_pinned);
  CHECK_FALSE(f.breaker->Providers(kNow + hours(3))[0].quota_pinned);  // its probe is due
}

TEST_CASE("the summary counts providers by their most degraded circuit") {
  StatusFixture f;
  f.Once(f.Key("m", "p1"), Verdict::kSuccess);
  f.Open(f.Key("m", "p2"), kNow - minutes(2));
  f.Open(f.Key("m", "p3"));
  f.Once(f.Key("n", "p3"), Verdict::kSuccess);
  const CircuitSummary summary = Summarize(f.breaker->Providers(kNow));
  CHECK(summary.closed == 1);
  CHECK(summary.half_open == 1);
  CHECK(summary.open == 1);
}

TEST_CASE("resets say what they met; what is at rest or unknown is no error") {
  StatusFixture f;
  f.Open(f.Key("a"), kNow - minutes(2));
  f.Open(f.Key("b"));
  f.Once(f.Key("c"), Verdict::kFailure);
  const ResetResult one = f.breaker->Reset("p1", "a", kNow);
  CHECK(one.previous == CircuitState::kHalfOpen);
  CHECK(one.cleared == 1);
  CHECK(one.recovered == 1);
  const ResetResult closed = f.breaker->Reset("p1", "c", kNow);
  CHECK(closed.previous == CircuitState::kClosed);
  CHECK(closed.cleared == 1);
  CHECK(closed.recovered == 0);
  f.Once(f.Key("c"), Verdict::kFailure);
  const ResetResult rest = f.breaker->Reset("p1", std::nullopt, kNow);
  CHECK(rest.previous == CircuitState::kOpen);
  CHECK(rest.cleared == 2);
  CHECK(rest.recovered == 1);
  for (const ResetResult none :
       {f.breaker->Reset("p1", std::nullopt, kNow), f.breaker->Reset("nobody", "m", kNow),
        f.breaker->ResetAll(kNow)}) {
    CHECK(none.previous == CircuitState::kClosed);
    CHECK(none.cleared == 0);
  }
}

TEST_CASE("reset of all, and a reset clears pin, backoff and count") {
  StatusFixture f;
  f.Open(f.Key("m", "p1"));
  f.Once(f.Key("m", "p1"), Verdict::kFailure, kNow + seconds(60));
  f.breaker->ApplyQuotaAdvice(
      {{"p2", "name-p2", {QuotaReading::Kind::kExhausted, kNow + hours(6)}}}, kNow);
  const ResetResult all = f.breaker->ResetAll(kNow + seconds(61));
  CHECK(all.cleared == 2);
  CHECK(all.recovered == 2);
  CHECK_FALSE(f.breaker->Blocked(f.Key("m", "p2"), kNow + seconds(61)).has_value());
  f.Open(f.Key("m", "p1"), kNow + seconds(62));
  CHECK(f.View(f.Key("m", "p1"), kNow + seconds(62)).cooldown == seconds(60));
  CHECK(f.View(f.Key("m", "p1"), kNow + seconds(62)).failed_probes == 0);
}

TEST_CASE("the circuit of the quota can be reset by its name") {
  StatusFixture f;
  f.breaker->ApplyQuotaAdvice(
      {{"p1", "name-p1", {QuotaReading::Kind::kExhausted, kNow + hours(6)}}}, kNow);
  CHECK(f.breaker->Reset("p1", kAccountQuotaModel, kNow).recovered == 1);
  CHECK_FALSE(f.breaker->Blocked(f.Key(), kNow).has_value());
}

TEST_CASE("names of pins and refusals") {
  CHECK(std::string(PinSourceName(PinSource::kNone)).empty());
  CHECK(std::string(PinSourceName(PinSource::kAdvisor)) == "advisor");
  CHECK(std::string(PinSourceName(PinSource::kReserve)) == "reserve");
  CHECK(std::string(PinSourceName(PinSource::kResponse)) == "response");
  CHECK(std::string(PinSourceName(PinSource::kAccount)) == "account");
  CHECK(std::string(RefusalName(Refusal::kCircuitOpen)) == "circuit_open");
  CHECK(std::string(RefusalName(Refusal::kProviderOpen)) == "provider_open");
  CHECK(std::string(RefusalName(Refusal::kHalfOpenBusy)) == "half_open_busy");
  CHECK(std::string(RefusalName(Refusal::kCapacity)) == "capacity");
  CHECK(std::string(RefusalName(Refusal::kNone)).empty());
}

}  // namespace hotel::guard::test
