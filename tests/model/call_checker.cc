#include "tests/model/call_checker.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "libhotel/decide/spans.h"
#include "libhotel/decide/terminal.h"

namespace hotel::model {

using decide::AttemptEnd;
using decide::Finish;
using How = Finish::How;
using Kind = AttemptEnd::Kind;
using Reason = Finish::Reason;
using State = CallChecker::Attempt::State;

namespace {

template <typename T, typename = void>
struct IsAboutAttempt : std::false_type {};
template <typename T>
struct IsAboutAttempt<T, std::void_t<decltype(T::attempt)>> : std::true_type {};

int AboutAttempt(const decide::Event& event) {
  return std::visit(
      [](const auto& e) {
        if constexpr (IsAboutAttempt<std::decay_t<decltype(e)>>::value) {
          return e.attempt;
        } else {
          return -1;
        }
      },
      event);
}

Duration Limit(const TimeoutSettings& timeouts, const decide::Plan& plan) {
  const bool is_long = plan.streaming || plan.long_running;
  return decide::Times(timeouts.request_timeout, is_long ? timeouts.long_factor : 1);
}

}  // namespace

CallChecker::CallChecker(const decide::Plan* plan) : plan_(plan) {
  const TimeoutSettings& timeouts = plan->settings->timeouts;
  if (timeouts.deadline_factor > 0) {
    deadline_ = decide::After(plan->arrival,
                              decide::Times(Limit(timeouts, *plan), timeouts.deadline_factor));
  }
}

CallChecker::Attempt* CallChecker::Find(int index) {
  if (index < 0 || index >= static_cast<int>(attempts_.size())) return nullptr;
  Attempt& attempt = attempts_[static_cast<std::size_t>(index)];
  return attempt.state == State::kOver ? nullptr : &attempt;
}

void CallChecker::Before(const decide::Event& event, TimePoint now) {
  event_ = event;
  now_ = now;
  about_ = AboutAttempt(event);
  if (Is<decide::Begin>()) begun_ = true;
  const Attempt* attempt = Find(about_);
  ends_try_ = Is<decide::Ended>() && attempt != nullptr && attempt->state == State::kRunning;
  if (const auto* paused = std::get_if<decide::ClientPaused>(&event);
      paused != nullptr && committed()) {
    paused_ = paused->paused;
    was_paused_ |= paused_;
  }
  // An answer to the question that is open closes it; other answers are strays.
  if (!question_ || question_->attempt != about_) return;
  if (const auto* refused = std::get_if<decide::Refused>(&event)) {
    if (refused->why == decide::Refused::Why::kBusy) {
      busy_.insert(question_->candidate);
    } else {
      busy_.erase(question_->candidate);
    }
    question_.reset();
  } else if (const auto* admitted = std::get_if<decide::Admitted>(&event)) {
    pending_ = Pending{admitted->attempt, question_->candidate, admitted->probe};
    question_.reset();
  }
}

void CallChecker::OnAction(const decide::Action& action) {
  Require(!finished_, "an action behind Finish");
  std::visit([this](const auto& a) { On(a); }, action);
}

void CallChecker::After(const decide::AttemptMachine& machine) {
  Require(machine.finished() == finished_, "finished() tells what was done");
  Require(machine.committed() == committed(), "committed() tells what was done");
  Require(!pending_, "whoever was admitted is started or given back");
  if (Is<decide::ClientGone>() || Is<decide::Shutdown>()) {
    Require(finished_, "a client that left and a shutdown end the request");
  }
  if (finished_) {
    Require(!machine.next_wake().has_value(), "no wake behind Finish");
    Require(live_ == 0, "nothing is live behind Finish, every permit was reported");
    return;
  }
  Require(live_ <= 1 || (plan_->settings->hedging.enabled && plan_->streaming && plan_->races &&
                         !committed()),
          "one attempt at a time, but in a race");
  raced_ |= live_ > 1;
  Require(!line_ || (live_ == 0 && !question_), "who stands in line does nothing else");
  if (ends_try_ && Find(about_) != nullptr) {
    Attempt& attempt = *Find(about_);
    attempt.state = State::kBetweenTries;
    CheckRepeatable(attempt, std::get<decide::Ended>(event_).end);
  }
  CheckWakes(machine);
}

void CallChecker::CheckWakes(const decide::AttemptMachine& machine) {
  const std::optional<TimePoint> wake = machine.next_wake();
  if (paused_) return Require(!wake.has_value(), "a client that takes nothing stops the clocks");
  if (!begun_) return;
  Require(question_ || wake.has_value(), "a wake whenever waiting");
  if (Is<decide::Wake>() && wake) Require(*wake > now_, "a wake is done with once it was given");
  if (deadline_ && !was_paused_) {
    Require(wake.has_value() && *wake <= *deadline_, "a wake at the deadline at the latest");
  }
}

void CallChecker::On(const decide::AskAdmission& ask) {
  Require(begun_, "nothing before Begin");
  Require(!committed(), "no question behind the commit");
  Require(!question_ && !pending_, "one question at a time");
  Require(ask.attempt == static_cast<int>(attempts_.size()), "indices count started attempts");
  Require(ask.candidate >= 0 && ask.candidate < candidates(), "candidates within plan");
  Require(!DeadlinePassed(), "no question past the deadline");
  slot_question_ = false;
  const auto* slot = std::get_if<decide::SlotFree>(&event_);
  if (slot != nullptr && line_ && slot->candidate == ask.candidate) {
    Require(live_ == 0, "a slot is for who has nothing else");
    slot_question_ = true;
  } else if (ask.candidate == cursor_) {
    ++cursor_;
    Require(live_ == 0 || plan_->settings->hedging.enabled, "one after another, but in a race");
  } else {
    Require(cursor_ == candidates() && live_ == 0, "nobody is skipped");
    Require(Is<decide::Wake>(), "a repeat waits");
    Require(ask.candidate == last_ended_, "the last candidate alone is asked once more");
    Require(!repeated_last_, "once per request");
    Require(plan_->replay_safe, "R14: what may do harm twice is asked once");
    Require(!slot_used_ || ended_busy_, "what comes of a slot is the answer, unless it is busy");
    repeated_last_ = true;
    line_again_ = slot_used_;
  }
  line_.reset();
  question_ = ask;
}

void CallChecker::On(const decide::StartAttempt& start) {
  Require(!committed(), "no start behind the commit");
  Require(start.connect_timeout > Duration::zero(), "time to connect");
  Require(!deadline_ || now_ + start.connect_timeout <= *deadline_,
          "connecting ends at the deadline");
  ++exchanges_;
  if (start.attempt == static_cast<int>(attempts_.size())) {
    CheckFirstTry(start);
  } else {
    CheckNextTry(start);
  }
  Require(exchanges_ <= exchanges_allowed_, "F017: exchanges within plan");
}

void CallChecker::CheckFirstTry(const decide::StartAttempt& start) {
  Require(pending_ && pending_->attempt == start.attempt && pending_->candidate == start.candidate,
          "what was admitted is started");
  Attempt attempt;
  attempt.candidate = start.candidate;
  attempt.probe = pending_ && pending_->probe;
  attempt.limit = decide::After(now_, Limit(own(start.candidate).timeouts, *plan_));
  attempts_.push_back(attempt);
  exchanges_allowed_ += 1 + (attempt.probe ? 0 : own(start.candidate).retry.max_retries);
  pending_.reset();
  ++live_;
  if (slot_question_) {
    Require(!slot_used_ || line_again_, "one attempt with a slot from the line");
    slot_used_ = true;
    line_again_ = false;
  }
  Require(static_cast<int>(attempts_.size()) <= candidates() + 1,
          "candidates, one more for the last or the line");
}

void CallChecker::CheckNextTry(const decide::StartAttempt& start) {
  Attempt* attempt = Find(start.attempt);
  Require(attempt != nullptr && attempt->candidate == start.candidate &&
              attempt->state == State::kBetweenTries,
          "a try follows one that has ended");
  if (attempt == nullptr) return;
  Require(Is<decide::Wake>(), "a try begins in a turn of its own");
  Require(now_ < attempt->limit && now_ + start.connect_timeout <= attempt->limit,
          "tries stay inside the attempt's timeout");
  attempt->state = State::kRunning;
  ++attempt->tries;
  ++repeats_;
}

// The rules of the repeats once more, written from the decisions.
void CallChecker::CheckRepeatable(const Attempt& attempt, AttemptEnd end) {
  const RetrySettings& retry = own(attempt.candidate).retry;
  Require(!attempt.probe, "R15: a probe is a single try");
  Require(attempt.tries <= retry.max_retries, "R4: no wait without a try behind it");
  Require(!committed(), "nothing is repeated behind the commit");
  Require(
      plan_->replay_safe || (end.kind == Kind::kTransport && end.phase == TransportPhase::kNotSent),
      "R14: only what had not left, or may be done twice");
  const bool stream = plan_->streaming;
  if (stream) {
    Require(retry.streaming != RetrySettings::Streaming::kNever, "R13: never means never");
  }
  if (end.kind == Kind::kTransport) {
    const bool before = end.transport == TransportError::kResolve ||
                        end.transport == TransportError::kConnect ||
                        end.transport == TransportError::kTls;
    const bool safe = end.transport == TransportError::kInterrupted ||
                      (before && end.phase == TransportPhase::kNotSent);
    const bool any = retry.on_transport == RetrySettings::OnTransport::kAny && !stream;
    Require(retry.on_transport != RetrySettings::OnTransport::kNone, "repeats can be off");
    Require(safe || (any && (before || end.transport == TransportError::kOther)),
            "only what is safe to repeat, or every failure of the connection");
    Require(!stream || !end.body_seen, "no stream is repeated behind its first byte");
  } else {
    const bool hidden = end.kind == Kind::kHiddenError || end.kind == Kind::kStreamError;
    const int status = hidden && (end.status < 400 || end.status > 599) ? 502 : end.status;
    Require(hidden || end.kind == Kind::kHttpError, "an answer is not repeated");
    Require(retry.retry_on_statuses.Contains(status), "R7: listed statuses");
    Require(!end.refusal.exhausted(), "a spent account is never asked again");
    Require(!stream || retry.streaming == RetrySettings::Streaming::kBeforeCommit,
            "R13: statuses of streams before the commit alone");
  }
  if (retry.retry_after == RetrySettings::RetryAfter::kFloor && end.retry_after) {
    Require(*end.retry_after <= retry.max_backoff, "a wait beyond the ceiling is not begun");
  }
}

void CallChecker::On(const decide::CancelAttempt& cancel) {
  Attempt* attempt = Find(cancel.attempt);
  Require(attempt != nullptr && !attempt->cancelled, "only what is live is cancelled, once");
  Require(!ends_try_ || about_ != cancel.attempt, "what ended is not cancelled");
  if (attempt != nullptr) attempt->cancelled = true;
}

void CallChecker::On(const decide::Commit& commit) {
  Require(!committed(), "one commit");
  Require(commit.attempt == about_ && (Is<decide::FirstOutput>() || Is<decide::Ended>()),
          "who has output or ended well is committed");
  Require(live_ <= (Is<decide::FirstOutput>() ? 1 : 0), "the others are stopped first");
  const Attempt* attempt = Find(commit.attempt);
  Require(Is<decide::Ended>() ||
              (attempt != nullptr && !attempt->cancelled && attempt->state == State::kRunning),
          "nothing cancelled or over is committed");
  committed_ = commit.attempt;
}

void CallChecker::On(const decide::SettleCircuit& settle) {
  Attempt* attempt = Find(settle.attempt);
  Require(Is<decide::FirstOutput>() && settle.attempt == committed_ && attempt != nullptr,
          "only what was committed is settled early");
  if (attempt == nullptr) return;
  Require(own(attempt->candidate).circuit_breaker.stream_verdict ==
              CircuitBreakerSettings::StreamVerdict::kStart,
          "settled early under stream_verdict start alone");
  Require(!attempt->settled, "settled once");
  attempt->settled = true;
}

void CallChecker::On(const decide::ReportVerdict& verdict) {
  if (pending_ && pending_->attempt == verdict.attempt) {
    Require(verdict.report.verdict == Verdict::kAbandoned, "who was not started is given back");
    Require(!verdict.settled && !verdict.clean && !verdict.cut, "nothing came of it");
    pending_.reset();
    return;
  }
  Attempt* attempt = Find(verdict.attempt);
  Require(attempt != nullptr, "one verdict per permit");
  if (attempt == nullptr) return;
  Require(verdict.settled == attempt->settled, "a verdict knows whether it was settled");
  Require(!verdict.hedged || plan_->settings->hedging.enabled, "hedged in a race alone");
  const bool own_end =
      about_ == verdict.attempt && (Is<decide::Ended>() || Is<decide::Unsendable>());
  Require(own_end || attempt->cancelled, "what did not end is cancelled before it is reported");
  Require(!verdict.clean || (own_end && Is<decide::Ended>()), "clean means read to its end");
  if (verdict.cut) {
    Require(verdict.report.verdict == Verdict::kNeutral && *verdict.cut > Duration::zero(),
            "the busy alone are cut");
  }
  CheckBlame(verdict, own_end);
  const bool unsent = Is<decide::Unsendable>() && own_end && attempt->tries == 1;
  if (unsent) ++unsendable_;
  // A timeout is never asked once more.
  if (Is<decide::Wake>()) last_ended_ = -1;
  if (own_end && !unsent) {
    last_ended_ = attempt->candidate;
    const auto* ended = std::get_if<decide::Ended>(&event_);
    ended_busy_ = ended != nullptr && ended->end.refusal.saturated();
  }
  attempt->state = State::kOver;
  --live_;
}

// Abandoned when and only when it was nobody's fault.
void CallChecker::CheckBlame(const decide::ReportVerdict& verdict, bool own_end) {
  const bool abandoned = verdict.report.verdict == Verdict::kAbandoned;
  if (Is<decide::Wake>()) {
    Require(!abandoned && verdict.report.verdict != Verdict::kAlive &&
                verdict.report.verdict != Verdict::kNeutral,
            "a clock charges, or finds a whole answer");
    Require(committed() || verdict.report.verdict == Verdict::kFailure, "a clock charges");
    return;
  }
  if (own_end) {
    const auto* ended = std::get_if<decide::Ended>(&event_);
    const bool local = ended != nullptr && ended->end.kind == Kind::kTransport &&
                       ended->end.transport == TransportError::kLocal;
    const bool unsendable = ended == nullptr && Find(verdict.attempt)->tries == 1;
    return Require(abandoned == (local || unsendable), "an end is judged by what it was");
  }
  if (Is<decide::ClientGone>()) {
    // Past a limit of its own it is charged all the same.
    return Require(abandoned || verdict.kind != ErrorKind::kClientDisconnect,
                   "a client that left abandons");
  }
  if (Is<decide::Shutdown>()) return Require(abandoned, "a shutdown abandons");
  Require(abandoned || DeadlinePassed(), "who was not asked about is abandoned");
}

void CallChecker::On(const decide::WaitForSlot& wait) {
  Require(!committed() && live_ == 0 && !question_, "only who has nothing else stands in line");
  Require(cursor_ == candidates(), "everybody was asked before");
  Require(!slot_used_ || line_again_, "nobody stands in line behind a slot");
  Require(
      !wait.candidates.empty() && std::is_sorted(wait.candidates.begin(), wait.candidates.end()),
      "in priority order");
  Require(std::set<int>(wait.candidates.begin(), wait.candidates.end()) == busy_,
          "the busy ones are waited for, all of them");
  line_ = wait.candidates;
}

void CallChecker::On(const Finish& finish) {
  finished_ = true;
  question_.reset();
  line_.reset();
  Require(!pending_, "whoever was admitted is told of");
  CheckFinish(finish);
}

void CallChecker::CheckFinish(const Finish& finish) {
  Require((finish.how == How::kClientGone) == Is<decide::ClientGone>(),
          "nothing is written to a client that left");
  Require(finish.contacted == static_cast<int>(attempts_.size()) - unsendable_,
          "contacted counts what was sent");
  Require(finish.attempt < static_cast<int>(attempts_.size()),
          "the answer is about an attempt that was made");
  switch (finish.how) {
    case How::kServed:
    case How::kServedError:
      Require(committed() && finish.attempt == committed_, "served means committed");
      break;
    case How::kServedBroken:
      Require(committed() && finish.attempt == committed_, "broken means committed");
      Require(finish.reason != Reason::kNone, "a broken answer has a reason");
      break;
    case How::kProviderError:
      Require(finish.reason == Reason::kUpstreamStatus, "the provider's words are about a status");
      [[fallthrough]];
    case How::kGatewayError:
      Require(!committed(), "an error answer is the only answer");
      Require(finish.reason != Reason::kNone && finish.kind != ErrorKind::kNone,
              "an error answer has a reason and a kind");
      break;
    case How::kClientGone:
      break;
  }
  switch (finish.reason) {
    case Reason::kAllCircuitsOpen:
    case Reason::kCircuitCapacity:
    case Reason::kUnsendable:
      Require(finish.contacted == 0, "nobody was contacted");
      break;
    case Reason::kNoProvider:
      Require(finish.contacted == 0, "nobody was contacted");
      Require(!plan_->direct || busy_.empty(), "a busy direct name is 429");
      break;
    case Reason::kCircuitOpen:
      Require(plan_->direct && finish.contacted == 0, "R50 is about a direct name");
      break;
    case Reason::kAllBusy:
      Require(!busy_.empty(), "busy means that somebody is");
      Require(finish.retry_at.has_value(), "busy candidates come back");
      break;
    default:
      break;
  }
  if (finish.how == How::kServed) return;
  const decide::TerminalAnswer answer =
      decide::MakeTerminal(finish, decide::TerminalNames{"hotel/x", "p"}, now_);
  Require(answer.status >= 400 && answer.status <= 599, "an error status");
  Require(!answer.message.empty(), "an error message");
  Require(finish.how == How::kClientGone || !answer.code.empty(), "an error code");
  if (answer.retry_after_seconds) {
    Require(*answer.retry_after_seconds >= 1, "Retry-After is a second or more");
    Require(finish.reason == Reason::kUpstreamStatus || *answer.retry_after_seconds <= 60,
            "the gateway sends nobody away for more than a minute");
  }
}

}  // namespace hotel::model
