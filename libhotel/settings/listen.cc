#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "libhotel/base/strings.h"
#include "libhotel/settings/config.h"

namespace hotel::settings {
namespace {

std::optional<int> ParsePort(std::string_view text) noexcept {
  if (text.empty() || text.size() > 5) return std::nullopt;
  int port = 0;
  for (const char digit : text) {
    if (!base::IsAsciiDigit(digit)) return std::nullopt;
    port = port * 10 + (digit - '0');
  }
  if (port > 65535) return std::nullopt;
  return port;
}

bool IsHostText(std::string_view host, bool bracketed) noexcept {
  if (host.empty()) return false;
  for (const char c : host) {
    const bool shared = base::IsAsciiAlnum(c) || c == '.';
    const bool allowed = bracketed ? c == ':' || c == '%' : c == '-' || c == '_';
    if (!shared && !allowed) return false;
  }
  return !bracketed || host.find(':') != std::string_view::npos;
}

}  // namespace

std::optional<HostPort> ParseListen(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const std::optional<int> port =
      ParsePort(colon == std::string_view::npos ? text : text.substr(colon + 1));
  if (!port) return std::nullopt;
  if (colon == std::string_view::npos) return HostPort{"127.0.0.1", *port};
  std::string_view host = text.substr(0, colon);
  if (host.empty()) return HostPort{"0.0.0.0", *port};
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!IsHostText(host, bracketed)) return std::nullopt;
  return HostPort{std::string(host), *port};
}

bool IsLoopbackHost(std::string_view host) noexcept {
  if (base::EqualsIgnoreCase(host, "localhost") || host == "::1") return true;
  // Four numbers, the first of them 127: "127.example.com" is a name like any other.
  if (!base::StartsWith(host, "127.")) return false;
  int dots = 0;
  for (const char c : host) {
    if (c == '.') ++dots;
    if (c != '.' && !base::IsAsciiDigit(c)) return false;
  }
  return dots == 3 && host.back() != '.';
}

}  // namespace hotel::settings
