// The dispatcher of production (MakeCurlDispatcher in hotel/defaults.h).
#ifndef HOTEL_NET_CURL_DISPATCHER_H_
#define HOTEL_NET_CURL_DISPATCHER_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "hotel/dispatcher.h"

#include "absl/status/statusor.h"
#include "libhotel/net/curl_multi.h"

namespace hotel::net {

/// Spreads exchanges over as many multi handles as it takes. For each exchange libcurl walks all
/// connections of its multi handle several times (to find one that can be used again, to find its
/// socket, to remove it): in a handle with thousands that is most of what a request costs.
///
/// An exchange goes to the first handle that has room, so that few exchanges stay in few handles
/// and find their connections there. A handle that has been without work for kKeep is closed.
///
/// Exchanges may outlive the dispatcher: they end silently with it. Loop thread only.
class CurlDispatcher final : public Dispatcher {
 public:
  /// Exchanges that run in one multi handle before the next one is begun
  static constexpr std::size_t kMostRunning = 128;
  /// and the connections it keeps, idle ones included. Their number in all is the options'.
  static constexpr std::size_t kMostConnections = 192;
  static constexpr Duration kKeep = std::chrono::seconds(60);

  static absl::StatusOr<std::unique_ptr<CurlDispatcher>> Create(EventLoop* loop,
                                                                const CurlOptions& options,
                                                                Duration keep = kKeep);
  ~CurlDispatcher() override;

  std::unique_ptr<Exchange> Start(UpstreamRequest request, ResponseHandler* handler) override;

  std::size_t multis() const noexcept { return multis_.size(); }

 private:
  struct Member {
    std::shared_ptr<CurlMulti> multi;
    TimePoint used;
  };

  CurlDispatcher(EventLoop* loop, const CurlOptions& options, Duration keep,
                 std::shared_ptr<CurlMulti> first);

  Member& Choose();
  void ArmSweep();
  void Sweep();

  EventLoop* const loop_;
  const CurlOptions options_;  // of one multi handle
  const std::size_t most_multis_;
  const Duration keep_;
  std::vector<Member> multis_;  // never empty
  Loop::TimerId sweep_ = 0;
};

}  // namespace hotel::net

#endif  // HOTEL_NET_CURL_DISPATCHER_H_
