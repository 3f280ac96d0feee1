#include "server/api/throttle.h"

#include <algorithm>
#include <cstdint>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace hotel::server::api {

std::string ThrottleKey(const std::string& address) {
  in6_addr in6{};
  if (::inet_pton(AF_INET6, address.c_str(), &in6) != 1 || IN6_IS_ADDR_V4MAPPED(&in6)) {
    return address;
  }
  std::fill(in6.s6_addr + 8, in6.s6_addr + 16, std::uint8_t{0});
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(AF_INET6, &in6, text, sizeof(text));
  return text;
}

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
