// The answer of a call and its record.
#include <algorithm>
#include <utility>

#include "libhotel/route/call.h"
#include "libhotel/wire/errors.h"

namespace hotel::route {
namespace {

constexpr std::string_view kJsonType = "application/json";
constexpr std::string_view kSseType = "text/event-stream";

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
  if (attempt.streaming()) {
    ttft_ = std::max(Duration::zero(), deps_.loop->Now() - arrival_);
    WriteHead(200, kSseType, std::nullopt, &attempt, true);
    // What came up to the first output, perhaps in one piece with it, counts too.
    machine_->Progress(deps_.loop->Now(), attempt.frames(), attempt.whole());
  } else {
    WriteHead(attempt.status(), kJsonType, std::nullopt, &attempt, false);
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
  if (action.how == How::kServed) {
    if (!attempt->streaming()) {
      if (!attempt->body().empty()) sink_->OnWholeBody(attempt->TakeBody());
    } else if (!attempt->closing().empty()) {
      sink_->OnBody(attempt->closing());
    }
    return Complete({true, ErrorKind::kNone}, sent_status_, "", attempt);
  }
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
      // Nothing can be put behind bytes in a content coding: there the missing end has to tell.
      if (attempt->can_append()) {
        sink_->OnBody(std::string(attempt->separator()) +
                      wire::ChatStreamError(answer.code, answer.message));
      }
      return Complete({false, answer.kind}, sent_status_, answer.message, attempt);
    case How::kServedError:
      return Complete({false, answer.kind}, sent_status_, answer.message, attempt);
    case How::kProviderError: {
      WriteHead(answer.status, kJsonType, answer.retry_after_seconds, attempt, false);
      sink_->OnBody(wire::RelayProviderError(answer.status, attempt->body(),
                                             attempt->candidate().provider->api_key.Reveal()));
      return Complete({true, answer.kind}, answer.status, answer.message, attempt);
    }
    default:
      WriteTerminal(answer, attempt);
      return Complete({true, answer.kind}, answer.status, answer.message, attempt);
  }
}

void CallState::WriteHead(int status, std::string_view content_type, std::optional<int> retry_after,
                          const Attempt* attempt, bool streaming) {
  AnswerHead head;
  head.status = status;
  head.streaming = streaming;
  head.headers.reserve(7);
  head.headers.push_back({"content-type", std::string(content_type)});
  if (attempt != nullptr && !attempt->content_encoding().empty() && status < 300) {
    head.headers.push_back({"content-encoding", std::string(attempt->content_encoding())});
  }
  if (retry_after) head.headers.push_back({"retry-after", std::to_string(*retry_after)});
  head.headers.push_back({"x-hotel-request-id", request_.request_id});
  if (attempt != nullptr) {
    head.headers.push_back(
        {"x-hotel-provider", HeaderValue(attempt->candidate().provider->routing_name)});
    head.headers.push_back({"x-hotel-model", HeaderValue(attempt->candidate().model)});
  }
  head.headers.push_back({"x-hotel-attempts", std::to_string(contacted_)});
  sent_status_ = status;
  sink_->OnHead(head);
}

void CallState::WriteTerminal(const decide::TerminalAnswer& answer, const Attempt* attempt) {
  WriteHead(answer.status, kJsonType, answer.retry_after_seconds, attempt, false);
  sink_->OnBody(wire::OpenAiError(answer.status, answer.code, answer.message));
}

void CallState::Refuse(const decide::TerminalAnswer& answer) {
  WriteTerminal(answer, nullptr);
  Complete({true, answer.kind}, answer.status, answer.message, nullptr);
}

void CallState::Complete(const AnswerEnd& end, int status, std::string message,
                         const Attempt* attempt) {
  finished_->store(true, std::memory_order_release);
  slot_wait_ = {};
  DropSlot();
  if (timer_ != 0) deps_.loop->CancelTimer(timer_);
  timer_ = 0;
  timer_at_.reset();
  sink_->OnEnd(end);
  sink_.reset();

  record_.status = status;
  record_.error_kind = end.error_kind;
  record_.error_message = std::move(message);
  // Arrival is stamped by the caller's thread, perhaps inside a turn that began before it.
  record_.duration = std::max(Duration::zero(), deps_.loop->Now() - arrival_);
  record_.ttft = ttft_;
  if (attempt != nullptr) {
    const Candidate& candidate = attempt->candidate();
    record_.provider_id = candidate.provider->id;
    record_.provider = candidate.provider->routing_name;
    // A direct name says the model already.
    if (!route_.direct) record_.resolved_model = candidate.model;
  }
  std::stable_sort(
      record_.attempts.begin(), record_.attempts.end(),
      [](const AttemptRecord& a, const AttemptRecord& b) { return a.attempt < b.attempt; });
  if (deps_.log != nullptr) deps_.log->Record(record_);
  on_change_();
}

}  // namespace hotel::route
