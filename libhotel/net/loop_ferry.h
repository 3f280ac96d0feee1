// Exchanges of one loop, carried out by several.
#ifndef HOTEL_NET_LOOP_FERRY_H_
#define HOTEL_NET_LOOP_FERRY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hotel/dispatcher.h"
#include "hotel/loop.h"

#include "absl/status/statusor.h"
#include "libhotel/net/far_loop.h"

namespace hotel::net {

/// A number for where a request's connection leads: equal for requests that may share connections
/// (scheme, host, port and transport options), whatever the rest of the URL says. The same in every
/// process.
std::uint64_t OriginHash(const UpstreamRequest& request) noexcept;

/// Each origin belongs to one loop, so that its connections are found there again. Those of loop 0,
/// the callers' own ("home"), go to its dispatcher as if there were no other; those of the others
/// cross over (see Crossing). Home thread only.
///
/// Exchanges may outlive it: those that were cancelled hear their end, all others end silently.
class LoopFerry final : public Dispatcher {
 public:
  /// Starts `loops` - 1 threads; `make` is called for each loop. REQUIRES: loops >= 2.
  static absl::StatusOr<std::unique_ptr<LoopFerry>> Create(Loop* home, std::size_t loops,
                                                           const MakeDispatcher& make);
  /// Waits for the threads to end. On the home thread, or after its loop has stopped.
  ~LoopFerry() override;

  std::unique_ptr<Exchange> Start(UpstreamRequest request, ResponseHandler* handler) override;

  /// The loop a request belongs to; 0 = home.
  std::size_t LoopOf(const UpstreamRequest& request) const noexcept;

 private:
  LoopFerry() = default;

  std::unique_ptr<Dispatcher> own_;
  std::vector<std::shared_ptr<FarLoop>> far_;
};

}  // namespace hotel::net

#endif  // HOTEL_NET_LOOP_FERRY_H_
