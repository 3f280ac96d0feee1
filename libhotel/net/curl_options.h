// Every option given to libcurl, each with its reason, and the tests for the versions we meet
// (7.88 in Debian 12 to 8.14 in Debian 13).
#ifndef HOTEL_NET_CURL_OPTIONS_H_
#define HOTEL_NET_CURL_OPTIONS_H_

#include <cstddef>
#include <memory>
#include <string>

#include <curl/curl.h>

#include "hotel/dispatcher.h"

#include "absl/status/status.h"

namespace hotel::net {

/// Frees a curl_slist.
struct SlistDelete {
  void operator()(curl_slist* list) const noexcept { ::curl_slist_free_all(list); }
};
using Slist = std::unique_ptr<curl_slist, SlistDelete>;

/// Initialises libcurl once per process and checks that the library found at run time can do what
/// is asked of it below. FailedPrecondition says what is missing. Any thread.
absl::Status InitCurl();

/// The callbacks of a multi handle; all get `context`.
struct MultiCallbacks {
  curl_socket_callback socket;
  curl_multi_timer_callback timer;
  void* context;
};
bool SetMultiOptions(CURLM* multi, const MultiCallbacks& callbacks, std::size_t max_connections);

/// The callbacks of one exchange; all get `context`, which is the handle's private pointer, too.
struct EasyCallbacks {
  curl_read_callback read;
  curl_seek_callback seek;
  curl_write_callback write;
  curl_write_callback header;
  curl_opensocket_callback open_socket;
  curl_prereq_callback before_request;
  void* context;
  /// May be called after the handle is gone, when its connection closes; gets `close_context`.
  curl_closesocket_callback close_socket;
  void* close_context;
};

struct EasyOptions {
  const UpstreamRequest* request;
  const std::string* url;      ///< canonical, see ProviderUrl
  curl_slist* headers;         ///< see BuildHeaders; must outlive the handle
  const std::string* ca_file;  ///< empty = the system's roots
  char* error_text;            ///< CURL_ERROR_SIZE bytes; must outlive the handle
};
bool SetEasyOptions(CURL* easy, const EasyOptions& options, const EasyCallbacks& callbacks);

/// The request's fields as libcurl wants them, without those that belong to the dispatcher (Host,
/// lengths, framing, connection control), and with libcurl's own additions switched off. Null when
/// a name or a value cannot be sent as it is, or memory ran out.
Slist BuildHeaders(const HeaderList& headers);

}  // namespace hotel::net

#endif  // HOTEL_NET_CURL_OPTIONS_H_
