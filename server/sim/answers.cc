#include "server/sim/answers.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace hotel::sim {
namespace {

constexpr std::int64_t kCreated = 1700000000;
constexpr std::string_view kNotJson = R"({"id":"sim","choices":[{"delta":)";

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

/// A string's JSON form without its quotes.
std::string_view Inner(std::string_view json_string) {
  return json_string.substr(1, json_string.size() - 2);
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

std::string ChatChunk(const AnswerContext& c, std::string_view choices,
                      std::string_view tail = "") {
  return fmt::format(
      R"({{"id":"chatcmpl-sim{}","object":"chat.completion.chunk","created":{},"model":{},)"
      R"("choices":[{}]{}}})",
      c.id, kCreated, c.model_json, choices, tail);
}

}  // namespace

std::string JsonString(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string PlainBody(const AnswerContext& c, std::string_view text_json, int tokens) {
  switch (c.dialect) {
    case Dialect::kChat:
      return fmt::format(
          R"({{"id":"chatcmpl-sim{}","object":"chat.completion","created":{},"model":{},)"
          R"("choices":[{{"index":0,"message":{{"role":"assistant","content":{},"refusal":null}},)"
          R"("logprobs":null,"finish_reason":"stop"}}],"usage":{}}})",
          c.id, kCreated, c.model_json, text_json, ChatUsage(c, tokens));
    case Dialect::kMessages:
      return fmt::format(
          R"({{"id":"msg_sim{}","type":"message","role":"assistant","model":{},)"
          R"("content":[{{"type":"text","text":{}}}],"stop_reason":"end_turn","stop_sequence":null,)"
          R"("usage":{{"input_tokens":{},"output_tokens":{}}}}})",
          c.id, c.model_json, text_json, c.input_tokens, tokens);
    case Dialect::kResponses:
      return ResponseBody(c, "completed", OutputItem(c.id, "completed", OutputText(text_json)),
                          ResponseUsage(c, tokens));
  }
  return {};
}

std::string ErrorBody(Dialect dialect, int status, Wording wording) {
  std::string message = fmt::format("simulated status {}", status);
  std::string_view type = ErrorType(dialect, status);
  std::string_view code = "null";
  if (wording == Wording::kBusy) {
    message = "Too many concurrent requests, please try again shortly.";
    code = R"("concurrency_limit_exceeded")";
  } else if (wording == Wording::kSpent) {
    message = "You exceeded your current quota, please check your plan and billing details.";
    type = "insufficient_quota";
    code = R"("insufficient_quota")";
  }
  if (dialect == Dialect::kMessages) {
    return fmt::format(R"({{"type":"error","error":{{"type":"{}","message":"{}"}}}})",
                       ErrorType(dialect, status), message);
  }
  return fmt::format(R"({{"error":{{"message":"{}","type":"{}","param":null,"code":{}}}}})",
                     message, type, code);
}

std::string HiddenErrorBody(int status) {
  return fmt::format(
      R"({{"error":{{"message":"simulated status {} behind a 200","type":"{}","code":{}}}}})",
      status, ErrorType(Dialect::kChat, status), status);
}

void StreamWriter::Event(std::string_view name, std::string_view data, std::string* out) {
  const std::string_view end = context_.crlf ? "\r\n" : "\n";
  if (!name.empty()) fmt::format_to(std::back_inserter(*out), "event: {}{}", name, end);
  fmt::format_to(std::back_inserter(*out), "data: {}{}{}", data, end, end);
}

std::string StreamWriter::ResponseObject(std::string_view status, int tokens) const {
  if (status != "completed") return ResponseBody(context_, status, "", "null");
  const std::string text = fmt::format("\"{}\"", full_text_);
  return ResponseBody(context_, status, OutputItem(context_.id, status, OutputText(text)),
                      ResponseUsage(context_, tokens));
}

void StreamWriter::Opener(std::string* out) {
  switch (context_.dialect) {
    case Dialect::kChat:
      Event("",
            ChatChunk(context_,
                      R"({"index":0,"delta":{"role":"assistant","content":"","refusal":null},)"
                      R"("logprobs":null,"finish_reason":null})"),
            out);
      return;
    case Dialect::kMessages:
      Event(
          "message_start",
          fmt::format(R"({{"type":"message_start","message":{{"id":"msg_sim{}","type":"message",)"
                      R"("role":"assistant","model":{},"content":[],"stop_reason":null,)"
                      R"("stop_sequence":null,"usage":{{"input_tokens":{},"output_tokens":1}}}}}})",
                      context_.id, context_.model_json, context_.input_tokens),
          out);
      Event("content_block_start",
            R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})",
            out);
      return;
    case Dialect::kResponses:
      for (const std::string_view name : {"response.created", "response.in_progress"}) {
        Event(name,
              fmt::format(R"({{"type":"{}","sequence_number":{},"response":{}}})", name,
                          sequence_++, ResponseObject("in_progress", 0)),
              out);
      }
      Event("response.output_item.added",
            fmt::format(R"({{"type":"response.output_item.added","sequence_number":{},)"
                        R"("output_index":0,"item":{}}})",
                        sequence_++, OutputItem(context_.id, "in_progress", "")),
            out);
      Event("response.content_part.added",
            fmt::format(R"({{"type":"response.content_part.added","sequence_number":{},)"
                        R"("item_id":"msg_sim{}","output_index":0,"content_index":0,"part":{}}})",
                        sequence_++, context_.id, OutputText(R"("")")),
            out);
      return;
  }
}

void StreamWriter::Text(std::string_view text_json, std::string* out) {
  switch (context_.dialect) {
    case Dialect::kChat:
      Event(
          "",
          ChatChunk(context_, fmt::format(R"({{"index":0,"delta":{{"content":{}}},"logprobs":null,)"
                                          R"("finish_reason":null}})",
                                          text_json)),
          out);
      return;
    case Dialect::kMessages:
      Event("content_block_delta",
            fmt::format(R"({{"type":"content_block_delta","index":0,)"
                        R"("delta":{{"type":"text_delta","text":{}}}}})",
                        text_json),
            out);
      return;
    case Dialect::kResponses: {
      constexpr std::size_t kMaxRepeated = 1 << 20;
      if (full_text_.size() + text_json.size() <= kMaxRepeated) full_text_ += Inner(text_json);
      Event("response.output_text.delta",
            fmt::format(R"({{"type":"response.output_text.delta","sequence_number":{},)"
                        R"("item_id":"msg_sim{}","output_index":0,"content_index":0,"delta":{}}})",
                        sequence_++, context_.id, text_json),
            out);
      return;
    }
  }
}

void StreamWriter::Malformed(std::string* out) { Event("", kNotJson, out); }

void StreamWriter::Error(int status, std::string* out) {
  const std::string_view type = ErrorType(context_.dialect, status);
  switch (context_.dialect) {
    case Dialect::kChat:
      Event("",
            fmt::format(R"({{"error":{{"message":"simulated status {}","type":"{}","code":{}}}}})",
                        status, type, status),
            out);
      return;
    case Dialect::kMessages:
      Event("error", ErrorBody(context_.dialect, status), out);
      return;
    case Dialect::kResponses:
      Event("error",
            fmt::format(R"({{"type":"error","sequence_number":{},"code":"{}",)"
                        R"("message":"simulated status {}","param":null}})",
                        sequence_++, status, status),
            out);
      return;
  }
}

void StreamWriter::Finish(int tokens, std::string* out) {
  switch (context_.dialect) {
    case Dialect::kChat:
      Event("",
            ChatChunk(context_, R"({"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"})"),
            out);
      if (context_.include_usage) {
        Event("",
              ChatChunk(context_, "", fmt::format(R"(,"usage":{})", ChatUsage(context_, tokens))),
              out);
      }
      return;
    case Dialect::kMessages:
      Event("content_block_stop", R"({"type":"content_block_stop","index":0})", out);
      Event("message_delta",
            fmt::format(R"({{"type":"message_delta","delta":{{"stop_reason":"end_turn",)"
                        R"("stop_sequence":null}},"usage":{{"output_tokens":{}}}}})",
                        tokens),
            out);
      return;
    case Dialect::kResponses: {
      const std::string text = fmt::format("\"{}\"", full_text_);
      const std::string place =
          fmt::format(R"("item_id":"msg_sim{}","output_index":0,"content_index":0)", context_.id);
      Event(
          "response.output_text.done",
          fmt::format(R"({{"type":"response.output_text.done","sequence_number":{},{},"text":{}}})",
                      sequence_++, place, text),
          out);
      Event("response.content_part.done",
            fmt::format(
                R"({{"type":"response.content_part.done","sequence_number":{},{},"part":{}}})",
                sequence_++, place, OutputText(text)),
            out);
      Event("response.output_item.done",
            fmt::format(R"({{"type":"response.output_item.done","sequence_number":{},)"
                        R"("output_index":0,"item":{}}})",
                        sequence_++, OutputItem(context_.id, "completed", OutputText(text))),
            out);
      return;
    }
  }
}

void StreamWriter::Done(int tokens, std::string* out) {
  switch (context_.dialect) {
    case Dialect::kChat:
      Event("", "[DONE]", out);
      return;
    case Dialect::kMessages:
      Event("message_stop", R"({"type":"message_stop"})", out);
      return;
    case Dialect::kResponses:
      Event("response.completed",
            fmt::format(R"({{"type":"response.completed","sequence_number":{},"response":{}}})",
                        sequence_++, ResponseObject("completed", tokens)),
            out);
      return;
  }
}

void StreamWriter::KeepAlive(std::string* out) {
  if (context_.dialect == Dialect::kMessages) {
    Event("ping", R"({"type":"ping"})", out);
    return;
  }
  const std::string_view end = context_.crlf ? "\r\n" : "\n";
  fmt::format_to(std::back_inserter(*out), ": keep-alive{}{}", end, end);
}

}  // namespace hotel::sim
