// Whether a call may go on to its route at all: the limits of whoever asks.
#include <utility>

#include "libhotel/route/call.h"
#include "libhotel/wire/endpoints.h"
#include "libhotel/wire/errors.h"

namespace hotel::route {

void CallState::AskGate() {
  if (pass_ != nullptr) {
    GateQuestion question;
    question.settings = settings_.get();
    question.now = deps_.loop->Now();
    question.wall = deps_.clock->WallNow();
    question.priced = request_.endpoint != Endpoint::kPassthrough;
    question.prompt_tokens = [this] { return PromptEstimate(); };
    question.cost = [this] { return CostEstimate(); };
    const GateAnswer answer = pass_->Ask(question);
    if (answer.kind == GateAnswer::Kind::kWait) {
      timer_ = deps_.loop->RunAt(answer.until, [this] {
        timer_ = 0;
        AskGate();
      });
      return;
    }
    if (answer.kind == GateAnswer::Kind::kRefuse) return RefuseAtGate(answer);
  }
  FindRoute();
}

void CallState::RefuseAtGate(const GateAnswer& answer) {
  AnswerHead head = MakeHead(answer.status, nullptr);
  head.headers.push_back({"content-type", "application/json"});
  for (const Header& header : answer.headers) head.headers.push_back(header);
  WriteHead(std::move(head));
  const wire::Dialect dialect = wire::DialectOf(request_.endpoint);
  sink_->OnBody(answer.type.empty()
                    ? wire::ErrorBody(dialect, answer.status, answer.code, answer.message)
                    : wire::ErrorBodyOfType(dialect, answer.type, answer.code, answer.message));
  Complete({true, answer.error_kind}, answer.status, answer.message, nullptr);
}

}  // namespace hotel::route
