// The verdict on a provider (facts d, "Provider verdict"; seed 000, "Provider-wide verdict").
#include "libhotel/decide/provider_verdict.h"

#include "tests/support/catch.h"
#include "tests/unit/decide/circuit_run.h"

namespace hotel::decide::circuit_test {
namespace {

Circuit Opened(TimePoint at, std::optional<PinHint> pin = std::nullopt) {
  CircuitRun run;
  run.now = at;
  run.OpenNow(pin);
  return run.circuit;
}

}  // namespace

TEST_CASE("span: as many refusing circuits as span_models skip the provider") {
  for (const int span : {1, 2, 3}) {
    CircuitBreakerSettings settings = FailoverFirst();
    settings.span_models = span;
    ProviderVerdict verdict(&settings, kStart);
    CHECK_FALSE(verdict.open());
    for (int i = 1; i <= 3; ++i) {
      verdict.Add(Opened(kStart));
      CHECK(verdict.open() == (i >= span));
    }
  }
}

TEST_CASE("span 0 never skips a provider, nor does a span under scope provider") {
  CircuitBreakerSettings never = FailoverFirst();
  never.span_models = 0;
  CircuitBreakerSettings one = FailoverFirst();
  one.scope = CircuitBreakerSettings::Scope::kProvider;
  for (const CircuitBreakerSettings& settings : {never, one}) {
    ProviderVerdict verdict(&settings, kStart);
    for (int i = 0; i < 10; ++i) verdict.Add(Opened(kStart));
    CHECK_FALSE(verdict.open());
  }
}

TEST_CASE("closed, half-open and due circuits count for nothing") {
  const CircuitBreakerSettings settings = FailoverFirst();
  ProviderVerdict verdict(&settings, kStart);
  verdict.Add(Circuit{});
  Circuit half = Opened(kStart - seconds(60));
  verdict.Add(half);  // owed a probe
  AdmitRequest(half, settings, kStart);
  verdict.Add(half);
  verdict.Add(Opened(kStart));
  CHECK_FALSE(verdict.open());
  verdict.Add(Opened(kStart - seconds(59)));
  CHECK(verdict.open());
  CHECK(verdict.until() == kStart + seconds(1));  // the earliest end
}

TEST_CASE("one account-wide pin skips the provider, a response pin does not") {
  const CircuitBreakerSettings settings = FailoverFirst();
  ProviderVerdict response(&settings, kStart);
  response.Add(Opened(kStart, PinHint{hours(5), false}));
  CHECK_FALSE(response.open());
  ProviderVerdict account(&settings, kStart);
  account.Add(Opened(kStart, PinHint{hours(5), true}));
  CHECK(account.open());
  CHECK(account.account_pinned());
  // While its probe is due the siblings are served.
  ProviderVerdict probing(&settings, kStart + hours(1) + minutes(3));
  probing.Add(Opened(kStart, PinHint{hours(5), true}));
  CHECK_FALSE(probing.open());
  // Switching pins off takes the verdict with them.
  CircuitBreakerSettings off = settings;
  off.quota_pin_max = Duration::zero();
  ProviderVerdict released(&off, kStart);
  released.Add(Opened(kStart, PinHint{hours(5), true}));
  CHECK_FALSE(released.open());
}

TEST_CASE("pinned only when all that refuse are pinned") {
  const CircuitBreakerSettings settings = FailoverFirst();
  ProviderVerdict verdict(&settings, kStart);
  CHECK_FALSE(verdict.all_pinned());
  verdict.Add(Opened(kStart, PinHint{hours(5), false}));
  verdict.Add(Opened(kStart, PinHint{hours(5), false}));
  CHECK(verdict.open());
  CHECK(verdict.all_pinned());
  verdict.Add(Opened(kStart));
  CHECK_FALSE(verdict.all_pinned());
}

}  // namespace hotel::decide::circuit_test
