// The sidecar's paths: who may call them and what answers.
#ifndef SERVER_SERVICE_H_
#define SERVER_SERVICE_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string_view>

#include "hotel/hotel.h"

#include "libhotel/base/worker_pool.h"
#include "server/api/handler.h"
#include "server/front.h"
#include "server/httplib_bridge.h"
#include "server/keys.h"
#include "server/metrics.h"
#include "server/readiness.h"

namespace hotel::server {

/// Routes requests to the hotel.
class Service final : public RequestHandler {
 public:
  /// `require_key`: /v1 and /p want a virtual key.
  explicit Service(bool require_key);

  /// Who may call. Before the front serves; must outlive it.
  void SetKeys(Keys* keys) { keys_ = keys; }

  /// What answers under /api; without it nothing does. Before the front serves; must outlive it.
  void SetApi(api::Handler* api) { api_ = api; }

  /// What is shown under /metrics, together with what `log` says; without it nothing is. Who
  /// presents `token` may see it; without one, who presents the admin token (decisions 10). Before
  /// the front serves; both must outlive it.
  void SetMetrics(const Metrics* metrics, const LogStore* log,
                  std::optional<api::AdminToken> token) {
    metrics_ = metrics;
    log_ = log;
    metrics_token_ = token;
  }

  /// What answers /health/ready. Before the front serves; must outlive it.
  void SetReadiness(Readiness* readiness) { readiness_ = readiness; }

  /// From here on requests are served; until then they are answered 503. `hotel` must outlive the
  /// front that calls this service, and this service's Close.
  void Open(Hotel* hotel) { hotel_.store(hotel); }

  /// Running requests are served and /health/ready says that no more should be sent.
  void BeginStop() { stopping_.store(true); }

  /// Reads no further large body and waits for the one that is being read. Before the hotel closes
  /// and behind the front's Stop: the clients of those that were not read are gone then.
  void Close() { reader_.Stop(); }

  Admission OnHead(const RequestHead& head, std::string_view path) override;
  void OnRequest(Request request, std::shared_ptr<Responder> responder) override;
  std::string OnPlain(const Request& request, bool keep_alive) override;
  Reply OnError(const RequestError& error, std::string_view path) override;

 private:
  /// The list of models, for the key that asks.
  Reply ListModels(const Request& request) const;
  /// The reason to refuse the caller of /v1 and /p, if there is one (facts o).
  std::optional<Reply> RefuseCaller(const RequestHead& head, std::string_view path);
  /// Says in `route` who asks; false when that must be known and is not.
  bool SetCaller(const Request& request, RouteRequest* route) const;
  /// The reason to refuse the caller of /metrics, if there is one.
  std::optional<Reply> RefuseScrape(const RequestHead& head);
  /// Registers what is answered without the router's loop.
  void AddPlainRoutes();

  Keys* keys_ = nullptr;
  RefusedCallers refused_;
  const bool require_key_;
  api::Handler* api_ = nullptr;
  const Metrics* metrics_ = nullptr;
  const LogStore* log_ = nullptr;
  Readiness* readiness_ = nullptr;
  std::optional<api::AdminToken> metrics_token_;
  const long long started_;  ///< seconds since the epoch
  std::atomic<Hotel*> hotel_ = nullptr;
  std::atomic<bool> stopping_ = false;
  HttplibBridge plain_;
  /// One thread, apart from those that answer health checks: reading a body takes a whole core.
  base::WorkerPool reader_;
};

}  // namespace hotel::server

#endif  // SERVER_SERVICE_H_
