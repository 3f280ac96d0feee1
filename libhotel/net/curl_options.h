// Every option given to libcurl, each with its reason, and the tests for the versions we meet
// (7.88 in Debian 12 to 8.14 in Debian 13).
#ifndef HOTEL_NET_CURL_OPTIONS_H_
#define HOTEL_NET_CURL_OPTIONS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <curl/curl.h>

#include "hotel/dispatcher.h"

#include "absl/status/status.h"
#include "libhotel/net/proxy_url.h"

namespace hotel::net {

/// Header lines in the form libcurl reads, in two allocations for all of them. Must outlive the
/// request it is given to.
class HeaderLines {
 public:
  /// The request's fields, without those that belong to the dispatcher (Host, lengths, framing,
  /// connection control), and with libcurl's own additions switched off. nullopt when a name or a
  /// value cannot be sent as it is.
  static std::optional<HeaderLines> Build(const HeaderList& headers);

  HeaderLines(HeaderLines&&) noexcept = default;
  HeaderLines& operator=(HeaderLines&&) noexcept = default;

  curl_slist* list() noexcept { return nodes_.data(); }

 private:
  HeaderLines() = default;
  std::vector<char> text_;  // lines, each with its NUL
  std::vector<curl_slist> nodes_;
};

/// Whether a libcurl of this version (0x080400 = 8.4.0) is free of the known errors in cancelling,
/// pausing and flow control of HTTP/2.
bool Http2IsSafe(unsigned version_num) noexcept;
/// The version of the libcurl found at run time, as a number and as text.
unsigned CurlVersion() noexcept;
std::string CurlVersionText();

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

/// The callbacks of exchanges; all but the last get EasyOptions::context.
struct EasyCallbacks {
  curl_read_callback read;
  curl_seek_callback seek;
  curl_write_callback write;
  curl_write_callback header;
  curl_opensocket_callback open_socket;
  curl_prereq_callback before_request;
  /// May be called after the handle is gone, when its connection closes; gets `close_context`.
  curl_closesocket_callback close_socket;
  void* close_context;
};

/// What every exchange of a dispatcher has in common. Set once on a new handle.
bool SetCommonOptions(CURL* easy, const EasyCallbacks& callbacks, const std::string& ca_file);

struct EasyOptions {
  const UpstreamRequest* request;
  const std::string* url;  ///< canonical, see ProviderUrl
  curl_slist* headers;     ///< see HeaderLines; must outlive the request
  const ProxyUrl* proxy;   ///< null = none
  /// The whole body when it is at hand in one piece, else null: it comes through the read callback.
  /// Must outlive the request.
  const std::string* small_body;
  char* error_text;  ///< CURL_ERROR_SIZE bytes; must outlive the request
  void* context;     ///< of the callbacks; also the handle's private pointer
};
/// A body up to here is worth handing over in one piece: it leaves in one write with the head, and
/// libcurl takes no buffer of 16 KiB to send it, which it would keep as long as the answer lasts.
inline constexpr std::size_t kSmallBody = std::size_t{16} << 10;

/// What belongs to one exchange, on a handle with the common options. Everything set here is set
/// anew by the next call or taken back by ClearRequestOptions; but after a request with transport
/// options of its own the handle is of no use to another one.
bool SetRequestOptions(CURL* easy, const EasyOptions& options);

/// The handle's request goes out on a new connection, until ClearRequestOptions.
void SetFreshConnection(CURL* easy);

/// Makes a handle ready to be kept for another request: it refers to nothing of the last one.
void ClearRequestOptions(CURL* easy);

}  // namespace hotel::net

#endif  // HOTEL_NET_CURL_OPTIONS_H_
