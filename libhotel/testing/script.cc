#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotel/testing/fake_dispatcher.h"

namespace hotel::testing {
namespace {

std::string JsonText(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

std::string Chunk(const std::string& choice) {
  return "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,"
         "\"model\":\"m\",\"choices\":[" +
         choice + "]}";
}

}  // namespace

Script& Script::After(Duration delay) {
  Step step;
  step.kind = Step::Kind::kAfter;
  step.delay = delay;
  steps_.push_back(std::move(step));
  return *this;
}

Script& Script::Head(int status, HeaderList headers) {
  Step step;
  step.kind = Step::Kind::kHead;
  step.status = status;
  step.headers = std::move(headers);
  steps_.push_back(std::move(step));
  return *this;
}

Script& Script::Bytes(std::string bytes) {
  Step step;
  step.kind = Step::Kind::kBytes;
  step.bytes = std::move(bytes);
  steps_.push_back(std::move(step));
  return *this;
}

Script& Script::End() {
  Step step;
  step.kind = Step::Kind::kEnd;
  steps_.push_back(std::move(step));
  return *this;
}

Script& Script::Fail(TransportError error, TransportPhase phase, std::string detail) {
  Step step;
  step.kind = Step::Kind::kFail;
  step.error = error;
  step.phase = phase;
  step.bytes = std::move(detail);
  steps_.push_back(std::move(step));
  return *this;
}

Script& Script::Hang() {
  steps_.emplace_back();
  return *this;
}

Script Script::Json(int status, std::string body) {
  Script script;
  script.Head(status, {{"content-type", "application/json"}}).Bytes(std::move(body)).End();
  return script;
}

Script Script::Chat(std::string_view text) {
  return Json(200,
              "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"m\","
              "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":" +
                  JsonText(text) +
                  "},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,"
                  "\"completion_tokens\":1,\"total_tokens\":2}}");
}

Script Script::ChatStream(std::string_view text) {
  std::vector<std::string> frames;
  frames.push_back(
      Chunk("{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
            "\"finish_reason\":null}"));
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t space = text.find(' ', begin);
    const std::size_t end = space == std::string_view::npos ? text.size() : space + 1;
    frames.push_back(
        Chunk("{\"index\":0,\"delta\":{\"content\":" + JsonText(text.substr(begin, end - begin)) +
              "},\"finish_reason\":null}"));
    begin = end;
  }
  frames.push_back(Chunk("{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}"));
  frames.emplace_back("data: [DONE]");
  return Sse(frames);
}

Script Script::Sse(const std::vector<std::string>& frames) {
  Script script;
  script.Head(200, {{"content-type", "text/event-stream"}});
  for (const std::string& frame : frames) script.Bytes(frame + "\n\n");
  script.End();
  return script;
}

Script Script::Refused() {
  Script script;
  script.Fail(TransportError::kConnect, TransportPhase::kNotSent, "connection refused");
  return script;
}

Script Script::Reset() {
  Script script;
  script.Fail(TransportError::kInterrupted, TransportPhase::kSent, "connection reset by peer");
  return script;
}

}  // namespace hotel::testing
