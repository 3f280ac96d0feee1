#include "libhotel/net/provider_url.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <curl/curl.h>

#include "absl/status/status.h"
#include "libhotel/base/ip_address.h"
#include "libhotel/base/strings.h"

namespace hotel::net {
namespace {

constexpr char kNoUserInfo[] =
    "the URL holds user information (name@host); give the key as api_key instead";

constexpr char kInFull[] = "write the URL in full, as in https://api.example.com/v1";

using Handle = std::unique_ptr<CURLU, decltype(&::curl_url_cleanup)>;

// Empty when the part is absent.
std::string Part(CURLU* handle, CURLUPart part, unsigned int flags = 0) {
  char* text = nullptr;
  if (::curl_url_get(handle, part, &text, flags) != CURLUE_OK || text == nullptr) return {};
  std::string copy(text);
  ::curl_free(text);
  return copy;
}

absl::Status Bad(const char* sentence) { return absl::InvalidArgumentError(sentence); }

// Letters, digits, hyphen, underscore, dot; a literal IPv6 address is checked by its own parser.
bool IsPlainHost(const std::string& host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return base::IsAsciiAlnum(c) || c == '-' || c == '_' || c == '.';
  });
}

}  // namespace

absl::StatusOr<ProviderUrl> ProviderUrl::Parse(const std::string& url) {
  if (std::any_of(url.begin(), url.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte <= 0x20 || byte >= 0x7f;
      })) {
    return Bad(
        "the URL holds white space, a control character or a non-ASCII character; write it "
        "percent-encoded, and a host in its xn-- form");
  }
  // libcurl takes a single slash for two and a backslash for part of the host.
  const std::size_t scheme_end = url.find("://");
  if (scheme_end == std::string::npos || url.find('\\') != std::string::npos) {
    return Bad(kInFull);
  }
  const std::size_t authority = scheme_end + 3;
  const std::size_t authority_end = std::min(url.find_first_of("/?#", authority), url.size());
  if (authority_end == authority) return Bad(kInFull);  // libcurl would take the path for a host
  if (url.find('@', authority) < authority_end) return Bad(kNoUserInfo);
  const Handle handle(::curl_url(), &::curl_url_cleanup);
  if (handle == nullptr) return absl::ResourceExhaustedError("out of memory");
  const CURLUcode code = ::curl_url_set(handle.get(), CURLUPART_URL, url.c_str(),
                                        CURLU_DISALLOW_USER | CURLU_PATH_AS_IS);
  if (code == CURLUE_USER_NOT_ALLOWED) return Bad(kNoUserInfo);
  if (code == CURLUE_UNSUPPORTED_SCHEME) return Bad("the URL must start with https:// or http://");
  if (code != CURLUE_OK) {
    return absl::InvalidArgumentError(std::string("the URL cannot be read (") +
                                      ::curl_url_strerror(code) +
                                      "); write it in full, as in https://api.example.com/v1");
  }
  ProviderUrl parsed;
  const std::string scheme = base::Lower(Part(handle.get(), CURLUPART_SCHEME));
  if (scheme != "https" && scheme != "http") {
    return Bad("the URL must start with https:// or http://");
  }
  parsed.https = scheme == "https";
  std::string host = base::Lower(Part(handle.get(), CURLUPART_HOST));
  if (!host.empty() && host.front() == '[') {
    const std::optional<base::IpAddress> literal = base::IpAddress::Parse(host);
    if (!literal)
      return Bad("the host is not an IPv6 address; write it as in https://[2001:db8::1]/");
    host = host.substr(1, host.size() - 2);
  } else {
    if (!host.empty() && host.back() == '.') host.pop_back();
    if (!IsPlainHost(host)) {
      return Bad("the host is not a name or an address; write it as in https://api.example.com/v1");
    }
    // One spelling for all the forms the resolver understands, so that what is compared, checked
    // and connected to is the same.
    if (const std::optional<base::IpAddress> literal = base::IpAddress::Parse(host)) {
      host = literal->ToString();
      if (::curl_url_set(handle.get(), CURLUPART_HOST, host.c_str(), 0) != CURLUE_OK) {
        return Bad("the host is not an address; write it as in https://192.0.2.1/v1");
      }
    }
  }
  parsed.host = std::move(host);

  const std::string port = Part(handle.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  const long number = std::strtol(port.c_str(), nullptr, 10);
  if (number < 1 || number > 65535) return Bad("the port must lie between 1 and 65535");
  parsed.port = static_cast<std::uint16_t>(number);

  ::curl_url_set(handle.get(), CURLUPART_FRAGMENT, nullptr, 0);  // never sent to a server
  parsed.canonical = Part(handle.get(), CURLUPART_URL);
  if (parsed.canonical.empty()) return Bad("the URL cannot be read");
  return parsed;
}

}  // namespace hotel::net
