#include "libhotel/observe/request_health.h"

#include <chrono>
#include <string>

#include "hotel/clock.h"

#include "tests/support/catch.h"

namespace hotel::observe {
namespace {

/// Stands still until it is told.
class StandingClock final : public Clock {
 public:
  TimePoint Now() const noexcept override { return now; }
  WallTime WallNow() const noexcept override { return {}; }
  TimePoint now{std::chrono::hours(1)};
};

AttemptRecord AttemptOf(ErrorKind kind, std::optional<int> status = std::nullopt) {
  AttemptRecord attempt;
  attempt.provider_id = "p";
  attempt.model = "m";
  attempt.tries = 1;
  attempt.error_kind = kind;
  attempt.status = status;
  return attempt;
}

TEST_CASE("R82 what an attempt says about its provider") {
  for (const ErrorKind kind : {ErrorKind::kProviderError, ErrorKind::kProviderModelGone,
                               ErrorKind::kProviderNotEntitled, ErrorKind::kProviderBadRequest,
                               ErrorKind::kProviderSaturated, ErrorKind::kProviderQuotaExhausted,
                               ErrorKind::kProviderTimeout, ErrorKind::kFailoverTimeout}) {
    INFO(ErrorKindName(kind));
    const auto outcome = OutcomeOf(AttemptOf(kind));
    REQUIRE(outcome);
    CHECK(outcome->error);
    CHECK(outcome->text == ErrorKindName(kind));
  }
  for (const ErrorKind kind :
       {ErrorKind::kClientDisconnect, ErrorKind::kHedgeSuperseded, ErrorKind::kInternal,
        ErrorKind::kValidation, ErrorKind::kAuth, ErrorKind::kRateLimit, ErrorKind::kBudget}) {
    INFO(ErrorKindName(kind));
    CHECK_FALSE(OutcomeOf(AttemptOf(kind)));
  }
  const auto served = OutcomeOf(AttemptOf(ErrorKind::kNone, 200));
  REQUIRE(served);
  CHECK_FALSE(served->error);
}

TEST_CASE("R82 what was passed over or never sent says nothing") {
  AttemptRecord skipped = AttemptOf(ErrorKind::kProviderSaturated);
  skipped.attempt = -1;
  CHECK_FALSE(OutcomeOf(skipped));
  AttemptRecord unsent = AttemptOf(ErrorKind::kProviderError);
  unsent.tries = 0;
  CHECK_FALSE(OutcomeOf(unsent));
}

TEST_CASE("R78 every attempt of a request counts, in the window of its own provider and model") {
  StandingClock clock;
  RequestHealth health(&clock);
  RequestRecord record;
  record.attempts = {AttemptOf(ErrorKind::kProviderError, 503), AttemptOf(ErrorKind::kNone, 200)};
  record.attempts[0].detail = "no capacity";
  record.attempts[1].provider_id = "q";
  for (int i = 0; i < 3; ++i) health.Record(record);
  CHECK(health.Of("p").degraded);
  CHECK(health.Of("p").sums.requests == 3);
  CHECK(health.Of("p").last_error->text == "no capacity");
  CHECK(health.Of("p").last_error->status == 503);
  CHECK_FALSE(health.Of("q").degraded);
  CHECK(health.Of("q").sums.requests == 3);
  clock.now += std::chrono::minutes(11);
  CHECK_FALSE(health.Of("p").degraded);
}

}  // namespace
}  // namespace hotel::observe
