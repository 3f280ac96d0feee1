#include "libhotel/net/address_policy.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "libhotel/base/strings.h"

namespace hotel::net {
namespace {

std::optional<std::uint16_t> ParsePort(std::string_view text) {
  if (text.empty() || text.size() > 5 ||
      !std::all_of(text.begin(), text.end(), base::IsAsciiDigit)) {
    return std::nullopt;
  }
  const long value = std::strtol(std::string(text).c_str(), nullptr, 10);
  if (value < 1 || value > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(value);
}

absl::Status Unreadable(std::string_view entry) {
  return absl::InvalidArgumentError(
      "allowed host \"" + std::string(entry) +
      "\" is not a host, a host:port or an address; write it as in models.internal, "
      "models.internal:8000, 10.0.0.7 or [::1]:8000");
}

}  // namespace

absl::StatusOr<AllowedHost> AllowedHost::Parse(std::string_view entry) {
  AllowedHost allowed;
  if (allowed.address = IpAddress::Parse(entry); allowed.address) return allowed;
  std::string_view host = entry;
  const std::size_t colon = entry.rfind(':');
  if (colon != std::string_view::npos) {
    allowed.port = ParsePort(entry.substr(colon + 1));
    if (!allowed.port) return Unreadable(entry);
    host = entry.substr(0, colon);
    // "::1:80" would be two readings of one text; a port behind IPv6 needs the brackets.
    const bool bracketed = !host.empty() && host.front() == '[';
    if (!bracketed && host.find(':') != std::string_view::npos) return Unreadable(entry);
    if (allowed.address = IpAddress::Parse(host); allowed.address) return allowed;
  }
  if (!host.empty() && host.back() == '.') host.remove_suffix(1);
  if (host.empty() || !std::all_of(host.begin(), host.end(), [](char c) {
        return base::IsAsciiAlnum(c) || c == '-' || c == '_' || c == '.';
      })) {
    return Unreadable(entry);
  }
  allowed.host = base::Lower(host);
  return allowed;
}

absl::StatusOr<AddressRules> AddressRules::Create(const AddressPolicy& policy) {
  AddressRules rules;
  rules.allow_http_ = policy.allow_http;
  for (const std::string& entry : policy.allowed_hosts) {
    absl::StatusOr<AllowedHost> allowed = AllowedHost::Parse(entry);
    if (!allowed.ok()) return allowed.status();
    rules.allowed_.push_back(*std::move(allowed));
  }
  return rules;
}

bool AddressRules::Allows(const IpAddress& address, std::string_view host,
                          std::uint16_t port) const noexcept {
  if (address.SpecialPurpose() == nullptr) return true;
  return std::any_of(allowed_.begin(), allowed_.end(), [&](const AllowedHost& allowed) {
    if (allowed.port && *allowed.port != port) return false;
    return allowed.address ? *allowed.address == address
                           : base::EqualsIgnoreCase(allowed.host, host);
  });
}

bool AddressRules::Allows(const sockaddr* address, std::string_view host,
                          std::uint16_t port) const noexcept {
  const std::optional<IpAddress> ip = IpAddress::FromSockaddr(address);
  return ip && Allows(*ip, host, port);
}

absl::Status AddressRules::CheckUrl(const ProviderUrl& url) const {
  if (!url.https && !allow_http_) {
    return absl::InvalidArgumentError(
        "http:// would send the key in the clear; use https://, or set allow_http_providers");
  }
  const std::optional<IpAddress> literal = IpAddress::Parse(url.host);
  if (literal && !Allows(*literal, url.host, url.port)) {
    return absl::InvalidArgumentError(literal->ToString() + " is " + literal->SpecialPurpose() +
                                      "; if the provider really is there, name it in "
                                      "allowed_provider_hosts");
  }
  return absl::OkStatus();
}

}  // namespace hotel::net

namespace hotel {

absl::Status CheckProviderUrl(const std::string& base_url, const AddressPolicy& policy) {
  const absl::StatusOr<net::AddressRules> rules = net::AddressRules::Create(policy);
  if (!rules.ok()) return rules.status();
  const absl::StatusOr<net::ProviderUrl> url = net::ProviderUrl::Parse(base_url);
  if (!url.ok()) return url.status();
  return rules->CheckUrl(*url);
}

}  // namespace hotel
