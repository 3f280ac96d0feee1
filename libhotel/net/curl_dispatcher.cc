#include "libhotel/net/curl_dispatcher.h"

#include <utility>

#include <unistd.h>

#include "hotel/defaults.h"

#include "absl/status/status.h"
#include "libhotel/net/curl_options.h"
#include "libhotel/net/event_loop.h"
#include "libhotel/net/exchange.h"

namespace hotel::net {
namespace {

class CurlExchange final : public Exchange {
 public:
  CurlExchange(std::shared_ptr<CurlMulti> multi, std::shared_ptr<Transfer> transfer)
      : multi_(std::move(multi)), transfer_(std::move(transfer)) {}
  ~CurlExchange() override { multi_->Abandon(transfer_); }

  void Resume() override { multi_->Resume(transfer_); }
  void Cancel() override { multi_->Cancel(transfer_); }

 private:
  const std::shared_ptr<CurlMulti> multi_;
  const std::shared_ptr<Transfer> transfer_;
};

}  // namespace

std::unique_ptr<Exchange> CurlDispatcher::Start(UpstreamRequest request, ResponseHandler* handler) {
  return std::make_unique<CurlExchange>(multi_, multi_->Start(std::move(request), handler));
}

}  // namespace hotel::net

namespace hotel {

absl::StatusOr<std::unique_ptr<Dispatcher>> MakeCurlDispatcher(Loop* loop,
                                                               const CurlOptions& options) {
  auto* const event_loop = dynamic_cast<net::EventLoop*>(loop);
  if (event_loop == nullptr) {
    return absl::InvalidArgumentError("the loop was not made by StartEventLoop");
  }
  if (!options.ca_file.empty() && ::access(options.ca_file.c_str(), R_OK) != 0) {
    return absl::InvalidArgumentError("the file of trusted roots cannot be read: " +
                                      options.ca_file);
  }
  const absl::Status ready = net::InitCurl();
  if (!ready.ok()) return ready;
  absl::StatusOr<std::shared_ptr<net::CurlMulti>> multi =
      net::CurlMulti::Create(event_loop, options);
  if (!multi.ok()) return multi.status();
  return std::unique_ptr<Dispatcher>(std::make_unique<net::CurlDispatcher>(*std::move(multi)));
}

}  // namespace hotel
