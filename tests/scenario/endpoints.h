// Requests to any endpoint, and frames of the dialects that are not chat.
#ifndef HOTEL_TESTS_SCENARIO_ENDPOINTS_H_
#define HOTEL_TESTS_SCENARIO_ENDPOINTS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hotel/router.h"
#include "hotel/testing/fake_dispatcher.h"

#include "tests/scenario/harness.h"

namespace hotel::scenario {

inline RouteRequest To(Endpoint endpoint, std::string body) {
  RouteRequest request;
  request.endpoint = endpoint;
  request.body = std::make_shared<const std::string>(std::move(body));
  request.key_name = "dev";
  return request;
}

inline Client AskFor(Harness& h, RouteRequest request) {
  Client client = h.Send(std::move(request));
  h.Wait(client);
  return client;
}

inline Client AskFor(Harness& h, Endpoint endpoint, std::string body) {
  return AskFor(h, To(endpoint, std::move(body)));
}

/// Providers `u1`, `u2` of this type over `hotel/demo`.
inline void Twins(Harness& h, const std::string& type) {
  const std::string key = type.rfind("anthropic", 0) == 0 ? "k" : "";
  for (const char* name : {"u1", "u2"}) testing::AddProvider(*h.store, name, key, type);
  testing::AddGroup(*h.store, "demo", {"u1/m", "u2/m"});
}

/// A typed event: `event:` and the same word in the data.
inline std::string Typed(const std::string& name, const std::string& rest = "") {
  return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + rest + "}";
}

inline std::string MessageStart() {
  return Typed("message_start",
               R"(,"message":{"id":"m","type":"message","role":"assistant","content":[],)"
               R"("usage":{"input_tokens":11,"cache_read_input_tokens":4,"output_tokens":1}})");
}
inline std::string BlockStart() {
  return Typed("content_block_start", R"(,"index":0,"content_block":{"type":"text","text":""})");
}
inline std::string BlockText(const std::string& text) {
  return Typed("content_block_delta",
               R"(,"index":0,"delta":{"type":"text_delta","text":")" + text + "\"}");
}
inline std::string BlockStop() { return Typed("content_block_stop", R"(,"index":0)"); }
inline std::string MessageDelta() {
  return Typed("message_delta",
               R"(,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7})");
}
inline std::string MessageStop() { return Typed("message_stop"); }
inline std::vector<std::string> MessageFrames(const std::string& text) {
  return {MessageStart(), BlockStart(),   BlockText(text),
          BlockStop(),    MessageDelta(), MessageStop()};
}

inline std::string ResponseCreated() {
  return Typed("response.created", R"(,"response":{"id":"r","status":"in_progress"})");
}
inline std::string ResponseText(const std::string& text) {
  return Typed("response.output_text.delta", R"(,"item_id":"i","delta":")" + text + "\"");
}
inline std::string ResponseCompleted() {
  return Typed("response.completed",
               R"(,"response":{"id":"r","status":"completed","usage":{"input_tokens":11,)"
               R"("output_tokens":7,"output_tokens_details":{"reasoning_tokens":2}}})");
}
inline std::string ResponseFailed(const std::string& code) {
  return Typed("response.failed", R"(,"response":{"id":"r","status":"failed","error":{"code":)" +
                                      code + R"(,"message":"overloaded"}})");
}

inline const char* StreamBody() { return R"({"model":"hotel/demo","stream":true})"; }

inline std::vector<std::string> ResponseFrames(const std::string& text) {
  return {ResponseCreated(), ResponseText(text), ResponseCompleted()};
}

inline constexpr Endpoint kMessages = Endpoint::kMessages;
inline constexpr Endpoint kResponses = Endpoint::kResponses;

/// A small stream of the dialect from `hotel/demo`.
inline Client AskMessages(Harness& h) { return AskFor(h, kMessages, StreamBody()); }
inline Client AskResponses(Harness& h) { return AskFor(h, kResponses, StreamBody()); }

}  // namespace hotel::scenario

#endif  // HOTEL_TESTS_SCENARIO_ENDPOINTS_H_
