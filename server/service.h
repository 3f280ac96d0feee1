// The sidecar's paths: who may call them and what answers.
#ifndef SERVER_SERVICE_H_
#define SERVER_SERVICE_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string_view>

#include "hotel/hotel.h"

#include "server/front.h"
#include "server/virtual_keys.h"

namespace hotel::server {

/// Routes requests to the hotel. Thread-safe.
class Service final : public RequestHandler {
 public:
  /// `require_key`: /v1 wants a virtual key. `keys` must outlive the service.
  Service(const VirtualKeys* keys, bool require_key);

  /// From here on requests are served; until then they are answered 503. `hotel` must outlive the
  /// front that calls this service.
  void Open(Hotel* hotel) { hotel_.store(hotel); }

  std::optional<Reply> OnHead(const RequestHead& head, std::string_view path) override;
  void OnRequest(Request request, std::shared_ptr<Responder> responder) override;
  Reply OnError(const RequestError& error) override;

 private:
  /// The reason to refuse the caller, if there is one.
  std::optional<Reply> Authenticate(const HeaderList& headers) const;
  void Chat(Request request, std::shared_ptr<Responder> responder);

  const VirtualKeys* const keys_;
  const bool require_key_;
  const long long started_;  ///< seconds since the epoch
  std::atomic<Hotel*> hotel_ = nullptr;
};

}  // namespace hotel::server

#endif  // SERVER_SERVICE_H_
