// One exchange inside the dispatcher: the libcurl handle, its callbacks, and what they learned.
#ifndef HOTEL_NET_EXCHANGE_H_
#define HOTEL_NET_EXCHANGE_H_

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <curl/curl.h>

#include "hotel/dispatcher.h"

#include "libhotel/net/address_policy.h"
#include "libhotel/net/checked_urls.h"
#include "libhotel/net/curl_handles.h"
#include "libhotel/net/curl_options.h"
#include "libhotel/net/kept_sockets.h"
#include "libhotel/net/provider_url.h"
#include "libhotel/net/proxy_url.h"
#include "libhotel/net/response_head.h"

namespace hotel::net {

/// What libcurl works on. Owned by CurlMulti, which alone adds, removes and finishes it; the
/// handler is called from its libcurl callbacks. Loop thread only.
class Transfer {
 public:
  /// Belongs to the CurlMulti and outlives its transfers, whoever keeps one.
  struct Shared {
    Shared(AddressRules address_rules, ResponseHead::Limits limits, std::string ca_file,
           curl_closesocket_callback close_socket, void* close_context)
        : rules(std::move(address_rules)),
          head(limits),
          handles(Callbacks(close_socket, close_context), std::move(ca_file)) {}

    const AddressRules rules;
    const ResponseHead::Limits head;
    CheckedUrls urls{&rules};
    CurlHandles handles;
    KeptSockets sockets;
    std::vector<int> taken;  ///< sockets of kept connections that got a request in this run
  };

  Transfer(UpstreamRequest request, ResponseHandler* handler, std::shared_ptr<Shared> shared);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// Checks the request and takes a libcurl handle. False: Result says why.
  bool Prepare();

  /// The libcurl handle; null before Prepare and after ReleaseHandle.
  CURL* easy() const noexcept { return easy_; }
  /// Gives the libcurl handle back after keeping what Result needs from it; `reusable` when the
  /// exchange ended well. The handle must be in no multi handle.
  void ReleaseHandle(bool reusable = false);
  /// A connection stood ready for the request.
  bool request_began() const noexcept { return request_began_; }
  /// HTTP/2 was offered.
  bool http2() const noexcept { return request_.transport && request_.transport->http2; }

  /// How it ended, for an end reported by libcurl (or CURLE_FAILED_INIT after a failed Prepare).
  ExchangeResult Result(CURLcode code) const;
  ExchangeResult CancelledResult() const;

  /// Delivers OnDone unless the handler was let go; the transfer is finished from here on.
  void Finish(const ExchangeResult& result);

  /// No callback reaches the handler any more.
  void ForgetHandler() noexcept { handler_ = nullptr; }
  /// The callbacks abort from here on; only OnDone is still owed.
  void MarkCancelled() noexcept { cancelled_ = true; }
  /// Makes the end a failure of this kind, whatever libcurl calls it.
  void Fail(TransportError error, std::string detail);

  bool finished() const noexcept { return finished_; }
  bool cancelled() const noexcept { return cancelled_; }
  bool paused() const noexcept { return paused_; }

  /// Nothing was sent, because the kept connection that stood ready was not fit for the request.
  bool stale() const noexcept { return stale_; }
  /// Makes a stale transfer ready to run again, on a connection of its own.
  void PrepareAgain();

  /// Ends a pause; the same bytes come again, before this returns.
  CURLcode Unpause();

  bool resume_posted = false;  // CurlMulti's note

 private:
  static EasyCallbacks Callbacks(curl_closesocket_callback close_socket, void* close_context);
  static std::size_t OnRead(char* out, std::size_t size, std::size_t count, void* self);
  static int OnSeek(void* self, curl_off_t offset, int origin);
  static std::size_t OnWrite(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* self);
  static curl_socket_t OnOpenSocket(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int OnBeforeRequest(void* self, char* remote_ip, char* local_ip, int remote_port,
                             int local_port);

  bool BeforeRequest(std::string_view remote_ip, int local_port);
  bool CheckPlaces();
  bool HeaderLine(std::string_view line);
  curl_socket_t OpenSocket(const curl_sockaddr& address);
  bool Gone() const noexcept { return handler_ == nullptr || cancelled_; }
  TransportPhase Phase() const noexcept;
  TransportError ErrorOf(CURLcode code, TransportPhase phase) const noexcept;
  std::string DetailOf(CURLcode code, TransportPhase phase) const;

  UpstreamRequest request_;  // without its headers once it is prepared
  ResponseHandler* handler_;
  const std::shared_ptr<Shared> shared_;
  std::shared_ptr<const ProviderUrl> url_;
  std::optional<ProxyUrl> proxy_;
  std::optional<HeaderLines> headers_;
  CURL* easy_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_text_{};

  ResponseHead head_;
  bool head_delivered_ = false;
  std::string small_body_;       // the request's body, unless it goes through OnRead
  std::size_t body_offset_ = 0;  // of the request's body
  std::vector<int> opened_;      // sockets, one of which becomes the connection
  bool stale_ = false;
  bool request_began_ = false;
  long sent_before_ = 0;  // bytes a proxy got to make the connection
  bool reused_ = false;
  bool resend_refused_ = false;
  bool address_tried_ = false;
  std::string refused_address_;
  bool starved_ = false;     // the system had no socket for it
  bool bytes_left_ = false;  // kept by ReleaseHandle
  bool cancelled_ = false;
  bool finished_ = false;
  bool paused_ = false;
  TransportError failure_ = TransportError::kNone;
  std::string failure_detail_;
};

}  // namespace hotel::net

#endif  // HOTEL_NET_EXCHANGE_H_
