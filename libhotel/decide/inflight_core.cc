#include "libhotel/decide/inflight_core.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace hotel::decide {
namespace {

// A provider's word on when to come back is kept within what arithmetic on instants can hold.
constexpr Duration kMaxDeferral = std::chrono::hours(24);

// What was learned goes when its time has passed or the learner was switched off.
void ForgetIfDue(Window& window, const InflightLimiterSettings& settings, TimePoint now) noexcept {
  if (LearnedLimit(window, settings, now) != 0) return;
  window.limit = 0;
  window.good_runs = 0;
}

bool Lowers(const Window& window, int limit) noexcept {
  return window.limit == 0 || limit < window.limit;
}

void Grow(Window& window, const InflightLimiterSettings& settings) noexcept {
  if (++window.good_runs < settings.grow_after) return;
  window.good_runs = 0;
  if (window.limit < std::numeric_limits<int>::max()) ++window.limit;
}

}  // namespace

int LearnedLimit(const Window& window, const InflightLimiterSettings& settings,
                 TimePoint now) noexcept {
  if (!settings.enabled || window.limit == 0) return 0;
  return now - window.last_cut >= settings.forget_after ? 0 : window.limit;
}

int EffectiveLimit(const Window& window, int max_in_flight, const InflightLimiterSettings& settings,
                   TimePoint now) noexcept {
  const int learned = LearnedLimit(window, settings, now);
  if (learned == 0) return max_in_flight;
  return max_in_flight == 0 ? learned : std::min(learned, max_in_flight);
}

bool Admits(const Window& window, int max_in_flight, const InflightLimiterSettings& settings,
            TimePoint now) noexcept {
  const int limit = EffectiveLimit(window, max_in_flight, settings, now);
  return limit == 0 || window.inflight < limit;
}

void Admit(Window& window, const InflightLimiterSettings& settings, TimePoint now) noexcept {
  ForgetIfDue(window, settings, now);
  ++window.inflight;
}

void Release(Window& window, SlotEnd end, const InflightLimiterSettings& settings,
             TimePoint now) noexcept {
  --window.inflight;
  ForgetIfDue(window, settings, now);
  if (window.limit == 0) return;
  switch (end) {
    case SlotEnd::kClean:
      Grow(window, settings);
      break;
    case SlotEnd::kUnclean:
      window.good_runs = 0;
      break;
    case SlotEnd::kUnused:
      break;
  }
}

void Cut(Window& window, Duration retry_after, const InflightLimiterSettings& settings,
         TimePoint now) noexcept {
  ForgetIfDue(window, settings, now);
  if (!settings.enabled) return;
  const int limit = std::max(1, window.inflight);
  // A shorter word on the wait does not take back a longer one.
  const TimePoint cut = now + std::clamp(retry_after, Duration::zero(), kMaxDeferral);
  window.last_cut = window.limit == 0 ? cut : std::max(window.last_cut, cut);
  window.good_runs = 0;
  if (Lowers(window, limit)) window.limit = limit;
}

void Hint(Window& window, const InflightLimiterSettings& settings, TimePoint now) noexcept {
  ForgetIfDue(window, settings, now);
  const int limit = std::max(1, window.inflight);
  if (settings.enabled && Lowers(window, limit)) Cut(window, Duration::zero(), settings, now);
}

bool Idle(const Window& window, const InflightLimiterSettings& settings, TimePoint now) noexcept {
  return window.inflight == 0 && LearnedLimit(window, settings, now) == 0;
}

}  // namespace hotel::decide
