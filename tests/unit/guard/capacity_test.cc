// How many circuits are kept (R66-R71; facts d, "Eviction").
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/guard/breaker_fixture.h"

namespace hotel::guard::test {
namespace {

using std::chrono::minutes;

const CircuitReport kGood{Verdict::kSuccess, "success", 200};

void Reject(Fixture& f, int max) {
  f.Change([max](CircuitBreakerSettings& s) {
    s.on_capacity = CircuitBreakerSettings::OnCapacity::kReject;
    s.max_models = max;
    s.span_models = 0;
  });
}

bool Kept(Fixture& f, const std::string& model) { return f.View(f.Key(model)).key.model == model; }

}  // namespace

TEST_CASE("R66 at most max_models circuits per provider under reject") {
  Fixture f;
  Reject(f, 1024);
  for (int i = 0; i < 1500; ++i) {
    f.breaker->TryAcquire(f.Key("m" + std::to_string(i)), kNow).permit.Report(kGood, kNow);
  }
  CHECK(f.breaker->Views(kNow).size() == 1024);
}

TEST_CASE("R67 idle closed circuits go after ten minutes, when a new model is asked for") {
  Fixture f;
  Reject(f, 100);
  f.Once(f.Key("idle"), Verdict::kFailure);
  f.Open(f.Key("open"));
  Admission busy = f.breaker->TryAcquire(f.Key("busy"), kNow);
  f.Once(f.Key("used"), Verdict::kFailure);
  const TimePoint later = kNow + minutes(10) + Duration(1);
  f.Once(f.Key("used"), Verdict::kFailure, later - minutes(1));
  CHECK(Kept(f, "idle"));  // no timer is needed
  f.breaker->TryAcquire(f.Key("used"), later);
  CHECK(Kept(f, "idle"));  // nor for a known model
  f.breaker->TryAcquire(f.Key("new"), later);
  CHECK_FALSE(Kept(f, "idle"));
  CHECK(Kept(f, "open"));
  CHECK(Kept(f, "busy"));
  CHECK(Kept(f, "used"));
}

TEST_CASE("R68 at the limit the longest idle closed circuit goes early") {
  Fixture f;
  Reject(f, 3);
  f.Once(f.Key("a"), Verdict::kSuccess, kNow);
  f.Once(f.Key("b"), Verdict::kSuccess, kNow + seconds(1));
  f.Once(f.Key("c"), Verdict::kSuccess, kNow + seconds(2));
  f.breaker->TryAcquire(f.Key("a"), kNow + seconds(3));  // used again
  CHECK(f.breaker->TryAcquire(f.Key("d"), kNow + seconds(4)).admitted());
  CHECK(Kept(f, "a"));
  CHECK_FALSE(Kept(f, "b"));
  CHECK(Kept(f, "c"));
  CHECK(Kept(f, "d"));
}

TEST_CASE("R69 R70 busy, open and half-open circuits stay; a new model is refused meanwhile") {
  Fixture f;
  Reject(f, 3);
  f.Open(f.Key("open"));
  f.Open(f.Key("half"));
  Admission probe = f.breaker->TryAcquire(f.Key("half"), kNow + seconds(60));
  Admission busy = f.breaker->TryAcquire(f.Key("busy"), kNow + seconds(60));
  const TimePoint now = kNow + seconds(61);
  const Admission refused = f.breaker->TryAcquire(f.Key("new"), now);
  CHECK_FALSE(refused.admitted());
  CHECK(refused.refusal == Refusal::kCapacity);
  CHECK(refused.retry_at == now + seconds(1));
  // Existing models are unaffected.
  CHECK(f.breaker->TryAcquire(f.Key("busy"), now).admitted());
  // A direct call is sent; it has no circuit to speak for.
  Permit direct = f.breaker->AcquireDirect(f.Key("new"), now);
  CHECK(direct.Report({Verdict::kOpenNow, "upstream status 402", 402}, now) ==
        BreakerEffect::kNoop);
  CHECK(f.breaker->Views(now).size() == 3);
  // A slot that frees is taken.
  busy.permit.Report({Verdict::kAbandoned}, now);
  CHECK(f.breaker->TryAcquire(f.Key("new"), now).admitted());
  CHECK_FALSE(Kept(f, "busy"));
}

TEST_CASE("R69 under grow a busy circuit is not evicted either") {
  Fixture f;
  f.Change([](CircuitBreakerSettings& s) { s.max_models = 2; });
  f.Once(f.Key("busy"), Verdict::kFailure, kNow);
  f.Once(f.Key("idle"), Verdict::kFailure, kNow + seconds(1));
  Admission busy = f.breaker->TryAcquire(f.Key("busy"), kNow + seconds(2));
  f.Once(f.Key("new"), Verdict::kFailure, kNow + seconds(3));
  CHECK(Kept(f, "busy"));
  CHECK_FALSE(Kept(f, "idle"));
  CHECK(Kept(f, "new"));
}

TEST_CASE("under grow only names that were charged or credited take a place") {
  Fixture f;
  std::vector<Admission> held;
  for (int i = 0; i < 100; ++i) {
    held.push_back(f.breaker->TryAcquire(f.Key("m" + std::to_string(i)), kNow));
  }
  CHECK(f.breaker->Views(kNow).empty());
}

TEST_CASE("R71 a name of any length takes bounded memory and still has its own circuit") {
  Fixture f;
  f.Change([](CircuitBreakerSettings& s) { s.span_models = 0; });
  const std::string base(1'000'000, 'x');
  f.Open(f.Key(base + "a"));
  CHECK(f.breaker->Blocked(f.Key(base + "a"), kNow).has_value());
  CHECK_FALSE(f.breaker->Blocked(f.Key(base + "b"), kNow).has_value());
  const std::vector<CircuitView> views = f.breaker->Views(kNow);
  REQUIRE(views.size() == 1);
  CHECK(views[0].key.model.size() < 200);
  CHECK(f.breaker->Reset("p1", base + "a", kNow).recovered == 1);
  // The cut does not break a character.
  std::string umlauts = "x";
  for (int i = 0; i < 300; ++i) umlauts += "\xC3\xA4";
  f.Open(f.Key(umlauts));
  const std::string kept = f.breaker->Views(kNow)[0].key.model;
  CHECK(kept.substr(0, kept.find('#')).size() % 2 == 1);
}

TEST_CASE("a caller cannot name the circuit of the quota") {
  Fixture f;
  const std::string name(kAccountQuotaModel);
  f.Open(f.Key(name));
  REQUIRE(f.breaker->Views(kNow).size() == 1);
  CHECK(f.breaker->Views(kNow)[0].key.model != name);
  CHECK(f.breaker->Blocked(f.Key(name), kNow).has_value());
  f.breaker->ApplyQuotaAdvice({}, kNow + minutes(5));
  CHECK(f.breaker->Views(kNow).size() == 1);
}

TEST_CASE("permits return to zero, whatever becomes of their circuit") {
  Fixture f;
  f.Once(f.Key(), Verdict::kSuccess);
  std::vector<Admission> held;
  for (int i = 0; i < 5; ++i) held.push_back(f.breaker->TryAcquire(f.Key(), kNow));
  CHECK(f.View(f.Key()).in_flight == 5);
  held[0].permit.Report(kGood, kNow);
  held[1].permit.Report({Verdict::kFailure, "timeout", 0}, kNow);
  held[2].permit.Report({Verdict::kAbandoned}, kNow);
  CHECK(f.View(f.Key()).in_flight == 2);
  f.breaker->Reset("p1", std::nullopt, kNow);
  f.Once(f.Key(), Verdict::kSuccess);
  CHECK(f.View(f.Key()).in_flight == 0);
  held.clear();  // they were counted on a circuit that is gone
  CHECK(f.View(f.Key()).in_flight == 0);
}

}  // namespace hotel::guard::test
