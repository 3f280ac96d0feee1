#include "tests/model/call_checker.h"

#include <variant>

#include "libhotel/decide/terminal.h"

namespace hotel::model {

using decide::Finish;
using How = Finish::How;
using Reason = Finish::Reason;

CallChecker::CallChecker(const decide::Plan* plan) : plan_(plan) {
  const TimeoutSettings& timeouts = plan->settings->timeouts;
  if (timeouts.deadline_factor > 0) {
    deadline_ = plan->arrival + timeouts.request_timeout *
                                    (plan->streaming ? timeouts.long_factor : 1) *
                                    timeouts.deadline_factor;
  }
}

void CallChecker::Before(const decide::Event& event, TimePoint now) {
  event_ = event;
  now_ = now;
  if (std::holds_alternative<decide::Begin>(event)) begun_ = true;
  const auto* ended = std::get_if<decide::Ended>(&event);
  ends_try_ = ended != nullptr && running_ >= 0 && ended->attempt == running_ && !try_over_;
  // An answer to the question that is open closes it; other answers are strays.
  if (const auto* refused = std::get_if<decide::Refused>(&event)) {
    if (question_ && question_->attempt == refused->attempt) question_.reset();
  }
  if (const auto* admitted = std::get_if<decide::Admitted>(&event)) {
    if (question_ && question_->attempt == admitted->attempt) question_.reset();
  }
}

void CallChecker::OnAction(const decide::Action& action) {
  Require(!finished_, "an action behind Finish");
  std::visit([this](const auto& a) { On(a); }, action);
}

void CallChecker::After(const decide::AttemptMachine& machine) {
  Require(machine.finished() == finished_, "finished() tells what was done");
  Require(machine.committed() == committed_, "committed() tells what was done");
  if (std::holds_alternative<decide::ClientGone>(event_)) {
    Require(finished_, "client gone ends the request");
  }
  if (std::holds_alternative<decide::Shutdown>(event_)) {
    Require(finished_, "shutdown ends the request");
  }
  if (finished_) {
    Require(!machine.next_wake().has_value(), "no wake behind Finish");
    Require(!admitted_, "every permit was reported");
    Require(running_ < 0, "nothing runs behind Finish");
    return;
  }
  Require(!admitted_ || running_ >= 0, "a permit is held by a running attempt alone");
  if (ends_try_ && admitted_) {
    try_over_ = true;
    CheckRepeatable(std::get<decide::Ended>(event_).end);
  }
  if (begun_ && !question_) {
    Require(machine.next_wake().has_value(), "a wake whenever waiting");
  }
  if (std::holds_alternative<decide::Wake>(event_) && machine.next_wake()) {
    Require(*machine.next_wake() > now_, "a wake is done with once it was given");
  }
  if (deadline_ && begun_) {
    Require(machine.next_wake().has_value() && *machine.next_wake() <= *deadline_,
            "a wake at the deadline at the latest");
  }
}

void CallChecker::On(const decide::AskAdmission& ask) {
  Require(!committed_, "no question behind the commit");
  Require(!admitted_ && running_ < 0, "one attempt at a time");
  Require(ask.attempt == started_, "indices count started attempts");
  Require(ask.candidate > last_candidate_, "each candidate once, in order");
  Require(ask.candidate < static_cast<int>(plan_->candidates.size()), "attempts within plan");
  Require(!deadline_ || now_ < *deadline_, "no question past the deadline");
  last_candidate_ = ask.candidate;
  question_ = ask;
}

void CallChecker::On(const decide::StartAttempt& start) {
  Require(!committed_, "no start behind the commit");
  Require(admitted_, "no start without a permit");
  if (running_ >= 0) return CheckRepeat(start);
  Require(start.attempt == started_ && start.candidate == last_candidate_,
          "what was asked for is started");
  Require(start.connect_timeout > Duration::zero(), "time to connect");
  Require(!deadline_ || now_ + start.connect_timeout <= *deadline_,
          "connecting ends at the deadline");
  running_ = start.attempt;
  cancelled_ = false;
  try_over_ = false;
  tries_ = 1;
  attempt_limit_ = now_ + plan_->settings->timeouts.request_timeout *
                              (plan_->streaming ? plan_->settings->timeouts.long_factor : 1);
  ++started_;
}

void CallChecker::On(const decide::SettleCircuit& settle) {
  Require(committed_ && settle.attempt == running_, "only what was committed is settled early");
}

void CallChecker::On(const decide::WaitForSlot&) {
  Require(false, "nobody is busy here, so there is no slot to wait for");
}

void CallChecker::CheckRepeat(const decide::StartAttempt& start) {
  Require(start.attempt == running_ && start.candidate == last_candidate_,
          "a repeat is of the attempt that runs");
  Require(try_over_ && std::holds_alternative<decide::Wake>(event_),
          "a repeat begins in a turn of its own, when the try before has ended");
  Require(tries_ <= plan_->settings->retry.max_retries, "no more tries than configured");
  Require(now_ < attempt_limit_ && (!deadline_ || now_ < *deadline_),
          "tries stay inside the attempt's timeout and the deadline");
  Require(start.connect_timeout > Duration::zero() &&
              now_ + start.connect_timeout <= attempt_limit_ &&
              (!deadline_ || now_ + start.connect_timeout <= *deadline_),
          "connecting ends with the attempt");
  try_over_ = false;
  ++tries_;
  ++repeats_;
}

void CallChecker::CheckRepeatable(const decide::AttemptEnd& end) {
  const RetrySettings& retry = plan_->settings->retry;
  Require(!probe_, "a probe is a single try");
  Require(tries_ <= retry.max_retries, "no wait without a try behind it");
  Require(retry.on_transport != RetrySettings::OnTransport::kNone &&
              (retry.streaming != RetrySettings::Streaming::kNever || !plan_->streaming),
          "repeats can be switched off");
  Require(!plan_->streaming || !end.body_seen, "no stream is repeated behind its first byte");
  // Ends the machine reads as another kind are never repeated.
  const TransportError error = end.transport;
  const bool before = error == TransportError::kResolve || error == TransportError::kConnect ||
                      error == TransportError::kTls;
  Require(end.kind == decide::AttemptEnd::Kind::kTransport &&
              (error == TransportError::kInterrupted ||
               (before && end.phase == TransportPhase::kNotSent)),
          "only what is safe to repeat is repeated");
}

void CallChecker::On(const decide::CancelAttempt& cancel) {
  Require(cancel.attempt == running_ && !cancelled_, "only what is live is cancelled, once");
  Require(!std::holds_alternative<decide::Ended>(event_), "what ended is not cancelled");
  cancelled_ = true;
}

void CallChecker::On(const decide::Commit& commit) {
  Require(!committed_, "one commit");
  Require(commit.attempt == started_ - 1, "the attempt that runs is committed");
  Require(!cancelled_ && !try_over_, "nothing cancelled or over is committed");
  committed_ = true;
}

void CallChecker::On(const decide::ReportVerdict& verdict) {
  Require(admitted_, "one verdict per permit");
  Require(running_ < 0 || verdict.attempt == running_, "the verdict of the attempt that runs");
  const bool first_unsendable = std::holds_alternative<decide::Unsendable>(event_) && tries_ == 1;
  const auto* ended = std::get_if<decide::Ended>(&event_);
  const bool local = ended != nullptr && ended->end.kind == decide::AttemptEnd::Kind::kTransport &&
                     ended->end.transport == TransportError::kLocal;
  const bool nobody = local || std::holds_alternative<decide::ClientGone>(event_) ||
                      std::holds_alternative<decide::Shutdown>(event_) || first_unsendable ||
                      std::holds_alternative<decide::Admitted>(event_);
  Require((verdict.report.verdict == Verdict::kAbandoned) == nobody,
          "abandoned when and only when it was nobody's fault");
  if (std::holds_alternative<decide::ClientGone>(event_) ||
      std::holds_alternative<decide::Shutdown>(event_)) {
    Require(cancelled_, "what nobody waits for is cancelled before it is reported");
  }
  if (std::holds_alternative<decide::Wake>(event_)) {
    Require(cancelled_, "a clock cancels before it reports");
    Require(verdict.report.verdict == Verdict::kFailure, "a clock charges");
  }
  if (first_unsendable) ++unsendable_;
  admitted_ = false;
  running_ = -1;
}

void CallChecker::On(const Finish& finish) {
  finished_ = true;
  finish_ = finish;
  question_.reset();
  CheckFinish(finish);
}

void CallChecker::CheckFinish(const Finish& finish) {
  const bool gone = std::holds_alternative<decide::ClientGone>(event_);
  Require((finish.how == How::kClientGone) == gone, "nothing is written to a client that left");
  Require(finish.contacted == started_ - unsendable_, "contacted counts what was sent");
  Require(finish.attempt < started_, "the answer is about an attempt that was made");
  Require(finish.retry_at.has_value() <= (finish.reason == Reason::kAllCircuitsOpen),
          "a retry instant belongs to open circuits");
  switch (finish.how) {
    case How::kServed:
    case How::kServedError:
      Require(committed_ && finish.attempt >= 0, "served means committed");
      break;
    case How::kServedBroken:
      Require(committed_ && finish.attempt >= 0, "broken means committed");
      Require(finish.reason != Reason::kNone, "a broken answer has a reason");
      break;
    case How::kProviderError:
    case How::kGatewayError:
      Require(!committed_, "an error answer is the only answer");
      Require(finish.reason != Reason::kNone && finish.kind != ErrorKind::kNone,
              "an error answer has a reason and a kind");
      break;
    case How::kClientGone:
      break;
  }
  if (finish.reason == Reason::kNoProvider || finish.reason == Reason::kAllCircuitsOpen ||
      finish.reason == Reason::kUnsendable) {
    Require(finish.contacted == 0, "nobody was contacted");
  }
  if (finish.how == How::kServed) return;
  const decide::TerminalAnswer answer =
      decide::MakeTerminal(finish, decide::TerminalNames{"hotel/x", "p"}, now_);
  Require(answer.status >= 400 && answer.status <= 599, "an error status");
  Require(!answer.message.empty(), "an error message");
  Require(gone || !answer.code.empty(), "an error code");
  if (answer.retry_after_seconds) {
    Require(*answer.retry_after_seconds >= 1 && *answer.retry_after_seconds <= 60,
            "Retry-After within 1 to 60");
  }
}

}  // namespace hotel::model
