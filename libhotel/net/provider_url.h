// A provider's URL taken apart by the parser that will use it.
#ifndef HOTEL_NET_PROVIDER_URL_H_
#define HOTEL_NET_PROVIDER_URL_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace hotel::net {

/// libcurl parses the URL once here and once more when it sends, both times from `canonical`, so
/// the host that was checked is the host that is asked.
struct ProviderUrl {
  std::string canonical;  ///< what is handed to libcurl; no fragment
  bool https = false;
  std::string host;  ///< lower case, no brackets, no trailing dot; IPv4 literals dotted
  std::uint16_t port = 0;

  /// InvalidArgument with a sentence that says what to do. The text never repeats the URL, which
  /// may carry a credential.
  static absl::StatusOr<ProviderUrl> Parse(const std::string& url);
};

}  // namespace hotel::net

#endif  // HOTEL_NET_PROVIDER_URL_H_
