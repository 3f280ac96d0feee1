#include "libhotel/route/refusal_reader.h"

namespace hotel::route {

using decide::AttemptEnd;

bool IsRefusal(const AttemptEnd& end) noexcept {
  return end.kind == AttemptEnd::Kind::kHttpError || end.kind == AttemptEnd::Kind::kHiddenError ||
         end.kind == AttemptEnd::Kind::kStreamError ||
         (end.kind == AttemptEnd::Kind::kPassedOn && end.status >= 400);
}

RateLimitReading ReadRefusal(const RateLimitClassifier& classifier, const CircuitBreaker& breaker,
                             const Candidate& candidate, const RefusalSeen& seen, TimePoint now,
                             AttemptEnd* end) {
  const RateLimitSettings& settings = candidate.settings->rate_limit;
  UpstreamRefusal refusal;
  refusal.status = end->status;
  refusal.headers = seen.headers;
  refusal.body = seen.body;
  refusal.received_at = seen.received_at;
  refusal.provider_type = candidate.provider->type;
  if (end->status != 429 || !settings.classify) {
    // The words of other refusals decide nothing here, but a wait in the header is a wait.
    if (seen.headers != nullptr && !FindHeader(*seen.headers, "retry-after").empty()) {
      refusal.body = {};
      end->retry_after = classifier.ReadWords(refusal, settings.saturation_max_wait).wait;
    }
    return {};
  }
  const RateLimitReading reading = classifier.Read(refusal, settings.saturation_max_wait);
  end->retry_after = reading.wait;
  end->refusal.read = reading.refusal_class;
  end->refusal.account_wide = reading.account_wide;
  end->refusal.needs_payment = reading.needs_payment;
  end->refusal.wait = reading.WaitOrDefault();
  end->refusal.stated = reading.wait.has_value();
  if (end->refusal.read == RefusalClass::kUnknown) {
    end->refusal.recent_success =
        breaker.RecentSuccess(candidate.circuit(), settings.recent_success_window, now);
  }
  return reading;
}

}  // namespace hotel::route
