// Requests in, answers out: the engine behind one interface.
#ifndef HOTEL_ROUTER_H_
#define HOTEL_ROUTER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/cap_ledger.h"
#include "hotel/circuit_breaker.h"
#include "hotel/clock.h"
#include "hotel/discovery.h"
#include "hotel/dispatcher.h"
#include "hotel/events.h"
#include "hotel/failover_group.h"
#include "hotel/inflight_limiter.h"
#include "hotel/loop.h"
#include "hotel/rate_limit.h"
#include "hotel/request_gate.h"
#include "hotel/request_log.h"
#include "hotel/settings.h"
#include "hotel/types.h"
#include "hotel/virtual_model.h"

namespace hotel {

/// What is asked of a provider directly, for Endpoint::kPassthrough.
struct PassthroughRequest {
  std::string provider;         ///< routing form (hyphens)
  std::string method = "POST";  ///< as the client wrote it
  /// What follows the provider's name: path with its leading slash, then `?` and the query when
  /// there is one. Appended to the provider's base URL byte for byte.
  std::string target;
  /// Sent as they are, beside the provider's credential: the caller has already left out what must
  /// not go (credentials, cookies, hop-by-hop fields).
  HeaderList headers;
};

/// What a client asked.
struct RouteRequest {
  Endpoint endpoint = Endpoint::kChatCompletions;
  /// The body as the client sent it: JSON, or a multipart form where the endpoint takes one.
  /// `model` and `stream` are read from it. Forwarded byte for byte except for the value of `model`
  /// and, for a chat stream, `stream_options.include_usage` (decisions, 7).
  std::shared_ptr<const std::string> body;
  /// The client's Content-Type; needed for multipart forms (the boundary), else without effect.
  std::string content_type;
  /// Endpoint::kPassthrough only.
  PassthroughRequest passthrough;
  /// Id under which the record is kept and which the answer carries as `x-hotel-request-id`; empty
  /// = one is made. 1-128 visible ASCII characters, anything else is replaced.
  std::string request_id;
  // Who asks, as the caller has found out. For the record, and for what limits and charges keys.
  std::string key_name;   ///< name of the virtual key
  std::string key_id;     ///< its UUID; "" = none
  std::string client_ip;  ///< without port
  /// Ids of the providers that may serve the request; null = every one. Who is left out is not
  /// contacted; when nobody is left the answer is 403.
  std::shared_ptr<const std::vector<std::string>> allowed_providers;
  /// The client's Idempotency-Key. It goes unchanged with every call of this request to the target
  /// that is contacted first, and with no call to another one (R18, R19). Anything but 1-255
  /// visible ASCII characters is ignored (R21).
  std::string idempotency_key;
};

/// The start of an answer. It is final: no other candidate is used after it.
struct AnswerHead {
  int status = 200;
  /// `content-type`, `retry-after` when there is one, and the `x-hotel-*` fields. Never upstream
  /// headers other than the content type and, for binary answers, the content disposition; the
  /// passthrough endpoint relays more (docs/sidecar.md).
  HeaderList headers;
  /// True: the body arrives piece by piece (SSE, binary). False: the whole body follows in one
  /// OnBody or one OnWholeBody.
  bool streaming = false;
};

/// The end of an answer.
struct AnswerEnd {
  /// False when the answer is not whole: it ends with an error event, or the client had left.
  bool complete = true;
  ErrorKind error_kind = ErrorKind::kNone;
  /// It is not complete and no byte of it tells: whoever frames the body must let the end be missed
  /// (sound, pictures, coded streams, the passthrough).
  bool cut = false;
};

/// Receives one answer: OnHead exactly once (never when the call was cancelled before it), OnBody
/// any number of times or OnWholeBody once, OnEnd exactly once and last. Called on the loop thread,
/// never from inside Router::Start or a method of Call. Must be quick and must not throw.
class StreamSink {
 public:
  virtual ~StreamSink() = default;
  virtual void OnHead(const AnswerHead& head) = 0;
  /// The sink has taken the bytes in either case; kPause asks for no more until Call::Resume. A
  /// little more may still arrive (an end or an error event is never held back).
  virtual Flow OnBody(std::string_view bytes) = 0;
  /// The whole body of an answer that is not streaming and large enough to be worth giving away:
  /// in place of the one OnBody. Override it to keep the bytes without copying them.
  virtual void OnWholeBody(std::string bytes) { OnBody(bytes); }
  virtual void OnEnd(const AnswerEnd& end) = 0;
};

/// A running request. Thread-safe. Dropping the handle before the end cancels.
class Call {
 public:
  virtual ~Call() = default;
  /// The sink has room again.
  virtual void Resume() = 0;
  /// The client is gone: closes the upstream at once, charges nobody, ends with OnEnd
  /// (kClientDisconnect) and a record with status 499. No effect after the end.
  virtual void Cancel() = 0;
  /// The id the answer carries.
  virtual const std::string& request_id() const noexcept = 0;
};

/// A row of GET /v1/models.
struct ModelListing {
  std::string id;        ///< `<provider>/<model>` or `hotel/<group>`
  std::string owned_by;  ///< provider in routing form, or "hotel"
  std::string
      provider;  ///< provider in routing form; for a group that of its first reachable entry
};

/// Routes requests. All methods are thread-safe.
class Router {
 public:
  virtual ~Router() = default;

  /// Starts a request. Never fails synchronously: a refusal is an answer like any other. The router
  /// keeps `sink` until OnEnd has returned.
  ///
  /// The body is checked and read on the calling thread, which takes about a millisecond a
  /// megabyte: start requests with large bodies elsewhere than on the loop.
  virtual std::unique_ptr<Call> Start(RouteRequest request, std::shared_ptr<StreamSink> sink) = 0;

  /// What a client may name: models of enabled providers, then enabled groups with at least one
  /// reachable entry (facts i). Of providers whose ids `allowed` does not hold nothing is shown;
  /// null = all are allowed.
  virtual std::vector<ModelListing> Models(const std::vector<std::string>* allowed) const = 0;

  /// Requests that have started and not ended.
  virtual std::size_t active_calls() const noexcept = 0;

  /// Ends every running request: an answer not yet begun becomes a 503, a running stream gets one
  /// terminal error event. Requests that start later are answered 503. Charges nobody. For
  /// shutdown.
  virtual void EndAll() = 0;
};

/// The parts a router is made of; swap any of them. Every pointer must outlive the router;
/// `events`, `log`, `inventory` and `gate` may be null.
struct RouterDeps {
  const Clock* clock = nullptr;
  Loop* loop = nullptr;
  Dispatcher* dispatcher = nullptr;  ///< belongs to `loop`
  FailoverGroupStore* groups = nullptr;
  CircuitBreaker* breaker = nullptr;
  const RateLimitClassifier* classifier = nullptr;  ///< may be null: no 429 is read
  InflightLimiter* limiter = nullptr;               ///< may be null: nothing is limited
  CapLedger* ledger = nullptr;                      ///< may be null
  const SettingsSource* settings = nullptr;
  EventSink* events = nullptr;  ///< gets a note of every failover and skip, for logs
  RequestLog* log = nullptr;
  /// A request that runs for longer is told to `log` as running, within twice the time. Above 0.
  Duration report_running_after = std::chrono::seconds(1);
  /// May be null: no provider is left out, nobody hears of models that no row knows.
  Inventory* inventory = nullptr;
  RequestGate* gate = nullptr;  ///< may be null: nobody is limited or charged
  /// Names that stand for lists of targets. Without contradictions: a source once, no cycles.
  std::vector<VirtualModelSpec> virtual_models;
  /// Seed of backoff jitter and ids; the same seed and events give the same decisions.
  std::uint64_t seed = 0;
};

/// The standard router. Before it is destroyed every call must have ended (EndAll, then run the
/// loop) or the loop must have stopped.
std::unique_ptr<Router> MakeRouter(const RouterDeps& deps);

}  // namespace hotel

#endif  // HOTEL_ROUTER_H_
