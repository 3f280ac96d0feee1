#include "server/api/try_model.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "hotel/router.h"

#include "libhotel/base/redact.h"
#include "libhotel/base/strings.h"
#include "libhotel/wire/sse.h"
#include "libhotel/wire/upstream.h"
#include "server/api/waiting.h"

namespace hotel::server::api {
namespace {

constexpr std::chrono::seconds kPatience{30};
/// How long the row of a failed test is waited for: it holds the provider's own words.
constexpr std::chrono::seconds kRowPatience{2};
constexpr std::size_t kMostBytes = std::size_t{256} << 10;
constexpr std::size_t kMostResponseBytes = 500;
constexpr std::size_t kMostErrorBytes = 500;
constexpr int kMostTokens = 64;
/// Nobody's key is called that.
constexpr const char* kAsker = "admin";

using Instant = std::chrono::steady_clock::time_point;

/// What came.
struct Outcome {
  int status = 0;
  bool complete = false;
  std::string body;
  std::optional<Instant> first;  ///< its first byte
  Instant end{};
};

/// Loop thread.
class Collector final : public StreamSink {
 public:
  explicit Collector(std::shared_ptr<Mailbox<Outcome>> mailbox) : mailbox_(std::move(mailbox)) {}

  void OnHead(const AnswerHead& head) override { outcome_.status = head.status; }
  Flow OnBody(std::string_view bytes) override {
    if (!outcome_.first) outcome_.first = std::chrono::steady_clock::now();
    outcome_.body.append(bytes.substr(0, kMostBytes - outcome_.body.size()));
    return Flow::kContinue;
  }
  void OnEnd(const AnswerEnd& end) override {
    outcome_.complete = end.complete && end.error_kind == ErrorKind::kNone;
    outcome_.end = std::chrono::steady_clock::now();
    mailbox_->Put(std::move(outcome_));
  }

 private:
  const std::shared_ptr<Mailbox<Outcome>> mailbox_;
  Outcome outcome_;
};

bool Contains(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

/// What the model makes, as far as its provider says so: words such as "text", "image".
std::string Products(const Model& model) {
  std::string products;
  for (const std::string& each : model.details.output_modalities) {
    products.append(base::Lower(each)).append(" ");
  }
  if (!products.empty()) return products;
  const std::string& modality = model.details.modality;
  const std::size_t arrow = modality.find("->");
  return base::Lower(arrow == std::string::npos ? modality : modality.substr(arrow + 2));
}

absl::StatusOr<Endpoint> EndpointFor(const Model& model, const Provider& provider) {
  const std::string products = Products(model);
  if (Contains(products, "embedding")) return Endpoint::kEmbeddings;
  if (!products.empty() && !Contains(products, "text")) {
    return absl::InvalidArgumentError(
        fmt::format("a model that answers with {} cannot be tested; text and embeddings can",
                    base::Trim(products)));
  }
  if (products.empty() && Contains(base::Lower(model.model_id), "embed")) {
    return Endpoint::kEmbeddings;
  }
  const wire::ProviderType* const type = wire::FindProviderType(provider.type);
  return type == nullptr || type->chat ? Endpoint::kChatCompletions : Endpoint::kMessages;
}

RouteRequest RequestFor(Endpoint endpoint, const Model& model, const Provider& provider) {
  Json body;
  body["model"] = provider.routing_name + "/" + model.model_id;
  if (endpoint == Endpoint::kEmbeddings) {
    body["input"] = "OK";
  } else {
    Json message;
    message["role"] = "user";
    message["content"] = "Reply with the word OK.";
    body["messages"] = Json::array({std::move(message)});
    body["stream"] = true;
    // The newer models of these refuse the older name.
    const bool newer = provider.type == "openai" || provider.type == "azure";
    body[newer ? "max_completion_tokens" : "max_tokens"] = kMostTokens;
  }
  RouteRequest request;
  request.endpoint = endpoint;
  request.body = std::make_shared<const std::string>(
      body.dump(-1, ' ', false, Json::error_handler_t::replace));
  request.content_type = "application/json";
  request.key_name = kAsker;
  return request;
}

/// The string there; "" when there is none.
std::string TextAt(const Json& json, const char* pointer) {
  const Json::json_pointer at(pointer);
  return json.contains(at) && json[at].is_string() ? json[at].get<std::string>() : "";
}

Json Parse(std::string_view text) { return Json::parse(text, nullptr, /*allow_exceptions=*/false); }

/// Hands the data of a stream's events to `take`, as JSON.
template <typename Take>
void EachEvent(std::string_view body, Take&& take) {
  const auto on_event = [&take](const wire::SseEvent& event) {
    take(Parse(event.data));
    return true;
  };
  wire::SseSplitter splitter;
  if (splitter.Feed(body, on_event) == wire::SseSplitter::Status::kOk) splitter.Finish(on_event);
}

/// The words of a stream.
std::string StreamText(std::string_view body) {
  std::string text;
  EachEvent(body, [&text](const Json& json) {
    text.append(TextAt(json, "/choices/0/delta/content")).append(TextAt(json, "/delta/text"));
  });
  return text;
}

/// The same of an answer that is whole, in case the provider does not stream.
std::string WholeText(const Json& json) {
  std::string text = TextAt(json, "/choices/0/message/content");
  return text.empty() ? TextAt(json, "/content/0/text") : text;
}

std::string ResponseText(Endpoint endpoint, const std::string& body) {
  const Json json = Parse(body);
  if (endpoint == Endpoint::kEmbeddings) {
    const Json::json_pointer vector("/data/0/embedding");
    if (!json.contains(vector) || !json[vector].is_array()) return "an embedding";
    return fmt::format("an embedding of {} dimensions", json[vector].size());
  }
  return json.is_object() ? WholeText(json) : StreamText(body);
}

/// The trail's last entry; null when there is no row, or nobody was asked.
Json LastAttempt(const Context& context, const std::string& request_id) {
  const auto until = std::chrono::steady_clock::now() + kRowPatience;
  do {
    context.log->Flush(std::chrono::milliseconds(200));
    const auto row = context.log->Find(request_id);
    if (!row.ok()) break;
    if (row->has_value() && (*row)->status != 0) {
      const Json trail = Parse((*row)->attempts);
      return trail.is_array() && !trail.empty() ? trail.back() : Json();
    }
    // The row is written behind the answer.
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  } while (std::chrono::steady_clock::now() < until);
  return {};
}

/// The message of an error body, or of the event a stream ended with.
std::string ErrorText(const std::string& body) {
  std::string text = TextAt(Parse(body), "/error/message");
  if (!text.empty()) return text;
  EachEvent(body, [&text](const Json& json) {
    std::string message = TextAt(json, "/error/message");
    if (!message.empty()) text = std::move(message);
  });
  return text.empty() ? "the answer is not whole" : text;
}

std::int64_t Milliseconds(Instant from, Instant to) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(to - from).count();
}

std::string Cut(const std::string& text, std::size_t most) {
  return std::string(base::TruncateUtf8(text, most));
}

}  // namespace

absl::StatusOr<Json> TryModel(const Context& context, const Model& model,
                              const Provider& provider) {
  const auto endpoint = EndpointFor(model, provider);
  if (!endpoint.ok()) return endpoint.status();
  auto mailbox = std::make_shared<Mailbox<Outcome>>();
  const Instant begin = std::chrono::steady_clock::now();
  const auto call = context.hotel->Start(RequestFor(*endpoint, model, provider),
                                         std::make_shared<Collector>(mailbox));
  auto outcome = mailbox->Wait(kPatience);
  const bool late = !outcome.has_value();
  if (late) {
    call->Cancel();
    outcome.emplace();
    outcome->end = std::chrono::steady_clock::now();
  }
  const bool success = outcome->complete && outcome->status >= 200 && outcome->status < 300;
  Json json;
  json["success"] = success;
  json["duration_ms"] = Milliseconds(begin, outcome->end);
  json["ttft_ms"] = nullptr;
  if (success && *endpoint != Endpoint::kEmbeddings && outcome->first) {
    json["ttft_ms"] = Milliseconds(begin, *outcome->first);
  }
  json["status"] = nullptr;
  json["request_id"] = call->request_id();
  if (success) {
    json["status"] = outcome->status;
    json["response"] = Cut(ResponseText(*endpoint, outcome->body), kMostResponseBytes);
    return json;
  }
  std::string error = late ? fmt::format("no answer within {} seconds", kPatience.count())
                           : ErrorText(outcome->body);
  const Json attempt = late ? Json() : LastAttempt(context, call->request_id());
  if (attempt.is_object()) {
    if (attempt.contains("status")) json["status"] = attempt["status"];
    const std::string detail = TextAt(attempt, "/detail");
    if (!detail.empty() && !Contains(error, detail)) error.append(": ").append(detail);
  }
  json["error"] = Cut(base::Redact(error, provider.api_key.Reveal()), kMostErrorBytes);
  return json;
}

}  // namespace hotel::server::api
