#include "libhotel/guard/inflight_windows.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace hotel::guard {

TimePoint ProviderWindow::Advance(TimePoint now) noexcept { return latest = std::max(latest, now); }

void ProviderWindow::Describe(const InflightTarget& target) {
  if (name != target.provider_name) name = target.provider_name;
  max_in_flight = target.max_in_flight;
}

bool ProviderWindow::Admits(const InflightLimiterSettings& settings) const noexcept {
  return decide::Admits(window, max_in_flight, settings, latest);
}

bool ProviderWindow::Idle(const InflightLimiterSettings& settings, TimePoint now) const noexcept {
  return line.empty() && decide::Idle(window, settings, std::max(latest, now));
}

ProviderWindow& WindowShard::FindOrMake(const InflightTarget& target, const Settings& settings,
                                        TimePoint now) {
  auto found = windows.find(target.provider_id);
  if (found == windows.end()) {
    if (windows.size() >= sweep_at) Sweep(settings, now);
    found = windows.try_emplace(std::string(target.provider_id)).first;
    found->second.shard = this;
  }
  found->second.Describe(target);
  return found->second;
}

// Doubling the mark keeps the search cheap per provider made.
void WindowShard::Sweep(const Settings& settings, TimePoint now) {
  for (auto it = windows.begin(); it != windows.end();) {
    const bool idle = it->second.Idle(InflightOptions(settings, it->second.name), now);
    it = idle ? windows.erase(it) : std::next(it);
  }
  sweep_at = std::max(kMinSweep, 2 * windows.size());
}

}  // namespace hotel::guard
