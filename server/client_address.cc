#include "server/client_address.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "libhotel/base/strings.h"

namespace hotel::server {
namespace {

bool IsTrusted(const base::IpAddress& address, const TrustedProxies& proxies) {
  return std::any_of(proxies.begin(), proxies.end(),
                     [&address](const auto& network) { return network.Contains(address); });
}

bool IsPort(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), base::IsAsciiDigit);
}

/// "192.0.2.1", "192.0.2.1:4711", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:4711".
std::optional<base::IpAddress> ParseEntry(std::string_view text) {
  if (!text.empty() && text.front() == '[') {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view behind = text.substr(end + 1);
    if (!behind.empty() && (behind.front() != ':' || !IsPort(behind.substr(1)))) {
      return std::nullopt;
    }
    text = text.substr(1, end - 1);
    // Brackets are for IPv6.
    if (text.find(':') == std::string_view::npos) return std::nullopt;
  } else if (const std::size_t colon = text.find(':');
             colon != std::string_view::npos && colon == text.rfind(':')) {
    if (!IsPort(text.substr(colon + 1))) return std::nullopt;
    text = text.substr(0, colon);
  }
  return base::IpAddress::ParsePlain(text);
}

}  // namespace

bool IsTrustedProxy(const std::string& address, const TrustedProxies& proxies) {
  if (proxies.empty()) return false;
  const auto ip = base::IpAddress::ParsePlain(address);
  return ip && IsTrusted(*ip, proxies);
}

std::string ForwardedAddress(const std::string& peer, const HeaderList& headers,
                             const TrustedProxies& proxies) {
  std::optional<base::IpAddress> farthest;
  std::size_t hops = 0;
  // Several fields are one list, in their order.
  for (auto field = headers.rbegin(); field != headers.rend(); ++field) {
    if (!base::EqualsIgnoreCase(field->name, "x-forwarded-for")) continue;
    std::string_view left = field->value;
    for (bool more = true; more;) {
      const std::size_t comma = left.rfind(',');
      more = comma != std::string_view::npos;
      const std::string_view entry = base::Trim(more ? left.substr(comma + 1) : left);
      if (more) left = left.substr(0, comma);
      if (entry.empty()) continue;  // lists may have empty elements (RFC 9110, 5.6.1)
      if (++hops > kMostHops) return peer;
      farthest = ParseEntry(entry);
      if (!farthest) return peer;
      if (!IsTrusted(*farthest, proxies)) return farthest->ToString();
    }
  }
  return farthest ? farthest->ToString() : peer;
}

}  // namespace hotel::server
