#include "libhotel/route/outgoing.h"

#include <algorithm>
#include <string>
#include <utility>

#include "libhotel/base/strings.h"
#include "libhotel/wire/endpoints.h"
#include "libhotel/wire/upstream.h"

namespace hotel::route {
namespace {

constexpr std::string_view kJsonType = "application/json";
constexpr std::string_view kIdempotencyKey = "idempotency-key";
/// Not a secret: a client that names a version of the API means it.
constexpr std::string_view kVersionHeader = "anthropic-version";

wire::Accept AcceptOf(Endpoint endpoint, bool stream) noexcept {
  switch (endpoint) {
    case Endpoint::kChatCompletions:
    case Endpoint::kMessages:
    case Endpoint::kResponses:
      return stream ? wire::Accept::kEventStream : wire::Accept::kJson;
    case Endpoint::kEmbeddings:
    case Endpoint::kRerank:
      return wire::Accept::kJson;
    default:
      return wire::Accept::kAnything;
  }
}

void Remove(HeaderList* headers, std::string_view name) {
  headers->erase(
      std::remove_if(headers->begin(), headers->end(),
                     [&](const Header& h) { return base::EqualsIgnoreCase(h.name, name); }),
      headers->end());
}

absl::StatusOr<UpstreamRequest> MakePassthrough(const RouteRequest& request,
                                                const Candidate& candidate,
                                                std::string_view idempotency_key) {
  auto credential = wire::CredentialHeaders(*candidate.provider);
  if (!credential.ok()) return credential.status();
  UpstreamRequest out;
  out.method = request.passthrough.method;
  out.url = wire::PassthroughUrl(*candidate.provider, request.passthrough.target);
  out.headers = request.passthrough.headers;
  for (Header& header : *credential) {
    const bool given = !FindHeader(out.headers, header.name).empty();
    if (given && base::EqualsIgnoreCase(header.name, kVersionHeader)) continue;
    Remove(&out.headers, header.name);
    out.headers.push_back(std::move(header));
  }
  Remove(&out.headers, kIdempotencyKey);
  if (!idempotency_key.empty()) {
    out.headers.push_back({std::string(kIdempotencyKey), std::string(idempotency_key)});
  }
  if (!request.body->empty()) out.body = Body(request.body);
  return out;
}

/// The client's, wherever it stands.
std::string_view GivenKey(const RouteRequest& request) noexcept {
  const std::string_view header = FindHeader(request.passthrough.headers, kIdempotencyKey);
  return header.empty() ? std::string_view(request.idempotency_key) : header;
}

}  // namespace

bool AsksForUsage(const RouteRequest& request, const wire::RequestPeek& peek,
                  const Candidate& candidate) noexcept {
  if (request.endpoint != Endpoint::kChatCompletions || !peek.stream || peek.wants_usage ||
      peek.usage_place == wire::RequestPeek::UsagePlace::kNowhere) {
    return false;
  }
  const wire::ProviderType* type = wire::FindProviderType(candidate.provider->type);
  return type != nullptr && type->include_usage;
}

bool IsReplaySafe(const RouteRequest& request) noexcept {
  if (request.endpoint != Endpoint::kPassthrough) return true;
  for (const std::string_view method : {"GET", "HEAD", "OPTIONS", "PUT"}) {
    if (request.passthrough.method == method) return true;
  }
  return !wire::UsableIdempotencyKey(GivenKey(request)).empty();
}

absl::StatusOr<UpstreamRequest> MakeOutgoing(const RouteRequest& request,
                                             const wire::RequestPeek& peek,
                                             const Candidate& candidate,
                                             std::string_view idempotency_key) {
  if (request.endpoint == Endpoint::kPassthrough) {
    if (idempotency_key.empty()) idempotency_key = wire::UsableIdempotencyKey(GivenKey(request));
    return MakePassthrough(request, candidate, idempotency_key);
  }
  const std::string_view type = peek.multipart ? std::string_view(request.content_type) : kJsonType;
  auto headers =
      wire::UpstreamHeaders(*candidate.provider, type, AcceptOf(request.endpoint, peek.stream));
  if (!headers.ok()) return headers.status();
  UpstreamRequest out;
  out.url = wire::UpstreamUrl(*candidate.provider, request.endpoint);
  out.headers = *std::move(headers);
  if (!idempotency_key.empty()) {
    out.headers.push_back({std::string(kIdempotencyKey), std::string(idempotency_key)});
  }
  out.body =
      wire::WithModel(request.body, peek, candidate.model, AsksForUsage(request, peek, candidate));
  return out;
}

bool IsPassedOn(std::string_view header_name) noexcept {
  for (const std::string_view name : {"content-disposition", "content-language", "cache-control",
                                      "etag", "last-modified", "retry-after"}) {
    if (base::EqualsIgnoreCase(header_name, name)) return true;
  }
  return false;
}

}  // namespace hotel::route
