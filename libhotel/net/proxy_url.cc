#include "libhotel/net/proxy_url.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "libhotel/base/strings.h"
#include "libhotel/net/provider_url.h"

namespace hotel::net {
namespace {

constexpr char kInFull[] = "write the proxy in full, as in http://proxy.internal:3128";
constexpr std::string_view kSchemes[] = {"http", "https", "socks5", "socks5h"};

absl::Status Bad(const char* sentence) { return absl::InvalidArgumentError(sentence); }

std::optional<std::string> Decode(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int byte = static_cast<unsigned char>(text[i]);
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = digit(text[i + 1]);
      const int low = digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      byte = high * 16 + low;
      i += 2;
    }
    if (byte < 0x20 || byte == 0x7f) return std::nullopt;
    decoded.push_back(static_cast<char>(byte));
  }
  return decoded;
}

}  // namespace

absl::StatusOr<ProxyUrl> ProxyUrl::Parse(const Secret& url) {
  const std::string_view text = url.Reveal();
  const std::size_t scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos) return Bad(kInFull);
  const std::string scheme = base::Lower(text.substr(0, scheme_end));
  if (std::find(std::begin(kSchemes), std::end(kSchemes), scheme) == std::end(kSchemes)) {
    return Bad("a proxy's URL begins with http://, https://, socks5:// or socks5h://");
  }
  std::string_view authority = text.substr(scheme_end + 3);
  if (!authority.empty() && authority.back() == '/') authority.remove_suffix(1);
  if (authority.find_first_of("/?#\\") != std::string_view::npos) {
    return Bad("a proxy's URL ends with its port; percent-encode what is special in a password");
  }
  ProxyUrl proxy;
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    const std::string_view info = authority.substr(0, at);
    const std::size_t colon = info.find(':');
    auto user = Decode(info.substr(0, colon));
    auto password = colon == std::string_view::npos ? std::optional<std::string>("")
                                                    : Decode(info.substr(colon + 1));
    if (!user || !password || user->empty() || user->find(':') != std::string::npos) {
      return Bad(
          "the proxy's user and password cannot be read; write them percent-encoded, as in "
          "http://user:password@proxy.internal:3128");
    }
    proxy.user = Secret(*std::move(user));
    proxy.password = Secret(*std::move(password));
    authority.remove_prefix(at + 1);
  }
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == authority.size() ||
      !std::all_of(authority.begin() + static_cast<std::ptrdiff_t>(colon) + 1, authority.end(),
                   base::IsAsciiDigit)) {
    return Bad("the proxy's URL has no port; write it as in http://proxy.internal:3128");
  }
  // Host and port obey the rules of a provider's URL, literal addresses in any spelling included.
  const absl::StatusOr<ProviderUrl> place = ProviderUrl::Parse("http://" + std::string(authority));
  if (!place.ok()) return Bad(kInFull);
  proxy.host = place->host;
  proxy.port = place->port;
  const bool v6 = proxy.host.find(':') != std::string::npos;
  proxy.canonical = scheme + "://" + (v6 ? "[" + proxy.host + "]" : proxy.host) + ":" +
                    std::to_string(proxy.port);
  return proxy;
}

}  // namespace hotel::net
