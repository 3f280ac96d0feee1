#include "server/service.h"

#include <array>
#include <chrono>
#include <string>
#include <utility>

#include "libhotel/base/strings.h"
#include "server/late_call.h"
#include "server/replies.h"

namespace hotel::server {
namespace {

constexpr std::string_view kHealth = "/health";
constexpr std::string_view kReady = "/health/ready";
constexpr std::string_view kModels = "/v1/models";
constexpr std::string_view kChat = "/v1/chat/completions";

/// A body larger than this is read on a thread of its own: there it takes half a millisecond and
/// more, in which the loop would serve nobody.
constexpr std::size_t kReadOnLoop = std::size_t{256} << 10;

struct Path {
  std::string_view path;
  std::string_view allow;  ///< for Allow; a GET path answers HEAD too
  bool proxied;            ///< goes to the router, on its loop
};
constexpr std::array<Path, 4> kPaths = {{
    {kHealth, "GET, HEAD", false},
    {kReady, "GET, HEAD", false},
    {kModels, "GET, HEAD", false},
    {kChat, "POST", true},
}};

/// Hands an answer of the router to the client's connection.
class AnswerSink final : public StreamSink {
 public:
  explicit AnswerSink(std::shared_ptr<Responder> responder) : responder_(std::move(responder)) {}

  void OnHead(const AnswerHead& head) override {
    if (!head.streaming) return responder_->Begin(head.status, head.headers, false);
    // No caching, and no buffering by a proxy in front of the sidecar.
    HeaderList headers = head.headers;
    headers.push_back({"Cache-Control", "no-cache"});
    headers.push_back({"X-Accel-Buffering", "no"});
    responder_->Begin(head.status, headers, true);
  }
  Flow OnBody(std::string_view bytes) override { return responder_->Write(bytes); }
  void OnWholeBody(std::string bytes) override { responder_->WriteWhole(std::move(bytes)); }
  void OnEnd(const AnswerEnd&) override { responder_->End(); }

 private:
  const std::shared_ptr<Responder> responder_;
};

bool WantsKey(std::string_view path) { return base::StartsWith(path, "/v1/") || path == "/v1"; }

bool Allows(const Path& row, std::string_view method) {
  for (const auto allowed : base::Split(row.allow, ',')) {
    if (base::Trim(allowed) == method) return true;
  }
  return false;
}

}  // namespace

Service::Service(const VirtualKeys* keys, bool require_key)
    : keys_(keys),
      require_key_(require_key),
      started_(std::chrono::duration_cast<std::chrono::seconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count()),
      plain_([](const Request&) { return NotFoundReply(); }) {
  AddPlainRoutes();
}

std::optional<Reply> Service::Authenticate(const HeaderList& headers) const {
  if (!require_key_ || keys_->Find(PresentedKey(headers))) return std::nullopt;
  return InvalidKeyReply();
}

Admission Service::OnHead(const RequestHead& head, std::string_view path) {
  if (WantsKey(path)) {
    if (auto refused = Authenticate(head.headers)) return {std::move(refused)};
  }
  for (const auto& row : kPaths) {
    if (row.path != path) continue;
    if (!Allows(row, head.method)) return {MethodNotAllowedReply(row.allow)};
    if (WantsKey(path) && hotel_.load() == nullptr) {
      auto reply =
          ErrorReply(503, decide::ErrorCode::kStarting, "the sidecar is starting; retry shortly");
      reply.headers.push_back({"Retry-After", "1"});
      return {std::move(reply)};
    }
    return {std::nullopt, row.proxied};
  }
  return {NotFoundReply()};
}

void Service::OnRequest(Request request, std::shared_ptr<Responder> responder) {
  RouteRequest route;
  route.endpoint = Endpoint::kChatCompletions;
  route.body = std::move(request.body);
  route.idempotency_key = FindHeader(request.headers, "idempotency-key");
  if (!keys_->empty()) route.key_name = keys_->Find(PresentedKey(request.headers)).value_or("");
  Hotel* const hotel = hotel_.load();
  auto sink = std::make_shared<AnswerSink>(responder);
  if (route.body->size() <= kReadOnLoop) {
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
  return plain_.Answer(request, keep_alive);
}

void Service::AddPlainRoutes() {
  plain_.Get(std::string(kHealth), [](const Request&) { return TextReply(200, "OK"); });
  plain_.Get(std::string(kReady), [this](const Request&) {
    return hotel_.load() == nullptr ? TextReply(503, "starting") : TextReply(200, "OK");
  });
  plain_.Get(std::string(kModels), [this](const Request&) {
    return ModelsReply(hotel_.load()->router().Models(), started_);
  });
}

Reply Service::OnError(const RequestError& error) {
  auto reply = ErrorReply(error.status, error.code, error.message);
  if (error.status == 503) reply.headers.push_back({"Retry-After", "1"});
  return reply;
}

}  // namespace hotel::server
