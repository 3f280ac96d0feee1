// The sidecar's paths: who may call them and what answers.
#ifndef SERVER_SERVICE_H_
#define SERVER_SERVICE_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string_view>

#include "hotel/hotel.h"

#include "server/front.h"
#include "server/httplib_bridge.h"
#include "server/virtual_keys.h"

namespace hotel::server {

/// Routes requests to the hotel.
class Service final : public RequestHandler {
 public:
  /// `require_key`: /v1 wants a virtual key. `keys` must outlive the service.
  Service(const VirtualKeys* keys, bool require_key);

  /// From here on requests are served; until then they are answered 503. `hotel` must outlive the
  /// front that calls this service.
  void Open(Hotel* hotel) { hotel_.store(hotel); }

  Admission OnHead(const RequestHead& head, std::string_view path) override;
  void OnRequest(Request request, std::shared_ptr<Responder> responder) override;
  std::string OnPlain(const Request& request, bool keep_alive) override;
  Reply OnError(const RequestError& error) override;

 private:
  /// The reason to refuse the caller, if there is one.
  std::optional<Reply> Authenticate(const HeaderList& headers) const;
  /// Registers what is answered without the router's loop.
  void AddPlainRoutes();

  const VirtualKeys* const keys_;
  const bool require_key_;
  const long long started_;  ///< seconds since the epoch
  std::atomic<Hotel*> hotel_ = nullptr;
  HttplibBridge plain_;
};

}  // namespace hotel::server

#endif  // SERVER_SERVICE_H_
