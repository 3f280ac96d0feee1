// The answer of a call.
#include <algorithm>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "libhotel/route/call.h"
#include "libhotel/wire/endpoints.h"
#include "libhotel/wire/errors.h"
#include "libhotel/wire/stream_frame.h"

namespace hotel::route {
namespace {

constexpr std::string_view kJsonType = "application/json";

/// A value that can stand in a header line whatever the client put into a model name.
std::string HeaderValue(std::string_view text) {
  std::string value(text.substr(0, 512));
  for (char& c : value) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return value;
}

}  // namespace

void CallState::Do(const decide::Commit& action) {
  Attempt& attempt = At(action.attempt);
  if (attempt.event_stream()) ttft_ = std::max(Duration::zero(), deps_.loop->Now() - arrival_);
  WriteProviderHead(attempt);
  if (attempt.streaming()) {
    // What came up to the first output, perhaps in one piece with it, counts too.
    machine_->Progress(deps_.loop->Now(), attempt.frames(), attempt.whole());
  }
  attempt.Commit();
}

void CallState::Do(const decide::Finish& action) {
  using How = decide::Finish::How;
  Attempt* attempt = nullptr;
  if (action.attempt >= 0 && static_cast<std::size_t>(action.attempt) < attempts_.size()) {
    attempt = attempts_[static_cast<std::size_t>(action.attempt)].get();
  }
  if (action.how == How::kClientGone) {
    return Complete({false, ErrorKind::kClientDisconnect}, 499, "client disconnected", attempt);
  }
  if (action.how == How::kServed) return WriteServed(action, *attempt);
  std::string_view provider;
  if (attempt != nullptr) {
    provider = attempt->candidate().provider->name;
  } else if (route_.direct) {
    provider = route_.candidates.front().provider->name;
  }
  const decide::TerminalNames names{peek_->model, provider};
  const decide::TerminalAnswer answer = decide::MakeTerminal(action, names, deps_.loop->Now());
  switch (action.how) {
    case How::kServedBroken:
      return WriteBroken(answer, *attempt);
    case How::kServedError:
      return Complete({false, answer.kind}, sent_status_, answer.message, attempt);
    case How::kProviderError:
      return WriteRefusal(answer, *attempt);
    default:
      // A refusal of the passthrough that was kept for a repeat which could not be made.
      if (request_.endpoint == Endpoint::kPassthrough && attempt != nullptr &&
          action.reason == decide::Finish::Reason::kUpstreamStatus && attempt->whole_refusal()) {
        return WriteRefusal(answer, *attempt);
      }
      WriteTerminal(answer, attempt);
      return Complete({true, answer.kind}, answer.status, answer.message, attempt);
  }
}

void CallState::WriteServed(const decide::Finish& action, Attempt& attempt) {
  if (!attempt.streaming()) {
    if (!attempt.body().empty()) sink_->OnWholeBody(attempt.TakeBody());
  } else if (const std::string closing = attempt.closing(); !closing.empty()) {
    sink_->OnBody(closing);
  }
  std::string message;
  if (action.kind != ErrorKind::kNone) {
    message = fmt::format("the provider answered HTTP {}", action.status);
  }
  Complete({true, action.kind}, sent_status_, std::move(message), &attempt);
}

void CallState::WriteBroken(const decide::TerminalAnswer& answer, Attempt& attempt) {
  AnswerEnd end;
  end.complete = false;
  end.error_kind = answer.kind;
  end.cut = !attempt.can_append();
  if (!end.cut) {
    sink_->OnBody(
        std::string(attempt.separator()) +
        wire::StreamError(wire::DialectOf(request_.endpoint), answer.code, answer.message));
  }
  Complete(end, sent_status_, answer.message, &attempt);
}

/// The refusal as the provider wrote it.
void CallState::WriteRefusal(const decide::TerminalAnswer& answer, Attempt& attempt) {
  if (request_.endpoint == Endpoint::kPassthrough && attempt.whole_refusal()) {
    WriteProviderHead(attempt);
    if (!attempt.body().empty()) sink_->OnWholeBody(attempt.TakeBody());
  } else {
    WriteOwnHead(answer.status, answer.retry_after_seconds, &attempt);
    sink_->OnBody(wire::RelayProviderError(wire::DialectOf(request_.endpoint), answer.status,
                                           attempt.body(),
                                           attempt.candidate().provider->api_key.Reveal()));
  }
  Complete({true, answer.kind}, answer.status, answer.message, &attempt);
}

/// The fields that every answer has.
AnswerHead CallState::MakeHead(int status, const Attempt* attempt) const {
  AnswerHead head;
  head.status = status;
  head.headers.reserve(8);
  head.headers.push_back({"x-hotel-request-id", request_.request_id});
  if (attempt != nullptr) {
    head.headers.push_back(
        {"x-hotel-provider", HeaderValue(attempt->candidate().provider->routing_name)});
    head.headers.push_back({"x-hotel-model", HeaderValue(attempt->candidate().model)});
  }
  head.headers.push_back({"x-hotel-attempts", std::to_string(contacted_)});
  return head;
}

void CallState::WriteHead(AnswerHead head) {
  sent_status_ = head.status;
  sink_->OnHead(head);
}

/// Of an answer in the gateway's words.
void CallState::WriteOwnHead(int status, std::optional<int> retry_after, const Attempt* attempt) {
  AnswerHead head = MakeHead(status, attempt);
  head.headers.push_back({"content-type", std::string(kJsonType)});
  if (retry_after) head.headers.push_back({"retry-after", std::to_string(*retry_after)});
  WriteHead(std::move(head));
}

/// Of an answer in the provider's.
void CallState::WriteProviderHead(const Attempt& attempt) {
  AnswerHead head = MakeHead(attempt.status(), &attempt);
  head.streaming = attempt.streaming() && attempt.body_seen();
  const std::string_view type = attempt.content_type();
  if (!type.empty()) head.headers.push_back({"content-type", std::string(type)});
  if (!attempt.content_encoding().empty()) {
    head.headers.push_back({"content-encoding", std::string(attempt.content_encoding())});
  }
  for (Header& header : attempt.RelayedHeaders(request_.passthrough.method == "HEAD")) {
    head.headers.push_back(std::move(header));
  }
  WriteHead(std::move(head));
}

void CallState::WriteTerminal(const decide::TerminalAnswer& answer, const Attempt* attempt) {
  WriteOwnHead(answer.status, answer.retry_after_seconds, attempt);
  sink_->OnBody(wire::ErrorBody(wire::DialectOf(request_.endpoint), answer.status, answer.code,
                                answer.message));
}

void CallState::Refuse(const decide::TerminalAnswer& answer) {
  WriteTerminal(answer, nullptr);
  Complete({true, answer.kind}, answer.status, answer.message, nullptr);
}

}  // namespace hotel::route
