#include "libhotel/observe/request_health.h"

namespace hotel::observe {

std::optional<decide::Outcome> OutcomeOf(const AttemptRecord& attempt) {
  if (attempt.attempt < 0 || attempt.tries == 0) return std::nullopt;
  switch (attempt.error_kind) {
    case ErrorKind::kNone:
      return decide::Outcome{false, attempt.status.value_or(0), {}};
    case ErrorKind::kClientDisconnect:
    case ErrorKind::kHedgeSuperseded:
    case ErrorKind::kInternal:
    case ErrorKind::kValidation:
    case ErrorKind::kAuth:
    case ErrorKind::kRateLimit:
    case ErrorKind::kBudget:
      return std::nullopt;
    case ErrorKind::kProviderError:
    case ErrorKind::kProviderModelGone:
    case ErrorKind::kProviderNotEntitled:
    case ErrorKind::kProviderBadRequest:
    case ErrorKind::kProviderSaturated:
    case ErrorKind::kProviderQuotaExhausted:
    case ErrorKind::kProviderTimeout:
    case ErrorKind::kFailoverTimeout:
      break;
  }
  const std::string_view text =
      attempt.detail.empty() ? ErrorKindName(attempt.error_kind) : std::string_view(attempt.detail);
  return decide::Outcome{true, attempt.status.value_or(0), text};
}

void RequestHealth::Record(const RequestRecord& record) {
  const TimePoint now = clock_->Now();
  base::MutexLock lock(&mutex_);
  for (const AttemptRecord& attempt : record.attempts) {
    if (const auto outcome = OutcomeOf(attempt)) {
      board_.Count(attempt.provider_id, attempt.model, *outcome, now);
    }
  }
}

decide::ProviderHealth RequestHealth::Of(std::string_view provider_id) const {
  const TimePoint now = clock_->Now();
  base::MutexLock lock(&mutex_);
  return board_.Of(provider_id, now);
}

}  // namespace hotel::observe
