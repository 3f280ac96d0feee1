// Chat stream frames for scripts, without the blank line that ends them.
#ifndef HOTEL_TESTS_SCENARIO_FRAMES_H_
#define HOTEL_TESTS_SCENARIO_FRAMES_H_

#include <string>
#include <vector>

#include "hotel/testing/fake_dispatcher.h"

namespace hotel::scenario {

inline std::string Delta(const std::string& delta, const std::string& finish = "null") {
  return R"(data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[)"
         R"({"index":0,"delta":)" +
         delta + R"(,"finish_reason":)" + finish + "}]}";
}
inline std::string Role() { return Delta(R"({"role":"assistant","content":""})"); }
inline std::string Text(const std::string& text) { return Delta("{\"content\":\"" + text + "\"}"); }
inline std::string Fin(const std::string& reason = "stop") {
  return Delta("{}", "\"" + reason + "\"");
}
inline std::string Usage() {
  return R"(data: {"id":"c","object":"chat.completion.chunk","choices":[],"usage":{"total_tokens":3}})";
}
inline std::string Done() { return "data: [DONE]"; }
inline std::string ErrorFrame(const std::string& code) {
  return R"(data: {"error":{"message":"overloaded","code":)" + code + "}}";
}

/// The frames as bytes.
inline std::string Bytes(const std::vector<std::string>& frames) {
  std::string bytes;
  for (const std::string& frame : frames) bytes += frame + "\n\n";
  return bytes;
}

/// An SSE head and these frames, and then nothing yet: add `End`, `Fail`, `Hang`.
inline testing::Script Open(const std::vector<std::string>& frames) {
  testing::Script script;
  script.Head(200, {{"content-type", "text/event-stream"}});
  for (const std::string& frame : frames) script.Bytes(frame + "\n\n");
  return script;
}

inline testing::Script Cut(testing::Script script) {
  return script.Fail(TransportError::kInterrupted, TransportPhase::kBody, "connection reset");
}

}  // namespace hotel::scenario

#endif  // HOTEL_TESTS_SCENARIO_FRAMES_H_
