// Whom a request comes from when a proxy stands in front of the sidecar.
#ifndef SERVER_CLIENT_ADDRESS_H_
#define SERVER_CLIENT_ADDRESS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "hotel/types.h"

#include "libhotel/base/ip_network.h"

namespace hotel::server {

/// Where proxies are whose X-Forwarded-For is believed. Nobody is trusted unless it says so:
/// anybody can send the field.
using TrustedProxies = std::vector<base::IpNetwork>;

/// Entries of X-Forwarded-For that are looked at.
constexpr std::size_t kMostHops = 32;

/// Whether `address` is one of them.
bool IsTrustedProxy(const std::string& address, const TrustedProxies& proxies);

/// The client's address, given a request that came from the trusted `peer`. Every proxy writes down
/// whom it was asked by at the end of X-Forwarded-For, so the last entry that names no trusted
/// proxy is what a trusted one saw; what stands in front of it is hearsay. When all are trusted it
/// is the first. Text that is no address (with or without a port), or more than kMostHops entries
/// in front of the answer: `peer`.
std::string ForwardedAddress(const std::string& peer, const HeaderList& headers,
                             const TrustedProxies& proxies);

}  // namespace hotel::server

#endif  // SERVER_CLIENT_ADDRESS_H_
