#include "server/replies.h"

#include <nlohmann/json.hpp>

#include "libhotel/base/ids.h"
#include "libhotel/base/strings.h"
#include "libhotel/wire/errors.h"

namespace hotel::server {

Reply TextReply(int status, std::string_view text) {
  return {status, {{"content-type", "text/plain"}}, std::string(text)};
}

wire::Dialect ErrorDialect(std::string_view path) {
  // What stands below an endpoint is asked for by the same clients.
  constexpr std::string_view kMessages = "/v1/messages";
  const bool messages = base::StartsWith(path, kMessages) &&
                        (path.size() == kMessages.size() || path[kMessages.size()] == '/');
  return messages ? wire::Dialect::kMessages : wire::Dialect::kChat;
}

Reply ErrorReply(wire::Dialect dialect, int status, decide::ErrorCode code,
                 std::string_view message) {
  return {status,
          {{"content-type", "application/json"}, {"x-hotel-request-id", base::NewRequestId()}},
          wire::ErrorBody(dialect, status, decide::ErrorCodeWord(code), message)};
}

Reply NotFoundReply(wire::Dialect dialect) {
  return ErrorReply(dialect, 404, decide::ErrorCode::kNotFound, "there is nothing under this path");
}

Reply InvalidKeyReply(wire::Dialect dialect) {
  auto reply =
      ErrorReply(dialect, 401, decide::ErrorCode::kInvalidVirtualKey, "invalid virtual key");
  reply.headers.push_back({"WWW-Authenticate", "Bearer"});
  return reply;
}

Reply MethodNotAllowedReply(wire::Dialect dialect, std::string_view allow) {
  auto reply = ErrorReply(dialect, 405, decide::ErrorCode::kMethodNotAllowed,
                          "this path does not answer to that method");
  reply.headers.push_back({"Allow", std::string(allow)});
  return reply;
}

Reply GateReply(wire::Dialect dialect, const GateAnswer& answer) {
  Reply reply{answer.status,
              {{"content-type", "application/json"}, {"x-hotel-request-id", base::NewRequestId()}},
              wire::ErrorBody(dialect, answer.status, answer.code, answer.message)};
  reply.headers.insert(reply.headers.end(), answer.headers.begin(), answer.headers.end());
  return reply;
}

Reply ModelsReply(const std::vector<ModelListing>& models, long long created) {
  auto rows = nlohmann::ordered_json::array();
  for (const auto& model : models) {
    rows.push_back({{"id", model.id},
                    {"object", "model"},
                    {"created", created},
                    {"owned_by", model.owned_by},
                    {"provider", model.provider}});
  }
  const nlohmann::ordered_json list = {{"object", "list"}, {"data", std::move(rows)}};
  // Names come from operators and providers: bytes that are not UTF-8 must not end the answer.
  return {200,
          {{"content-type", "application/json"}, {"x-hotel-request-id", base::NewRequestId()}},
          list.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)};
}

}  // namespace hotel::server
