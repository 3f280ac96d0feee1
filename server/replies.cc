#include "server/replies.h"

#include <nlohmann/json.hpp>

#include "libhotel/base/ids.h"
#include "libhotel/wire/errors.h"

namespace hotel::server {

Reply TextReply(int status, std::string_view text) {
  return {status, {{"content-type", "text/plain"}}, std::string(text)};
}

Reply ErrorReply(int status, decide::ErrorCode code, std::string_view message) {
  return {status,
          {{"content-type", "application/json"}, {"x-hotel-request-id", base::NewRequestId()}},
          wire::OpenAiError(status, decide::ErrorCodeWord(code), message)};
}

Reply NotFoundReply() {
  return ErrorReply(404, decide::ErrorCode::kNotFound, "there is nothing under this path");
}

Reply InvalidKeyReply() {
  auto reply = ErrorReply(401, decide::ErrorCode::kInvalidVirtualKey, "invalid virtual key");
  reply.headers.push_back({"WWW-Authenticate", "Bearer"});
  return reply;
}

Reply MethodNotAllowedReply(std::string_view allow) {
  auto reply = ErrorReply(405, decide::ErrorCode::kMethodNotAllowed,
                          "this path does not answer to that method");
  reply.headers.push_back({"Allow", std::string(allow)});
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
