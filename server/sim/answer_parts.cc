#include "server/sim/answer_parts.h"

#include <fmt/format.h>

namespace hotel::sim {

std::string_view ErrorType(Dialect dialect, int status) {
  if (dialect == Dialect::kMessages) {
    switch (status) {
      case 401:
        return "authentication_error";
      case 403:
        return "permission_error";
      case 404:
        return "not_found_error";
      case 413:
        return "request_too_large";
      case 429:
        return "rate_limit_error";
      case 503:
      case 529:
        return "overloaded_error";
      default:
        return status >= 500 ? "api_error" : "invalid_request_error";
    }
  }
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 429:
      return "rate_limit_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

std::string OutputItem(std::uint64_t id, std::string_view status, std::string_view content) {
  return fmt::format(
      R"({{"id":"msg_sim{}","type":"message","status":"{}","role":"assistant","content":[{}]}})",
      id, status, content);
}

std::string OutputText(std::string_view text_json) {
  return fmt::format(R"({{"type":"output_text","text":{},"annotations":[]}})", text_json);
}

std::string ResponseBody(const AnswerContext& c, std::string_view status, std::string_view output,
                         std::string_view usage) {
  return fmt::format(
      R"({{"id":"resp_sim{}","object":"response","created_at":{},"status":"{}","error":null,)"
      R"("incomplete_details":null,"instructions":null,"metadata":{{}},"model":{},"output":[{}],)"
      R"("parallel_tool_calls":true,"temperature":1.0,"tool_choice":"auto","tools":[],"top_p":1.0,)"
      R"("usage":{}}})",
      c.id, kCreated, status, c.model_json, output, usage);
}

std::string ResponseUsage(const AnswerContext& c, int tokens) {
  return fmt::format(
      R"({{"input_tokens":{},"input_tokens_details":{{"cached_tokens":0}},"output_tokens":{},)"
      R"("output_tokens_details":{{"reasoning_tokens":0}},"total_tokens":{}}})",
      c.input_tokens, tokens, c.input_tokens + tokens);
}

std::string ChatUsage(const AnswerContext& c, int tokens) {
  return fmt::format(R"({{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{}}})",
                     c.input_tokens, tokens, c.input_tokens + tokens);
}

std::string FunctionCall(const AnswerContext& c, std::string_view status,
                         std::string_view arguments_json) {
  return fmt::format(
      R"({{"id":"fc_sim{}","type":"function_call","status":"{}","call_id":"call_sim{}",)"
      R"("name":"{}","arguments":{}}})",
      c.id, status, c.id, kFunction, arguments_json);
}

std::string_view ChatFinish(const AnswerContext& c) { return c.tool_call ? "tool_calls" : "stop"; }

std::string ImageUsage(const AnswerContext& c, int tokens) {
  return fmt::format(R"({{"input_tokens":{},"output_tokens":{},"total_tokens":{}}})",
                     c.input_tokens, tokens, c.input_tokens + tokens);
}

}  // namespace hotel::sim
