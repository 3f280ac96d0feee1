#include "server/ctl/hidden.h"

#include <string>

#include <nlohmann/json.hpp>

#include "hotel/defaults.h"
#include "hotel/rate_limit.h"

#include "libhotel/base/strings.h"
#include "libhotel/wire/error_value.h"
#include "libhotel/wire/hidden_error.h"
#include "libhotel/wire/sse.h"
#include "libhotel/wire/stream_frame.h"

namespace hotel::ctl {
namespace {

using Json = nlohmann::json;

constexpr int kBadGateway = 502;

bool IsErrorStatus(std::int64_t code) { return code >= 400 && code < 600; }

/// A member, or a null value.
const Json& At(const Json& object, const char* name) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto it = object.find(name);
  return it != object.end() ? *it : none;
}

/// A number, also when it is written as a string; 0 when it is none.
std::int64_t Number(const Json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_string()) return 0;
  const std::string& text = value.get_ref<const std::string&>();
  if (text.empty() || text.size() > 9) return 0;
  for (const char c : text) {
    if (!base::IsAsciiDigit(c)) return 0;
  }
  return std::stol(text);
}

/// The status of a refusal whose own code is no HTTP status: what the words mean.
int StatusOfWords(std::string_view text) {
  const auto classifier = MakeRateLimitClassifier();
  const RateLimitReading reading =
      classifier->ReadWords({429, nullptr, text, WallTime(), ""}, std::chrono::minutes(1));
  if (reading.refusal_class != RefusalClass::kUnknown) return 429;
  const std::string lower = base::Lower(text);
  for (const std::string_view word : {"authfailure", "unauthorized", "invalid api key"}) {
    if (lower.find(word) != std::string::npos) return 401;
  }
  return kBadGateway;
}

bool Says(const Json& body, std::string_view name, std::string_view word) {
  const Json& value = At(body, std::string(name).c_str());
  return value.is_string() && base::EqualsIgnoreCase(value.get_ref<const std::string&>(), word);
}

/// The business code of an envelope, or a null value.
const Json& BusinessCode(const Json& body) {
  for (const Json* holder : {&body, &At(body, "header")}) {
    for (const char* name : {"code", "Code", "error_code", "errorCode", "errcode"}) {
      const Json& value = At(*holder, name);
      if (!value.is_null()) return value;
    }
  }
  return At(body, "code");
}

bool HasMessage(const Json& body) {
  for (const char* name : {"message", "msg", "Message", "error_msg", "errmsg", "errorMsg"}) {
    if (At(body, name).is_string()) return true;
  }
  return At(At(body, "header"), "message").is_string();
}

/// Business codes beside the HTTP status.
std::optional<int> BusinessStatus(const Json& body, std::string_view text) {
  if (const auto error = wire::ReadMinimaxEnvelope(text)) return error->status;
  for (const char* name : {"choices", "output", "data", "content"}) {
    if (!At(body, name).is_null()) return std::nullopt;
  }
  for (const char* name : {"Response", "ResponseMetadata"}) {
    if (!At(At(body, name), "Error").is_null()) return StatusOfWords(text);
  }
  const Json& code = BusinessCode(body);
  const std::int64_t number = Number(code);
  if (IsErrorStatus(number)) return static_cast<int>(number);
  if (At(body, "success") == false || Says(body, "object", "error")) return StatusOfWords(text);
  if (!HasMessage(body)) return std::nullopt;
  const bool word = code.is_string() && number == 0;
  const bool fine =
      word ? code.get_ref<const std::string&>().find_first_not_of('0') == std::string::npos ||
                 Says(body, "code", "success") || Says(body, "code", "ok")
           : number == 0 || number == 200;
  if (fine) return std::nullopt;
  return StatusOfWords(text);
}

/// The error of a failed response of the Responses API.
int ResponseStatus(const Json& error) {
  const Json& code = At(error, "code");
  if (IsErrorStatus(Number(code))) return static_cast<int>(Number(code));
  if (code == "rate_limit_exceeded" || code == "insufficient_quota") return 429;
  const std::string words = error.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string lower = base::Lower(words);
  return lower.find("overload") != std::string::npos ? 503 : kBadGateway;
}

std::optional<int> ObjectStatus(const Json& body, std::string_view text) {
  if (const auto error = wire::ReadHiddenError(text)) {
    // The messages dialect has words instead of codes.
    if (error->status == kBadGateway && At(body, "type") == "error") {
      const Json& type = At(At(body, "error"), "type");
      if (type.is_string()) {
        const int status = wire::StatusOfErrorType(type.get_ref<const std::string&>());
        if (status != 0) return status;
      }
    }
    return error->status;
  }
  if (Says(body, "object", "response") && Says(body, "status", "failed")) {
    return ResponseStatus(At(body, "error"));
  }
  return BusinessStatus(body, text);
}

std::optional<int> JsonStatus(std::string_view text) {
  const Json body = Json::parse(text, nullptr, false);
  if (body.is_object()) return ObjectStatus(body, text);
  if (!body.is_array() || body.size() != 1 || !body.front().is_object()) return std::nullopt;
  return ObjectStatus(body.front(),
                      body.front().dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// What one event says: an error's status, 0 for output (the search is over), nullopt to go on.
std::optional<int> EventStatus(const wire::SseEvent& event) {
  const Json data = Json::parse(event.data, nullptr, false);
  const Json& type = At(data, "type");
  if (type.is_string() && base::StartsWith(type.get_ref<const std::string&>(), "response.")) {
    const std::string& name = type.get_ref<const std::string&>();
    if (name == "response.failed") return ResponseStatus(At(At(data, "response"), "error"));
    if (name == "response.created" || name == "response.in_progress" || name == "response.queued") {
      return std::nullopt;
    }
    return 0;
  }
  const wire::StreamFrame frame =
      wire::ReadStreamFrame(wire::Dialect::kChat, event.name, event.data);
  switch (frame.kind) {
    case wire::StreamFrame::Kind::kError:
      if (frame.error_status == kBadGateway && type == "error" && data.contains("code")) {
        return ResponseStatus(data);
      }
      return frame.error_status;
    case wire::StreamFrame::Kind::kOutput:
      // A frame of business codes is output to a reader that knows no vendor.
      return data.is_object() ? BusinessStatus(data, event.data).value_or(0) : 0;
    default:
      return std::nullopt;
  }
}

std::optional<int> StreamStatus(std::string_view text) {
  int status = 0;
  const auto on_event = [&](const wire::SseEvent& event) {
    if (!event.has_data) return true;
    const std::optional<int> said = EventStatus(event);
    if (said) status = *said;
    return !said.has_value();
  };
  wire::SseSplitter splitter;
  if (splitter.Feed(text, on_event) == wire::SseSplitter::Status::kOk) splitter.Finish(on_event);
  return status != 0 ? std::optional<int>(status) : std::nullopt;
}

}  // namespace

std::optional<int> HiddenStatus(std::string_view body) {
  const std::string_view text = base::Trim(body);
  // Blank lines keep a connection open and are no answer.
  if (text.empty()) return body.empty() ? std::nullopt : std::optional<int>(kBadGateway);
  if (text.front() == '{' || text.front() == '[') return JsonStatus(text);
  return StreamStatus(body);
}

}  // namespace hotel::ctl
