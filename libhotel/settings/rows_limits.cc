// The rows of `rate_limit` and `inflight_limiter` (decisions 2; facts b).
#include "libhotel/settings/option_rows.h"

namespace hotel::settings {
namespace {

using L = RateLimitSettings;
using I = InflightLimiterSettings;
template <auto kField>
using RateLimit = Field<&EngineSettings::rate_limit, kField>;
template <auto kField>
using Inflight = Field<&EngineSettings::inflight_limiter, kField>;

}  // namespace

std::vector<Option> LimitRows() {
  return {
      Row::Of<RateLimit<&L::classify>>(
          "rate_limit.classify", {"true", "false"},
          "Reads what a 429 means: busy, or spent. Off: every 429 is unknown.")
          .Flat("rate_limit_classify_enabled"),
      Row::Of<RateLimit<&L::saturation_max_wait>>(
          "rate_limit.saturation_max_wait", {"60s", "60s"},
          "A stated wait up to this is a busy provider, above it a spent quota; also the longest "
          "wait for a slot or for a saturated last candidate.")
          .Between(kAboveZero, kDay)
          .FlatZeroIsDefault("rate_limit_saturation_max_wait"),
      Row::Of<RateLimit<&L::recent_success_window>>(
          "rate_limit.recent_success_window", {"60s", "60s"},
          "An unknown 429 of a provider and model that served within this time is a busy one. 0 = "
          "off.")
          .Between(0, kDay)
          .Flat("rate_limit_recent_success_window"),
      Row::Of<Inflight<&I::enabled>>(
          "inflight_limiter.enabled", {"true", "false"},
          "Learns from 429s how many requests at a time a provider takes. Off: learns nothing; a "
          "provider's own `max_in_flight` still holds.")
          .Flat("inflight_limiter_enabled"),
      Row::Of<Inflight<&I::grow_after>>("inflight_limiter.grow_after", {"20", "20"},
                                        "Clean answers that widen a learned window by one.")
          .Between(1, 1000)
          .Flat("inflight_grow_after"),
      Row::Of<Inflight<&I::forget_after>>(
          "inflight_limiter.forget_after", {"10m", "10m"},
          "Time without a cut after which a learned window is forgotten.")
          .Between(kAboveZero, kMonth)
          .FlatZeroIsDefault("inflight_forget_after"),
  };
}

}  // namespace hotel::settings
