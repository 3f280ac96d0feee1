// Whether providers can be reached as their operator describes them.
#ifndef HOTEL_PROVIDER_CHECK_H_
#define HOTEL_PROVIDER_CHECK_H_

#include <string>
#include <vector>

#include "hotel/defaults.h"
#include "hotel/failover_group.h"

namespace hotel {

/// One thing that keeps a provider from being reached as described.
struct ProviderProblem {
  std::string field;     ///< base_url, ca_file, proxy, unix_socket, http2
  std::string message;   ///< a sentence that says what to do; never holds a credential
  bool warning = false;  ///< it is reached, but differently
};

/// Judges what `spec` says of connections: the URL as CheckProviderUrl does (the host of a provider
/// behind a socket is never contacted, so only its form counts), the proxy's form and literal
/// address, whether the socket is allowed and the file readable, and whether libcurl's HTTP/2 is
/// safe. Reads no file but ca_file.
std::vector<ProviderProblem> CheckProvider(const ProviderSpec& spec, const AddressPolicy& policy);

}  // namespace hotel

#endif  // HOTEL_PROVIDER_CHECK_H_
