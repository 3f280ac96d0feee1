// The events of a stream, dialect by dialect.
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

#include "server/sim/answer_parts.h"

namespace hotel::sim {
namespace {

constexpr std::string_view kNotJson = R"({"id":"sim","choices":[{"delta":)";

/// A string's JSON form without its quotes.
std::string_view Inner(std::string_view json_string) {
  return json_string.substr(1, json_string.size() - 2);
}

std::string ChatChunk(const AnswerContext& c, std::string_view choices,
                      std::string_view tail = "") {
  return fmt::format(
      R"({{"id":"chatcmpl-sim{}","object":"chat.completion.chunk","created":{},"model":{},)"
      R"("choices":[{}]{}}})",
      c.id, kCreated, c.model_json, choices, tail);
}

}  // namespace

void StreamWriter::Event(std::string_view name, std::string_view data, std::string* out) {
  const std::string_view end = context_.crlf ? "\r\n" : "\n";
  if (!name.empty()) fmt::format_to(std::back_inserter(*out), "event: {}{}", name, end);
  fmt::format_to(std::back_inserter(*out), "data: {}{}{}", data, end, end);
}

std::string StreamWriter::ResponseObject(std::string_view status, int tokens) const {
  if (status != "completed") return ResponseBody(context_, status, "", "null");
  return ResponseBody(context_, status, ResponseItem(status), ResponseUsage(context_, tokens));
}

std::string StreamWriter::ResponseItem(std::string_view status) const {
  const std::string text = fmt::format("\"{}\"", full_text_);
  if (context_.tool_call) return FunctionCall(context_, status, text);
  return OutputItem(context_.id, status, status == "completed" ? OutputText(text) : "");
}

std::string_view StreamWriter::ItemPrefix() const { return context_.tool_call ? "fc" : "msg"; }

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
      if (context_.tool_call) return;
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
      if (context_.tool_call) return;
      Event("response.output_item.added",
            fmt::format(R"({{"type":"response.output_item.added","sequence_number":{},)"
                        R"("output_index":0,"item":{}}})",
                        sequence_++, ResponseItem("in_progress")),
            out);
      Event("response.content_part.added",
            fmt::format(R"({{"type":"response.content_part.added","sequence_number":{},)"
                        R"("item_id":"msg_sim{}","output_index":0,"content_index":0,"part":{}}})",
                        sequence_++, context_.id, OutputText(R"("")")),
            out);
      return;
    case Dialect::kEmbeddings:
    case Dialect::kRerank:
    case Dialect::kImages:
    case Dialect::kSpeech:
    case Dialect::kTranscription:
      return;
  }
}

// The name comes in front of the first piece of the arguments and is what counts as output.
void StreamWriter::NameTool(std::string* out) {
  tool_named_ = true;
  switch (context_.dialect) {
    case Dialect::kChat:
      Event("",
            ChatChunk(
                context_,
                fmt::format(R"({{"index":0,"delta":{{"tool_calls":[{{"index":0,"id":"call_sim{}",)"
                            R"("type":"function","function":{{"name":"{}","arguments":""}}}}]}},)"
                            R"("logprobs":null,"finish_reason":null}})",
                            context_.id, kFunction)),
            out);
      return;
    case Dialect::kMessages:
      Event("content_block_start",
            fmt::format(R"({{"type":"content_block_start","index":0,"content_block":)"
                        R"({{"type":"tool_use","id":"toolu_sim{}","name":"{}","input":{{}}}}}})",
                        context_.id, kFunction),
            out);
      return;
    case Dialect::kResponses:
      Event("response.output_item.added",
            fmt::format(R"({{"type":"response.output_item.added","sequence_number":{},)"
                        R"("output_index":0,"item":{}}})",
                        sequence_++, ResponseItem("in_progress")),
            out);
      return;
    case Dialect::kEmbeddings:
    case Dialect::kRerank:
    case Dialect::kImages:
    case Dialect::kSpeech:
    case Dialect::kTranscription:
      return;
  }
}

void StreamWriter::Text(std::string_view text_json, std::string* out) {
  if (context_.tool_call && !tool_named_) NameTool(out);
  constexpr std::size_t kMaxRepeated = 1 << 20;
  const bool repeats = context_.dialect == Dialect::kResponses ||
                       context_.dialect == Dialect::kTranscription ||
                       context_.dialect == Dialect::kImages;
  if (repeats && full_text_.size() + text_json.size() <= kMaxRepeated) {
    full_text_ += Inner(text_json);
  }
  switch (context_.dialect) {
    case Dialect::kChat:
      Event("",
            ChatChunk(
                context_,
                fmt::format(
                    fmt::runtime(context_.tool_call
                                     ? R"({{"index":0,"delta":{{"tool_calls":[{{"index":0,)"
                                       R"("function":{{"arguments":{}}}}}]}},"logprobs":null,)"
                                       R"("finish_reason":null}})"
                                     : R"({{"index":0,"delta":{{"content":{}}},"logprobs":null,)"
                                       R"("finish_reason":null}})"),
                    text_json)),
            out);
      return;
    case Dialect::kMessages:
      Event("content_block_delta",
            fmt::format(
                fmt::runtime(context_.tool_call
                                 ? R"({{"type":"content_block_delta","index":0,)"
                                   R"("delta":{{"type":"input_json_delta","partial_json":{}}}}})"
                                 : R"({{"type":"content_block_delta","index":0,)"
                                   R"("delta":{{"type":"text_delta","text":{}}}}})"),
                text_json),
            out);
      return;
    case Dialect::kResponses: {
      const std::string_view name = context_.tool_call ? "response.function_call_arguments.delta"
                                                       : "response.output_text.delta";
      Event(name,
            fmt::format(R"({{"type":"{}","sequence_number":{},"item_id":"{}_sim{}",)"
                        R"("output_index":0,"content_index":0,"delta":{}}})",
                        name, sequence_++, ItemPrefix(), context_.id, text_json),
            out);
      return;
    }
    case Dialect::kImages:
      Event("image_generation.partial_image",
            fmt::format(R"({{"type":"image_generation.partial_image","partial_image_index":{},)"
                        R"("b64_json":{}}})",
                        sequence_++, text_json),
            out);
      return;
    case Dialect::kSpeech:
      *out += text_json;
      return;
    case Dialect::kTranscription:
      Event("", fmt::format(R"({{"type":"transcript.text.delta","delta":{}}})", text_json), out);
      return;
    case Dialect::kEmbeddings:
    case Dialect::kRerank:
      return;
  }
}

void StreamWriter::Malformed(std::string* out) {
  if (context_.dialect == Dialect::kSpeech) return;  // no bytes of it are malformed
  Event("", kNotJson, out);
}

void StreamWriter::Error(int status, std::string* out) {
  const std::string_view type = ErrorType(context_.dialect, status);
  switch (context_.dialect) {
    case Dialect::kSpeech:
      return;  // has no events
    case Dialect::kChat:
    case Dialect::kEmbeddings:
    case Dialect::kRerank:
    case Dialect::kImages:
    case Dialect::kTranscription:
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
            ChatChunk(
                context_,
                fmt::format(R"({{"index":0,"delta":{{}},"logprobs":null,"finish_reason":"{}"}})",
                            ChatFinish(context_))),
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
            fmt::format(R"({{"type":"message_delta","delta":{{"stop_reason":"{}",)"
                        R"("stop_sequence":null}},"usage":{{"output_tokens":{}}}}})",
                        context_.tool_call ? "tool_use" : "end_turn", tokens),
            out);
      return;
    case Dialect::kResponses:
      FinishResponse(out);
      return;
    case Dialect::kImages:
    case Dialect::kTranscription:
    case Dialect::kEmbeddings:
    case Dialect::kRerank:
    case Dialect::kSpeech:
      return;
  }
}

void StreamWriter::FinishResponse(std::string* out) {
  const std::string text = fmt::format("\"{}\"", full_text_);
  const std::string place = fmt::format(
      R"("item_id":"{}_sim{}","output_index":0,"content_index":0)", ItemPrefix(), context_.id);
  if (context_.tool_call) {
    Event("response.function_call_arguments.done",
          fmt::format(R"({{"type":"response.function_call_arguments.done","sequence_number":{},{},)"
                      R"("name":"{}","arguments":{}}})",
                      sequence_++, place, kFunction, text),
          out);
  } else {
    Event("response.output_text.done",
          fmt::format(R"({{"type":"response.output_text.done","sequence_number":{},{},"text":{}}})",
                      sequence_++, place, text),
          out);
    Event(
        "response.content_part.done",
        fmt::format(R"({{"type":"response.content_part.done","sequence_number":{},{},"part":{}}})",
                    sequence_++, place, OutputText(text)),
        out);
  }
  Event("response.output_item.done",
        fmt::format(R"({{"type":"response.output_item.done","sequence_number":{},)"
                    R"("output_index":0,"item":{}}})",
                    sequence_++, ResponseItem("completed")),
        out);
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
    case Dialect::kImages:
      Event("image_generation.completed",
            fmt::format(R"({{"type":"image_generation.completed","b64_json":"{}","usage":{}}})",
                        full_text_, ImageUsage(context_, tokens)),
            out);
      return;
    case Dialect::kTranscription:
      Event("", fmt::format(R"({{"type":"transcript.text.done","text":"{}"}})", full_text_), out);
      return;
    case Dialect::kEmbeddings:
    case Dialect::kRerank:
    case Dialect::kSpeech:
      return;
  }
}

void StreamWriter::KeepAlive(std::string* out) {
  if (context_.dialect == Dialect::kSpeech) return;
  if (context_.dialect == Dialect::kMessages) {
    Event("ping", R"({"type":"ping"})", out);
    return;
  }
  const std::string_view end = context_.crlf ? "\r\n" : "\n";
  fmt::format_to(std::back_inserter(*out), ": keep-alive{}{}", end, end);
}

}  // namespace hotel::sim
