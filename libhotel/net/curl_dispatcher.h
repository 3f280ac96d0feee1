// The dispatcher of production (MakeCurlDispatcher in hotel/defaults.h).
#ifndef HOTEL_NET_CURL_DISPATCHER_H_
#define HOTEL_NET_CURL_DISPATCHER_H_

#include <memory>

#include "hotel/dispatcher.h"

#include "libhotel/net/curl_multi.h"

namespace hotel::net {

/// Hands exchanges to a CurlMulti. Exchanges may outlive it: they end silently with it.
class CurlDispatcher final : public Dispatcher {
 public:
  explicit CurlDispatcher(std::shared_ptr<CurlMulti> multi) : multi_(std::move(multi)) {}
  ~CurlDispatcher() override { multi_->Shutdown(); }

  std::unique_ptr<Exchange> Start(UpstreamRequest request, ResponseHandler* handler) override;

 private:
  const std::shared_ptr<CurlMulti> multi_;
};

}  // namespace hotel::net

#endif  // HOTEL_NET_CURL_DISPATCHER_H_
