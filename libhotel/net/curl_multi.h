// Drives libcurl's multi interface from an event loop.
#ifndef HOTEL_NET_CURL_MULTI_H_
#define HOTEL_NET_CURL_MULTI_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <curl/curl.h>

#include "hotel/defaults.h"
#include "hotel/dispatcher.h"

#include "absl/status/statusor.h"
#include "libhotel/net/address_policy.h"
#include "libhotel/net/event_loop.h"
#include "libhotel/net/exchange.h"

namespace hotel::net {

/// Sole owner of the multi handle and of every running transfer. libcurl forbids adding and
/// removing handles inside its callbacks, and those are where handlers run: what a handler asks for
/// there is noted and done when libcurl has returned, in the same turn. Loop thread only (see
/// EventLoop).
class CurlMulti : public std::enable_shared_from_this<CurlMulti> {
 public:
  static absl::StatusOr<std::shared_ptr<CurlMulti>> Create(EventLoop* loop,
                                                           const CurlOptions& options);
  ~CurlMulti();

  std::shared_ptr<Transfer> Start(UpstreamRequest request, ResponseHandler* handler);
  /// Transfers that were begun and have not ended.
  std::size_t running() const noexcept { return running_.size() + to_add_.size(); }
  void Resume(const std::shared_ptr<Transfer>& transfer);
  /// Closes the connection now and delivers OnDone(kCancelled) in a later turn.
  void Cancel(const std::shared_ptr<Transfer>& transfer);
  /// As Cancel, but the handler hears nothing more.
  void Abandon(const std::shared_ptr<Transfer>& transfer);

  /// Closes every connection and lets every handler go. Not from inside a handler's OnHead or
  /// OnBody. Idempotent; afterwards all methods are without effect.
  void Shutdown();

 private:
  CurlMulti(EventLoop* loop, const CurlOptions& options, AddressRules rules);

  static int OnSocket(CURL* easy, curl_socket_t fd, int what, void* self, void* assigned);
  static int OnCloseSocket(void* self, curl_socket_t fd);
  static int OnTimer(CURLM* multi, long timeout_ms, void* self);

  // A watched socket's part in libcurl's work.
  enum class Use : std::uint8_t {
    kWanted,  // libcurl waits for its events
    kLoose,   // not any more; what becomes of it shows when libcurl has returned
    kIdle,    // it carries a kept connection
  };

  int SocketChanged(CURL* easy, curl_socket_t fd, int what);
  bool Watch(curl_socket_t fd, std::uint32_t events, Use use);
  void Unwatch(curl_socket_t fd);
  void SocketReady(curl_socket_t fd, std::uint32_t ready);
  void NoteTaken();
  void DropLoose();
  void TimerChanged(long timeout_ms);
  void Act(curl_socket_t fd, int events);
  void Settle();
  void WatchIdle(const Transfer& transfer);
  void Add(const std::shared_ptr<Transfer>& transfer);
  void Detach(const std::shared_ptr<Transfer>& transfer);
  void Remove(Transfer* transfer, bool reusable = false);
  void Complete(const std::shared_ptr<Transfer>& transfer, CURLcode code);
  void CompleteLater(const std::shared_ptr<Transfer>& transfer);
  void ContinuePaused(const std::shared_ptr<Transfer>& transfer);

  EventLoop* const loop_;
  const std::shared_ptr<Transfer::Shared> shared_;
  CURLM* multi_ = nullptr;
  Loop::TimerId timer_ = 0;
  bool in_curl_ = false;
  std::unordered_map<curl_socket_t, Use> watched_;
  std::vector<curl_socket_t> loose_;
  std::unordered_map<Transfer*, std::shared_ptr<Transfer>> running_;
  std::vector<std::shared_ptr<Transfer>> to_add_;
  std::vector<std::shared_ptr<Transfer>> to_remove_;
  std::vector<std::shared_ptr<Transfer>> to_fail_;
};

}  // namespace hotel::net

#endif  // HOTEL_NET_CURL_MULTI_H_
