#include "server/service.h"

#include <chrono>
#include <string>
#include <utility>

#include "libhotel/base/strings.h"
#include "libhotel/wire/endpoints.h"
#include "server/late_call.h"
#include "server/passthrough.h"
#include "server/presented_key.h"
#include "server/replies.h"

namespace hotel::server {
namespace {

constexpr std::string_view kHealth = "/health";
constexpr std::string_view kReady = "/health/ready";
constexpr std::string_view kModels = "/v1/models";
constexpr std::string_view kMetrics = "/metrics";
/// A body larger than this is read on a thread of its own: there it takes half a millisecond and
/// more, in which the loop would serve nobody.
constexpr std::size_t kReadOnLoop = std::size_t{256} << 10;

/// What answers under a path.
struct Place {
  std::string_view allow;  ///< for Allow; a GET path answers HEAD too
  bool proxied = false;    ///< goes to the router, on its loop
  bool needs_body = false;
};

std::optional<Place> FindPlace(std::string_view path) {
  for (const std::string_view plain : {kHealth, kReady, kModels, kMetrics}) {
    if (path == plain) return Place{"GET, HEAD"};
  }
  if (wire::FindEndpoint(path) != nullptr) return Place{"POST", true, true};
  if (IsPassthrough(path)) return Place{kPassthroughMethods, true};
  return std::nullopt;
}

/// Hands an answer of the router to the client's connection.
class AnswerSink final : public StreamSink {
 public:
  explicit AnswerSink(std::shared_ptr<Responder> responder) : responder_(std::move(responder)) {}

  void OnHead(const AnswerHead& head) override {
    const std::string type = base::Lower(FindHeader(head.headers, "content-type"));
    const bool events = base::StartsWith(type, kEventStream);
    if (!head.streaming || !events) {
      return responder_->Begin(head.status, head.headers, head.streaming);
    }
    // No caching, and no buffering by a proxy in front of the sidecar.
    HeaderList headers = head.headers;
    if (FindHeader(headers, kCaching).empty()) headers.push_back({kCaching, "no-cache"});
    headers.push_back({"X-Accel-Buffering", "no"});
    responder_->Begin(head.status, headers, true);
  }
  Flow OnBody(std::string_view bytes) override { return responder_->Write(bytes); }
  void OnWholeBody(std::string bytes) override { responder_->WriteWhole(std::move(bytes)); }
  void OnEnd(const AnswerEnd& end) override { end.cut ? responder_->Abort() : responder_->End(); }

 private:
  static constexpr std::string_view kEventStream = "text/event-stream";
  static constexpr const char* kCaching = "Cache-Control";

  const std::shared_ptr<Responder> responder_;
};

/// The endpoints and the passthrough want a key; so does anything else that a client could take for
/// one of them.
bool WantsKey(std::string_view path) {
  for (const std::string_view top : {"/v1", "/p"}) {
    if (base::StartsWith(path, top) && (path.size() == top.size() || path[top.size()] == '/')) {
      return true;
    }
  }
  return false;
}

bool Allows(std::string_view allow, std::string_view method) {
  for (const auto allowed : base::Split(allow, ',')) {
    if (base::Trim(allowed) == method) return true;
  }
  return false;
}

}  // namespace

Service::Service(bool require_key)
    : require_key_(require_key),
      started_(std::chrono::duration_cast<std::chrono::seconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count()),
      plain_([](const Request& request) { return NotFoundReply(ErrorDialect(request.path)); }) {
  AddPlainRoutes();
}

std::optional<Reply> Service::RefuseCaller(const RequestHead& head, std::string_view path) {
  Hotel* const hotel = hotel_.load();
  if (hotel == nullptr) {
    return OnError({503, decide::ErrorCode::kStarting, "the sidecar is starting; retry shortly"},
                   path);
  }
  const wire::Dialect dialect = ErrorDialect(path);
  // By address first: guessing keys must not cost more than it gains.
  if (auto headers =
          keys_->RefuseAddress(head.peer, hotel->settings().Current()->global.client_limits,
                               std::chrono::steady_clock::now())) {
    refused_.address.fetch_add(1, std::memory_order_relaxed);
    Reply reply =
        ErrorReply(dialect, 429, decide::ErrorCode::kRateLimitExceeded, "rate limit exceeded");
    for (Header& header : *headers) reply.headers.push_back(std::move(header));
    return reply;
  }
  if (!require_key_ || Keys::Find(*keys_->store().Snapshot(), head.headers) != nullptr) {
    return std::nullopt;
  }
  refused_.key.fetch_add(1, std::memory_order_relaxed);
  return InvalidKeyReply(dialect);
}

bool Service::SetCaller(const Request& request, RouteRequest* route) const {
  route->client_ip = request.peer;
  const auto keys = keys_->store().Snapshot();
  const VirtualKey* const key = Keys::Find(*keys, request.headers);
  if (key == nullptr) return !require_key_;
  route->key_name = key->spec.name;
  route->key_id = key->id;
  route->allowed_providers = key->spec.limits.providers;
  return true;
}

std::optional<Reply> Service::RefuseScrape(const RequestHead& head) {
  if (!metrics_token_ && api_ != nullptr) return api_->Authenticate(head);
  if (metrics_token_ && metrics_token_->Matches(PresentedKey(head.headers))) return std::nullopt;
  Reply reply = TextReply(401, "invalid metrics token");
  reply.headers.push_back({"WWW-Authenticate", "Bearer"});
  return reply;
}

Admission Service::OnHead(const RequestHead& head, std::string_view path) {
  if (api_ != nullptr && api::Owns(path)) return api_->OnHead(head, path);
  const wire::Dialect dialect = ErrorDialect(path);
  if (WantsKey(path)) {
    if (auto refusal = RefuseCaller(head, path)) return {std::move(refusal)};
  }
  if (path == kMetrics) {
    if (auto refusal = RefuseScrape(head)) return {std::move(refusal)};
  }
  const std::optional<Place> place = FindPlace(path);
  if (!place) return {NotFoundReply(dialect)};
  if (!Allows(place->allow, head.method)) return {MethodNotAllowedReply(dialect, place->allow)};
  if (IsPassthrough(path)) {
    if (const auto error = CheckPassthrough(head)) return {OnError(*error, path)};
  }
  return {std::nullopt, place->proxied, place->needs_body};
}

void Service::OnRequest(Request request, std::shared_ptr<Responder> responder) {
  if (api_ != nullptr && api::Owns(request.path))
    return api_->Stream(request, std::move(responder));
  RouteRequest route;
  if (const wire::EndpointRow* row = wire::FindEndpoint(request.path)) {
    route.endpoint = row->endpoint;
  } else {
    route.endpoint = Endpoint::kPassthrough;
    route.passthrough = ReadPassthrough(request.method, request.target, request.headers);
  }
  route.body = std::move(request.body);
  route.content_type = FindHeader(request.headers, "content-type");
  route.idempotency_key = FindHeader(request.headers, "idempotency-key");
  if (!SetCaller(request, &route)) {
    // The key was taken away while the body came.
    Reply refusal = InvalidKeyReply(ErrorDialect(request.path));
    responder->Begin(refusal.status, refusal.headers, false);
    responder->WriteWhole(std::move(refusal.body));
    return responder->End();
  }
  Hotel* const hotel = hotel_.load();
  auto sink = std::make_shared<AnswerSink>(responder);
  // A passthrough is not looked into.
  if (route.body->size() <= kReadOnLoop || route.endpoint == Endpoint::kPassthrough) {
    std::shared_ptr<Call> call = hotel->Start(std::move(route), std::move(sink));
    responder->Watch([call] { call->Resume(); }, [call] { call->Cancel(); });
    return;
  }
  auto call = std::make_shared<LateCall>();
  responder->Watch([call] { call->Resume(); }, [call] { call->Cancel(); });
  // Also when the client leaves meanwhile: its request has come, so it is recorded.
  reader_.Run([hotel, route = std::move(route), sink = std::move(sink), call]() mutable {
    call->Set(hotel->Start(std::move(route), std::move(sink)));
  });
}

std::string Service::OnPlain(const Request& request, bool keep_alive) {
  if (api_ != nullptr && api::Owns(request.path)) return api_->Answer(request, keep_alive);
  return plain_.Answer(request, keep_alive);
}

void Service::AddPlainRoutes() {
  plain_.Get(std::string(kHealth), [](const Request&) { return TextReply(200, "OK"); });
  plain_.Get(std::string(kReady), [this](const Request&) {
    if (stopping_.load()) return readiness_->Check(Readiness::Phase::kStopping);
    return readiness_->Check(hotel_.load() == nullptr ? Readiness::Phase::kStarting
                                                      : Readiness::Phase::kServing);
  });
  plain_.Get(std::string(kMetrics), [this](const Request&) {
    if (metrics_ == nullptr) return NotFoundReply(wire::Dialect::kChat);
    return Reply{200,
                 {{"content-type", "text/plain; version=0.0.4; charset=utf-8"}},
                 metrics_->Page(hotel_.load(), log_, &refused_)};
  });
  plain_.Get(std::string(kModels), [this](const Request& request) { return ListModels(request); });
}

Reply Service::ListModels(const Request& request) const {
  const wire::Dialect dialect = ErrorDialect(kModels);
  RouteRequest caller;
  if (!SetCaller(request, &caller)) return InvalidKeyReply(dialect);
  Hotel* const hotel = hotel_.load();
  // A pass that is dropped leaves what was taken of the key's rate.
  if (const auto pass = keys_->gate().Arrive(caller.key_id)) {
    const auto settings = hotel->settings().Current();
    GateQuestion question;
    question.settings = settings.get();
    question.now = std::chrono::steady_clock::now();
    question.wall =
        std::chrono::time_point_cast<WallTime::duration>(std::chrono::system_clock::now());
    question.served = false;
    const GateAnswer answer = pass->Ask(question);
    if (answer.kind != GateAnswer::Kind::kEnter) return GateReply(dialect, answer);
  }
  return ModelsReply(hotel->router().Models(caller.allowed_providers.get()), started_);
}

Reply Service::OnError(const RequestError& error, std::string_view path) {
  auto reply = api::Owns(path)
                   ? TextReply(error.status, error.message)
                   : ErrorReply(ErrorDialect(path), error.status, error.code, error.message);
  if (error.status == 503) reply.headers.push_back({"Retry-After", "1"});
  return reply;
}

}  // namespace hotel::server
