#include "server/api/throttle.h"

#include <algorithm>

namespace hotel::server::api {

Duration Throttle::Wait(std::string_view address, TimePoint now) const {
  const auto it = entries_.find(address);
  if (it == entries_.end()) return Duration::zero();
  return std::max(Duration::zero(), it->second.blocked_until - now);
}

void Throttle::Wrong(std::string_view address, TimePoint now) {
  auto it = entries_.find(address);
  if (it == entries_.end()) {
    if (entries_.size() >= kMostAddresses) {
      entries_.erase(std::min_element(
          entries_.begin(), entries_.end(),
          [](const auto& a, const auto& b) { return a.second.last < b.second.last; }));
    }
    it = entries_.try_emplace(std::string(address)).first;
  }
  Entry& entry = it->second;
  if (entry.wrong == 0 || now - entry.since >= kWindow) {
    entry.wrong = 0;
    entry.since = now;
  }
  entry.last = now;
  if (++entry.wrong < kMostWrong) return;
  entry.wrong = 0;
  entry.blocked_until = now + kWindow;
}

}  // namespace hotel::server::api
