// libcurl handles that have served and wait for their next request.
#ifndef HOTEL_NET_CURL_HANDLES_H_
#define HOTEL_NET_CURL_HANDLES_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <curl/curl.h>

#include "libhotel/net/curl_options.h"

namespace hotel::net {

/// Making a handle and giving it the options all exchanges share costs more than the rest of a
/// request's preparation, so a few are kept. Loop thread only.
class CurlHandles {
 public:
  /// Kept at most: as many as commonly end and begin in one turn. Each keeps its buffers, some 40
  /// KiB.
  static constexpr std::size_t kMaxIdle = 32;

  CurlHandles(const EasyCallbacks& callbacks, std::string ca_file)
      : callbacks_(callbacks), ca_file_(std::move(ca_file)) {}
  ~CurlHandles();
  CurlHandles(const CurlHandles&) = delete;
  CurlHandles& operator=(const CurlHandles&) = delete;

  /// A handle with the common options; null when libcurl refuses.
  CURL* Take();
  /// Gives back a handle that is in no multi handle. `reusable`: its exchange ended well; any other
  /// is freed rather than trusted with another request.
  void Return(CURL* easy, bool reusable);

  std::size_t idle() const noexcept { return idle_.size(); }

 private:
  const EasyCallbacks callbacks_;
  const std::string ca_file_;
  std::vector<CURL*> idle_;
};

}  // namespace hotel::net

#endif  // HOTEL_NET_CURL_HANDLES_H_
