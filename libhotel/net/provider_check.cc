#include "hotel/provider_check.h"

#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "hotel/defaults.h"
#include "hotel/failover_group.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/base_url.h"
#include "libhotel/net/address_policy.h"
#include "libhotel/net/curl_options.h"
#include "libhotel/net/provider_url.h"
#include "libhotel/net/proxy_url.h"

namespace hotel {

namespace {

// A base URL: more is forbidden in one than in the URLs that requests are sent to.
absl::StatusOr<net::ProviderUrl> ParseBaseUrl(const std::string& base_url) {
  absl::StatusOr<net::ProviderUrl> url = net::ProviderUrl::Parse(base_url);
  if (!url.ok()) return url.status();
  if (const char* problem = base::BaseUrlProblem(base_url)) {
    return absl::InvalidArgumentError(problem);
  }
  return url;
}

}  // namespace

absl::Status CheckProviderUrl(const std::string& base_url, const AddressPolicy& policy) {
  const absl::StatusOr<net::AddressRules> rules = net::AddressRules::Create(policy);
  if (!rules.ok()) return rules.status();
  const absl::StatusOr<net::ProviderUrl> url = ParseBaseUrl(base_url);
  if (!url.ok()) return url.status();
  return rules->CheckUrl(*url);
}

std::vector<ProviderProblem> CheckProvider(const ProviderSpec& spec, const AddressPolicy& policy) {
  std::vector<ProviderProblem> problems;
  const auto add = [&problems](const char* field, const absl::Status& status) {
    if (!status.ok()) problems.push_back({field, std::string(status.message())});
  };
  const TransportOptions& transport = spec.transport;
  if (transport.unix_socket.empty()) {
    add("base_url", CheckProviderUrl(spec.base_url, policy));
  } else {
    add("base_url", ParseBaseUrl(spec.base_url).status());
  }
  const absl::StatusOr<net::AddressRules> rules = net::AddressRules::Create(policy);
  if (!transport.ca_file.empty() && ::access(transport.ca_file.c_str(), R_OK) != 0) {
    add("ca_file", absl::InvalidArgumentError("cannot be read; name a PEM file with the trusted "
                                              "roots that this user may read"));
  }
  if (!transport.proxy.empty()) {
    const absl::StatusOr<net::ProxyUrl> proxy = net::ProxyUrl::Parse(transport.proxy);
    add("proxy", proxy.status());
    if (proxy.ok() && rules.ok()) add("proxy", rules->CheckProxy(*proxy));
  }
  if (!transport.unix_socket.empty()) {
    if (!transport.proxy.empty()) {
      add("unix_socket", absl::InvalidArgumentError(
                             "cannot be reached through a proxy; keep the one or the other"));
    } else if (rules.ok()) {
      add("unix_socket", rules->CheckUnixSocket(transport.unix_socket));
    }
  }
  if (transport.http2 && !net::Http2IsSafe(net::CurlVersion())) {
    problems.push_back({"http2",
                        "has no effect: HTTP/2 is safe from libcurl 8.4 on, and this is " +
                            net::CurlVersionText() + "; HTTP/1.1 is used",
                        /*warning=*/true});
  }
  return problems;
}

}  // namespace hotel
