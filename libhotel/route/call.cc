#include "libhotel/route/call.h"

#include <algorithm>
#include <utility>

#include "libhotel/route/refusal_reader.h"
#include "libhotel/wire/errors.h"
#include "libhotel/wire/upstream.h"

namespace hotel::route {
namespace {

std::string SkipDetail(bool provider_wide) {
  return provider_wide ? "provider skipped" : "circuit open";
}

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

CallState::CallState(std::shared_ptr<RouterParts> parts, RouteRequest request,
                     absl::StatusOr<wire::RequestPeek> peek, std::shared_ptr<StreamSink> sink,
                     TimePoint arrival, std::uint64_t seed, std::function<void()> on_change)
    : parts_(std::move(parts)),
      deps_(parts_->deps),
      request_(std::move(request)),
      peek_(std::move(peek)),
      sink_(std::move(sink)),
      seed_(seed),
      on_change_(std::move(on_change)),
      arrival_(arrival) {
  record_.created_at = deps_.clock->WallNow();
  record_.request_id = request_.request_id;
  record_.key_name = request_.key_name;
  record_.endpoint = request_.endpoint;
}

bool CallState::idle() const noexcept {
  return finished() && std::all_of(attempts_.begin(), attempts_.end(), [](const auto& attempt) {
           return attempt == nullptr || attempt->idle();
         });
}

void CallState::Begin() {
  if (finished()) return;
  if (!peek_.ok()) return Refuse(decide::BadRequest(std::string(peek_.status().message())));
  record_.requested_model = peek_->model;
  record_.streaming = peek_->stream;

  settings_ = deps_.settings->Current();
  snapshot_ = deps_.groups->Snapshot();
  const TimePoint now = deps_.loop->Now();
  route_ = Resolve(peek_->model, *snapshot_, *settings_, *deps_.breaker, parts_->virtuals, now);
  if (route_.refusal) return Refuse(*route_.refusal);
  for (const SkippedCandidate& skip : route_.skipped) {
    AddSkip(skip.candidate, SkipDetail(skip.block.provider_wide), BreakerEffect::kSkipped,
            ErrorKind::kNone);
  }

  decide::Plan plan;
  for (const Candidate& candidate : route_.candidates)
    plan.candidates.push_back({candidate.settings});
  // A route of one runs under its provider's own options.
  plan.settings = route_.direct ? route_.candidates.front().settings : &settings_->global;
  plan.streaming = peek_->stream;
  plan.arrival = arrival_;
  plan.seed = seed_;
  plan.direct = route_.direct;
  plan.skipped_open = static_cast<int>(route_.skipped.size());
  for (const SkippedCandidate& skip : route_.skipped) plan.skipped_pinned += skip.block.pinned;
  plan.earliest_retry = route_.earliest_retry();
  machine_ = std::make_unique<decide::AttemptMachine>(std::move(plan));
  Drive(decide::Begin{});
}

void CallState::RefuseShutdown() {
  decide::Finish ending;
  ending.reason = decide::Finish::Reason::kShutdown;
  ending.kind = ErrorKind::kInternal;
  Refuse(decide::MakeTerminal(ending, {}, deps_.loop->Now()));
}

void CallState::Resume() {
  if (!client_paused_ || finished()) return;
  client_paused_ = false;
  Drive(decide::ClientPaused{false});
  for (const auto& attempt : attempts_) {
    if (attempt != nullptr) attempt->Resume();
  }
}

void CallState::ClientGone() {
  if (finished()) return;
  if (machine_ != nullptr) return Drive(decide::ClientGone{});
  Complete({false, ErrorKind::kClientDisconnect}, 499, "client disconnected", nullptr);
}

void CallState::Shutdown() {
  if (finished() || machine_ == nullptr) return;
  Drive(decide::Shutdown{});
}

// --- the machine and its actions ----------------------------------------------------------------

void CallState::Drive(decide::Event event) {
  events_.push_back(std::move(event));
  if (driving_) return;  // an action led back here: the outer call takes the event in turn
  driving_ = true;
  std::vector<decide::Action> actions;
  while (!events_.empty()) {
    const decide::Event next = std::move(events_.front());
    events_.pop_front();
    actions.clear();
    machine_->Handle(next, deps_.loop->Now(), &actions);
    for (const decide::Action& action : actions) {
      std::visit([this](const auto& what) { Do(what); }, action);
    }
  }
  driving_ = false;
  ArmTimer();
}

Attempt& CallState::At(int index) { return *attempts_[static_cast<std::size_t>(index)]; }

void CallState::EnsureAttempt(int index, int candidate) {
  const auto at = static_cast<std::size_t>(index);
  if (attempts_.size() <= at) attempts_.resize(at + 1);
  if (attempts_[at] == nullptr) {
    attempts_[at] = std::make_unique<Attempt>(
        this, deps_.loop, index, route_.candidates[static_cast<std::size_t>(candidate)]);
  }
}

void CallState::Do(const decide::AskAdmission& action) {
  EnsureAttempt(action.attempt, action.candidate);
  slot_wait_ = {};
  Attempt& attempt = At(action.attempt);
  const Candidate& candidate = attempt.candidate();
  const TimePoint now = deps_.loop->Now();
  const auto refuse = [&](const decide::Refused& refused) {
    DropSlot();
    attempts_[static_cast<std::size_t>(action.attempt)] = nullptr;
    Drive(refused);
  };
  if (route_.direct && !candidate.settings->circuit_breaker.block_direct) {
    attempt.permit = deps_.breaker->AcquireDirect(candidate.circuit(), now);
  } else {
    Admission admission = deps_.breaker->TryAcquire(candidate.circuit(), now);
    if (!admission.admitted()) {
      const bool capacity = admission.refusal == Refusal::kCapacity;
      AddSkip(candidate,
              capacity ? "circuit capacity exhausted"
                       : SkipDetail(admission.refusal == Refusal::kProviderOpen),
              BreakerEffect::kSkipped, ErrorKind::kNone);
      using Why = decide::Refused::Why;
      return refuse({action.attempt, admission.retry_at, capacity ? Why::kCapacity : Why::kCircuit,
                     admission.pinned});
    }
    attempt.permit = std::move(admission.permit);
  }
  if (!AcquireSlot(attempt, action.candidate, now)) {
    return refuse({action.attempt, now, decide::Refused::Why::kBusy});
  }
  Drive(decide::Admitted{action.attempt, attempt.permit.probe()});
}

/// The slot that was waited for, or one that is free.
bool CallState::AcquireSlot(Attempt& attempt, int candidate, TimePoint now) {
  if (deps_.limiter == nullptr) return true;
  attempt.slot = held_slot_.valid()
                     ? std::move(held_slot_)
                     : deps_.limiter->TryAcquire(attempt.candidate().inflight(), now);
  if (attempt.slot.valid()) return true;
  busy_noted_.resize(route_.candidates.size());
  if (!busy_noted_[static_cast<std::size_t>(candidate)]) {
    busy_noted_[static_cast<std::size_t>(candidate)] = true;
    AddSkip(attempt.candidate(), "at in-flight limit", BreakerEffect::kNoop,
            ErrorKind::kProviderSaturated);
  }
  return false;
}

void CallState::Do(const decide::WaitForSlot& action) {
  slot_targets_ = action.candidates;
  std::vector<InflightTarget> targets;
  for (const int candidate : slot_targets_) {
    targets.push_back(route_.candidates[static_cast<std::size_t>(candidate)].inflight());
  }
  // Told on the thread that gives the slot back; the call itself is touched on its loop only.
  const auto on_slot = [loop = deps_.loop, weak = weak_from_this()] {
    loop->Post([weak] {
      if (const auto self = weak.lock()) self->TakeSlot();
    });
  };
  slot_wait_ = deps_.limiter->Wait(targets, deps_.loop->Now(), on_slot, seniority_);
  seniority_ = slot_wait_.seniority();
  if (slot_wait_.ready()) TakeSlot();
}

void CallState::TakeSlot() {
  if (!slot_wait_.valid() || finished()) return;
  std::size_t target = 0;
  InflightSlot slot = slot_wait_.Take(&target);
  if (!slot.valid()) return;
  DropSlot();
  held_slot_ = std::move(slot);
  Drive(decide::SlotFree{slot_targets_[target]});
}

void CallState::DropSlot() {
  if (held_slot_.valid()) held_slot_.End(SlotEnd::kUnused, deps_.loop->Now());
}

void CallState::Do(const decide::StartAttempt& action) {
  Attempt& attempt = At(action.attempt);
  const bool first_try = attempt.tries() == 0;
  if (first_try) attempt.started_at = deps_.loop->Now();
  std::string_view key;
  if (keyed_candidate_ < 0 || keyed_candidate_ == action.candidate) {
    key = wire::UsableIdempotencyKey(request_.idempotency_key);
  }
  const absl::Status status = attempt.Start(*deps_.dispatcher, request_.body, *peek_,
                                            request_.endpoint, key, action.connect_timeout);
  if (!status.ok()) {
    if (first_try) attempt.record.detail = std::string(status.message());
    return Drive(decide::Unsendable{action.attempt});
  }
  if (first_try) ++contacted_;
  if (keyed_candidate_ < 0) keyed_candidate_ = action.candidate;
}

void CallState::Do(const decide::CancelAttempt& action) { At(action.attempt).Cancel(); }

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

void CallState::Do(const decide::SettleCircuit& action) {
  Attempt& attempt = At(action.attempt);
  attempt.record.breaker = attempt.permit.Report(action.report, deps_.loop->Now());
}

void CallState::EndSlot(Attempt& attempt, const decide::ReportVerdict& action, TimePoint now) {
  if (!attempt.slot.valid()) return;
  if (action.cut) return attempt.slot.EndSaturated(*action.cut, now);
  if (attempt.tries() == 0) return attempt.slot.End(SlotEnd::kUnused, now);
  attempt.slot.End(action.clean ? SlotEnd::kClean : SlotEnd::kUnclean, now);
}

void CallState::Do(const decide::ReportVerdict& action) {
  Attempt& attempt = At(action.attempt);
  AttemptRecord& record = attempt.record;
  const TimePoint now = deps_.loop->Now();
  record.attempt = action.attempt;
  record.tries = attempt.tries();
  record.provider_id = attempt.candidate().provider->id;
  record.provider = attempt.candidate().provider->routing_name;
  record.model = attempt.candidate().model;
  // What a race, its deadline or the client's leaving cut in flight has no status (seed 000).
  const bool cut_in_race =
      action.hedged && sent_status_ == 0 &&
      (action.kind == ErrorKind::kHedgeSuperseded || action.kind == ErrorKind::kFailoverTimeout ||
       action.kind == ErrorKind::kClientDisconnect);
  if (attempt.status() != 0 && !cut_in_race) record.status = attempt.status();
  record.error_kind = action.kind;
  // An attempt that was admitted when the deadline had passed was never started.
  if (attempt.started_at != TimePoint{}) record.duration = now - attempt.started_at;
  if (attempt.streaming()) record.ttft = ttft_;
  record.hedged = action.hedged;
  if (!action.settled) record.breaker = attempt.permit.Report(action.report, now);
  EndSlot(attempt, action, now);
  if (record.detail.empty() && action.kind != ErrorKind::kNone) record.detail = action.report.cause;
  record_.attempts.push_back(record);
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

// --- events of attempts -------------------------------------------------------------------------

void CallState::OnAttemptHead(Attempt& attempt, int status) {
  if (attempt.nothing_remaining() && attempt.slot.valid()) {
    attempt.slot.NoneRemaining(deps_.loop->Now());
  }
  Drive(decide::HeadSeen{attempt.index(), status});
}

void CallState::OnAttemptEvent(Attempt& attempt) { Drive(decide::FirstEvent{attempt.index()}); }

void CallState::OnAttemptProgress(Attempt& attempt) {
  if (!finished()) machine_->Progress(deps_.loop->Now(), attempt.frames(), attempt.whole());
}

void CallState::OnAttemptOutput(Attempt& attempt) { Drive(decide::FirstOutput{attempt.index()}); }

void CallState::OnAttemptBytes(std::string_view bytes) {
  if (finished()) return;
  if (sink_->OnBody(bytes) != Flow::kPause || client_paused_) return;
  client_paused_ = true;
  Drive(decide::ClientPaused{true});
}

void CallState::OnAttemptEnd(Attempt& attempt, const decide::AttemptEnd& end) {
  decide::Ended ended{attempt.index(), end};
  if (deps_.classifier == nullptr || !IsRefusal(end)) return Drive(std::move(ended));
  const WallTime wall = deps_.clock->WallNow();
  const RateLimitReading reading =
      ReadRefusal(*deps_.classifier, *deps_.breaker, attempt.candidate(),
                  {attempt.error_headers(), attempt.body(), wall}, deps_.loop->Now(), &ended.end);
  if (reading.classified) {
    attempt.record.rate_limit = RefusalClassName(
        ended.end.refusal.saturated() ? RefusalClass::kSaturated : reading.refusal_class);
    attempt.record.phrase = reading.phrase;
    if (ended.end.refusal.exhausted() && deps_.ledger != nullptr) {
      const Candidate& candidate = attempt.candidate();
      deps_.ledger->Note(candidate.provider->id, {std::string(reading.phrase), candidate.model,
                                                  reading.needs_payment, wall});
    }
  }
  Drive(std::move(ended));
}

void CallState::OnAttemptIdle(Attempt&) {
  if (idle()) on_change_();
}

// --- time ---------------------------------------------------------------------------------------

void CallState::ArmTimer() {
  std::optional<TimePoint> wake;
  if (!finished()) {
    wake = machine_->next_wake();
    for (const auto& attempt : attempts_) {
      if (attempt == nullptr || !attempt->error_body_deadline()) continue;
      if (!wake || *attempt->error_body_deadline() < *wake) wake = attempt->error_body_deadline();
    }
  }
  if (wake == timer_at_) return;
  if (timer_ != 0) deps_.loop->CancelTimer(timer_);
  timer_ = wake ? deps_.loop->RunAt(*wake, [this] { OnTimer(); }) : 0;
  timer_at_ = wake;
}

void CallState::OnTimer() {
  timer_ = 0;
  timer_at_.reset();
  const TimePoint now = deps_.loop->Now();
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    Attempt* attempt = attempts_[i].get();
    if (attempt != nullptr && attempt->error_body_deadline() &&
        *attempt->error_body_deadline() <= now) {
      attempt->GiveUpErrorBody();
    }
  }
  if (!finished()) Drive(decide::Wake{});
}

// --- the answer and the record ------------------------------------------------------------------

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

void CallState::AddSkip(const Candidate& candidate, std::string detail, BreakerEffect effect,
                        ErrorKind kind) {
  AttemptRecord skip;
  skip.attempt = -1;
  skip.provider_id = candidate.provider->id;
  skip.provider = candidate.provider->routing_name;
  skip.model = candidate.model;
  skip.detail = std::move(detail);
  skip.error_kind = kind;
  skip.breaker = effect;
  record_.attempts.push_back(std::move(skip));
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
