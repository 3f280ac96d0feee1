#include "server/sim/answers.h"

#include <array>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>

#include "server/sim/answer_parts.h"

namespace hotel::sim {
namespace {

std::string ChatMessage(const AnswerContext& c, std::string_view text_json) {
  if (!c.tool_call) {
    return fmt::format(R"({{"role":"assistant","content":{},"refusal":null}})", text_json);
  }
  return fmt::format(
      R"({{"role":"assistant","content":null,"refusal":null,"tool_calls":[{{"id":"call_sim{}",)"
      R"("type":"function","function":{{"name":"{}","arguments":{}}}}}]}})",
      c.id, kFunction, text_json);
}

/// `arguments_json` is a JSON string that holds an object, which Messages writes as one.
std::string MessageContent(const AnswerContext& c, std::string_view text_json) {
  if (!c.tool_call) return fmt::format(R"({{"type":"text","text":{}}})", text_json);
  return fmt::format(R"({{"type":"tool_use","id":"toolu_sim{}","name":"{}","input":{}}})", c.id,
                     kFunction, nlohmann::json::parse(text_json).get<std::string>());
}

/// A small vector that depends on the place alone.
std::string Vector(const AnswerContext& c, int index) {
  const std::array<float, 4> values = {0.25F, -0.5F, 1.0F, static_cast<float>(index)};
  if (!c.base64) return fmt::format("[{},{},{},{}]", values[0], values[1], values[2], values[3]);
  std::array<unsigned char, sizeof(values)> bytes;
  std::memcpy(bytes.data(), values.data(), sizeof(values));
  std::array<unsigned char, 4 * (sizeof(values) + 2) / 3 + 1> text;
  const int size = EVP_EncodeBlock(text.data(), bytes.data(), static_cast<int>(bytes.size()));
  return fmt::format("\"{}\"", std::string_view(reinterpret_cast<const char*>(text.data()),
                                                static_cast<std::size_t>(size)));
}

std::string EmbeddingsBody(const AnswerContext& c) {
  std::string rows;
  for (int i = 0; i < c.inputs; ++i) {
    fmt::format_to(std::back_inserter(rows),
                   R"({}{{"object":"embedding","index":{},"embedding":{}}})", i == 0 ? "" : ",", i,
                   Vector(c, i));
  }
  return fmt::format(
      R"({{"object":"list","data":[{}],"model":{},"usage":{{"prompt_tokens":{},"total_tokens":{}}}}})",
      rows, c.model_json, c.input_tokens, c.input_tokens);
}

std::string RerankBody(const AnswerContext& c) {
  std::string rows;
  for (int i = 0; i < c.inputs; ++i) {
    fmt::format_to(std::back_inserter(rows), R"({}{{"index":{},"relevance_score":{:.3f}}})",
                   i == 0 ? "" : ",", i, 1.0 / (i + 1));
  }
  return fmt::format(
      R"({{"id":"rerank-sim{}","model":{},"results":[{}],"usage":{{"total_tokens":{}}}}})", c.id,
      c.model_json, rows, c.input_tokens);
}

}  // namespace

bool CanStream(Dialect dialect) {
  return dialect != Dialect::kEmbeddings && dialect != Dialect::kRerank;
}

std::string_view ContentType(Dialect dialect, bool stream) {
  if (AlwaysStreams(dialect)) return "audio/mpeg";
  return stream ? "text/event-stream" : "application/json";
}

std::string JsonString(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string PlainBody(const AnswerContext& c, std::string_view text_json, int tokens) {
  switch (c.dialect) {
    case Dialect::kChat:
      return fmt::format(
          R"({{"id":"chatcmpl-sim{}","object":"chat.completion","created":{},"model":{},)"
          R"("choices":[{{"index":0,"message":{},"logprobs":null,"finish_reason":"{}"}}],"usage":{}}})",
          c.id, kCreated, c.model_json, ChatMessage(c, text_json), ChatFinish(c),
          ChatUsage(c, tokens));
    case Dialect::kMessages:
      return fmt::format(R"({{"id":"msg_sim{}","type":"message","role":"assistant","model":{},)"
                         R"("content":[{}],"stop_reason":"{}","stop_sequence":null,)"
                         R"("usage":{{"input_tokens":{},"output_tokens":{}}}}})",
                         c.id, c.model_json, MessageContent(c, text_json),
                         c.tool_call ? "tool_use" : "end_turn", c.input_tokens, tokens);
    case Dialect::kResponses:
      return ResponseBody(c, "completed",
                          c.tool_call ? FunctionCall(c, "completed", text_json)
                                      : OutputItem(c.id, "completed", OutputText(text_json)),
                          ResponseUsage(c, tokens));
    case Dialect::kEmbeddings:
      return EmbeddingsBody(c);
    case Dialect::kRerank:
      return RerankBody(c);
    case Dialect::kImages:
      return fmt::format(R"({{"created":{},"data":[{{"b64_json":{}}}],"usage":{}}})", kCreated,
                         text_json, ImageUsage(c, tokens));
    case Dialect::kTranscription:
      return fmt::format(R"({{"text":{}}})", text_json);
    case Dialect::kSpeech:
      break;
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

}  // namespace hotel::sim
