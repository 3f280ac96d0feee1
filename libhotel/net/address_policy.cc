#include "libhotel/net/address_policy.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <sys/un.h>

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

constexpr std::string_view kUnixPrefix = "unix:";

// Absolute, and short enough for an address (with its NUL).
bool IsSocketPath(std::string_view path) {
  return !path.empty() && path.front() == '/' && path.size() < sizeof(sockaddr_un::sun_path) &&
         path.find('\0') == std::string_view::npos;
}

absl::Status Unreadable(std::string_view entry) {
  return absl::InvalidArgumentError(
      "allowed host \"" + std::string(entry) +
      "\" is not a host, a host:port, an address or a socket; write it as in models.internal, "
      "models.internal:8000, 10.0.0.7, [::1]:8000 or unix:/run/model.sock");
}

}  // namespace

absl::StatusOr<AllowedHost> AllowedHost::Parse(std::string_view entry) {
  AllowedHost allowed;
  if (base::StartsWith(entry, kUnixPrefix)) {
    allowed.unix_path = entry.substr(kUnixPrefix.size());
    if (!IsSocketPath(allowed.unix_path)) return Unreadable(entry);
    return allowed;
  }
  if (allowed.address = base::IpAddress::Parse(entry); allowed.address) return allowed;
  std::string_view host = entry;
  const std::size_t colon = entry.rfind(':');
  if (colon != std::string_view::npos) {
    allowed.port = ParsePort(entry.substr(colon + 1));
    if (!allowed.port) return Unreadable(entry);
    host = entry.substr(0, colon);
    // "::1:80" would be two readings of one text; a port behind IPv6 needs the brackets.
    const bool bracketed = !host.empty() && host.front() == '[';
    if (!bracketed && host.find(':') != std::string_view::npos) return Unreadable(entry);
    if (allowed.address = base::IpAddress::Parse(host); allowed.address) return allowed;
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

bool AddressRules::Allows(const base::IpAddress& address, std::string_view host,
                          std::uint16_t port) const noexcept {
  if (address.SpecialPurpose() == nullptr) return true;
  return std::any_of(allowed_.begin(), allowed_.end(), [&](const AllowedHost& allowed) {
    if (!allowed.unix_path.empty()) return false;
    if (allowed.port && *allowed.port != port) return false;
    return allowed.address ? *allowed.address == address
                           : base::EqualsIgnoreCase(allowed.host, host);
  });
}

bool AddressRules::Allows(const sockaddr* address, std::string_view host,
                          std::uint16_t port) const noexcept {
  const std::optional<base::IpAddress> ip = base::IpAddress::FromSockaddr(address);
  return ip && Allows(*ip, host, port);
}

absl::Status AddressRules::CheckUrl(const ProviderUrl& url) const {
  if (!url.https && !allow_http_) {
    return absl::InvalidArgumentError(
        "http:// would send the key in the clear; use https://, or set allow_http_providers");
  }
  return CheckLiteral(url.host, url.port);
}

absl::Status AddressRules::CheckProxy(const ProxyUrl& proxy) const {
  return CheckLiteral(proxy.host, proxy.port);
}

absl::Status AddressRules::CheckUnixSocket(const std::string& path) const {
  if (!IsSocketPath(path)) {
    return absl::InvalidArgumentError(
        "is not the path of a socket; write it in full, up to 107 bytes, as in /run/model.sock");
  }
  const bool named = std::any_of(allowed_.begin(), allowed_.end(), [&](const AllowedHost& allowed) {
    return allowed.unix_path == path;
  });
  if (named) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "the address policy allows no socket that it does not name; add \"unix:" + path +
      "\" to allowed_provider_hosts");
}

absl::Status AddressRules::CheckLiteral(const std::string& host, std::uint16_t port) const {
  const std::optional<base::IpAddress> literal = base::IpAddress::Parse(host);
  if (literal && !Allows(*literal, host, port)) {
    return absl::InvalidArgumentError(literal->ToString() + " is " + literal->SpecialPurpose() +
                                      "; if the provider really is there, name it in "
                                      "allowed_provider_hosts");
  }
  return absl::OkStatus();
}

}  // namespace hotel::net
