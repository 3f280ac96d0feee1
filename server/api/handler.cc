#include "server/api/handler.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "libhotel/base/strings.h"
#include "server/api/answers.h"
#include "server/api/route.h"
#include "server/response_head.h"
#include "server/presented_key.h"

namespace hotel::server::api {
namespace {

Reply Unauthorized() {
  Reply reply = Refusal(401, "invalid admin token");
  reply.headers.push_back({"WWW-Authenticate", "Bearer"});
  return reply;
}

/// A HEAD is answered as the GET it asks about; the front leaves the body out.
std::string_view MethodOf(std::string_view method) { return method == "HEAD" ? "GET" : method; }

}  // namespace

bool Owns(std::string_view path) {
  return base::StartsWith(path, "/api") && (path.size() == 4 || path[4] == '/');
}

std::optional<Reply> Handler::Authenticate(const RequestHead& head) {
  const TimePoint now = std::chrono::steady_clock::now();
  const std::string peer = ThrottleKey(head.peer);
  base::MutexLock lock(&mutex_);
  if (const Duration wait = throttle_.Wait(peer, now); wait > Duration::zero()) {
    Reply reply = Refusal(429, "too many wrong admin tokens; try again later");
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
    reply.headers.push_back({"Retry-After", std::to_string(seconds)});
    return reply;
  }
  const std::string_view presented = PresentedKey(head.headers);
  if (token_.Matches(presented)) return std::nullopt;
  // Nobody guesses with nothing.
  if (!presented.empty()) throttle_.Wrong(peer, now);
  return Unauthorized();
}

Admission Handler::OnHead(const RequestHead& head, std::string_view path) {
  if (auto refusal = Authenticate(head)) return {std::move(refusal)};
  const Match match = FindRoute(MethodOf(head.method), path);
  if (match.route == nullptr && match.allow.empty()) {
    return {Refusal(404, "there is nothing under this path")};
  }
  if (match.route == nullptr || (match.route->streams && head.method == "HEAD")) {
    Reply reply = Refusal(405, "this path does not answer to that method");
    reply.headers.push_back({"Allow", match.allow});
    return {std::move(reply)};
  }
  if (context_.load() == nullptr) {
    Reply reply = Refusal(503, "the sidecar is starting; retry shortly");
    reply.headers.push_back({"Retry-After", "1"});
    return {std::move(reply)};
  }
  return {std::nullopt, match.route->streams};
}

void Handler::Stream(const Request& request, std::shared_ptr<Responder> responder) {
  // The only route of its kind.
  events_->Listen(FindHeader(request.headers, "last-event-id"), std::move(responder));
}

std::string Handler::Answer(const Request& request, bool keep_alive) const {
  const Reply reply = HandleIfFree(request);
  std::string bytes;
  AppendResponseHead(reply.status, reply.headers, keep_alive, "", &bytes);
  if (reply.status == 204) return bytes;
  std::string head(bytes, 0, bytes.size() - 2);  // the length comes in front of the blank line
  bytes.clear();
  AppendWholeHead(head, reply.body.size(), &bytes);
  if (request.method != "HEAD") bytes += reply.body;
  return bytes;
}

Reply Handler::HandleIfFree(const Request& request) const {
  Reply reply;
  if (answered_.fetch_add(1) < kMostAnswered) {
    reply = Handle(request);
  } else {
    reply = Refusal(503, "too many requests are being answered; retry shortly");
    reply.headers.push_back({"Retry-After", "1"});
  }
  answered_.fetch_sub(1);
  return reply;
}

Reply Handler::Handle(const Request& request) const {
  Match match = FindRoute(MethodOf(request.method), request.path);
  if (match.route == nullptr) return Refusal(404, "there is nothing under this path");
  std::optional<Query> query = Query::Parse(request.target);
  if (!query) return Refusal(400, "the query is malformed or names a parameter twice");
  for (const auto& [name, value] : query->items()) {
    bool known = false;
    for (const Param& param : match.route->query) known = known || param.name == name;
    if (!known)
      return Refusal(400, fmt::format("unknown query parameter: {}", name.substr(0, 100)));
  }
  Call call{&request, std::move(match.path), *std::move(query), {}};
  const absl::Status status = ReadBody(*match.route, *request.body, &call.body);
  if (!status.ok()) return StatusReply(status);
  return match.route->handle(*context_.load(), call);
}

}  // namespace hotel::server::api
