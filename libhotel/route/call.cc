#include "libhotel/route/call.h"

#include <algorithm>
#include <utility>

#include "libhotel/route/outgoing.h"
#include "libhotel/route/refusal_reader.h"
#include "libhotel/wire/endpoints.h"
#include "libhotel/wire/upstream.h"

namespace hotel::route {
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
  record_.key_id = request_.key_id;
  record_.client_ip = request_.client_ip;
  record_.endpoint = request_.endpoint;
}

bool CallState::idle() const noexcept {
  return finished() && std::all_of(attempts_.begin(), attempts_.end(), [](const auto& attempt) {
           return attempt == nullptr || attempt->idle();
         });
}

void CallState::Begin() {
  if (finished()) return;
  if (peek_.ok()) {
    NoteModel();
    record_.streaming = peek_->stream;
  }
  settings_ = deps_.settings->Current();
  if (deps_.gate != nullptr) pass_ = deps_.gate->Arrive(request_.key_id);
  AskGate();
}

void CallState::FindRoute() {
  if (!peek_.ok()) return Refuse(decide::BadRequest(std::string(peek_.status().message())));
  snapshot_ = deps_.groups->Snapshot();
  const TimePoint now = deps_.loop->Now();
  route_ =
      Resolve({peek_->model, request_.endpoint, request_.allowed_providers.get(), deps_.inventory},
              *snapshot_, *settings_, *deps_.breaker, parts_->virtuals, now);
  ExplainRoute();
  NoteSkips();
  if (route_.refusal) return Refuse(*route_.refusal);
  NoteUnknownModel();
  // Where this endpoint does not fail over, the first candidate is the route.
  if (route_.candidates.size() > 1 &&
      !settings_->global.failover.endpoints.Contains(request_.endpoint)) {
    route_.candidates.resize(1);
  }
  machine_ = std::make_unique<decide::AttemptMachine>(MakePlan());
  Drive(decide::Begin{});
}

void CallState::NoteUnknownModel() {
  if (deps_.inventory == nullptr || !route_.direct) return;
  if (request_.endpoint == Endpoint::kPassthrough) return;
  const Candidate& asked = route_.candidates.front();
  if (snapshot_->FindModel(asked.provider->id, asked.model) == nullptr) {
    deps_.inventory->NoteUnknownModel(asked.provider->id);
  }
}

void CallState::NoteSkips() {
  for (const UnfitCandidate& unfit : route_.unfit) {
    AddSkip(unfit.candidate, unfit.reason, BreakerEffect::kSkipped, ErrorKind::kNone);
    TellSkip(unfit.candidate, unfit.reason);
  }
  for (const SkippedCandidate& skip : route_.skipped) {
    AddSkip(skip.candidate, SkipDetail(skip.block.provider_wide), BreakerEffect::kSkipped,
            ErrorKind::kNone);
    TellSkip(skip.candidate, "circuit breaker open");
  }
}

decide::Plan CallState::MakePlan() const {
  const bool plain = wire::DialectOf(request_.endpoint) == wire::Dialect::kPlain;
  const bool vectors =
      request_.endpoint == Endpoint::kEmbeddings || request_.endpoint == Endpoint::kRerank;
  decide::Plan plan;
  for (const Candidate& candidate : route_.candidates)
    plan.candidates.push_back({candidate.settings});
  // A route of one runs under its provider's own options.
  plan.settings = route_.direct ? route_.candidates.front().settings : &settings_->global;
  plan.streaming = peek_->stream && !plain;
  plan.long_running = plain && !vectors;
  plan.races = request_.endpoint == Endpoint::kChatCompletions;
  plan.replay_safe = IsReplaySafe(request_);
  plan.arrival = arrival_;
  plan.seed = seed_;
  plan.direct = route_.direct;
  plan.skipped_open = static_cast<int>(route_.skipped.size());
  for (const SkippedCandidate& skip : route_.skipped) plan.skipped_pinned += skip.block.pinned;
  plan.earliest_retry = route_.earliest_retry();
  return plan;
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

void CallState::ReportRunning(TimePoint arrived) {
  if (told_running_ || finished() || arrival_ > arrived) return;
  told_running_ = true;
  deps_.log->Running(record_);
}

void CallState::Shutdown() {
  if (finished()) return;
  if (machine_ == nullptr) return RefuseShutdown();  // it waits at the gate
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

void CallState::Do(const decide::StartAttempt& action) {
  Attempt& attempt = At(action.attempt);
  const bool first_try = attempt.tries() == 0;
  if (first_try) attempt.started_at = deps_.loop->Now();
  std::string_view key;
  if (keyed_candidate_ < 0 || keyed_candidate_ == action.candidate) {
    key = wire::UsableIdempotencyKey(request_.idempotency_key);
  }
  const absl::Status status =
      attempt.Start(*deps_.dispatcher, request_, *peek_, key, action.connect_timeout);
  if (!status.ok()) {
    if (first_try) attempt.record.detail = std::string(status.message());
    return Drive(decide::Unsendable{action.attempt});
  }
  ExplainStart(attempt, action.connect_timeout);
  if (first_try) ++contacted_;
  if (keyed_candidate_ < 0) keyed_candidate_ = action.candidate;
}

void CallState::Do(const decide::CancelAttempt& action) { At(action.attempt).Cancel(); }

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
  if (attempt.event_stream()) record.ttft = ttft_;
  record.hedged = action.hedged;
  if (!action.settled) {
    record.breaker = attempt.permit.Report(action.report, now);
    ExplainVerdict(attempt, action.report);
  }
  EndSlot(attempt, action, now);
  if (record.detail.empty() && action.kind != ErrorKind::kNone) record.detail = action.report.cause;
  record.usage = UsageOf(attempt);
  AddCost(&record);
  record_.attempts.push_back(record);
  failure_untold_ = action.kind != ErrorKind::kNone;
  failed_at_ = now;
}

// --- events of attempts -------------------------------------------------------------------------

void CallState::OnAttemptHead(Attempt& attempt, int status) {
  if (attempt.nothing_remaining() && attempt.slot.valid()) {
    attempt.slot.NoneRemaining(deps_.loop->Now());
  }
  // The passthrough hands a refusal on as it comes, unless the same call is about to be repeated.
  if (request_.endpoint == Endpoint::kPassthrough && (status < 200 || status > 299) &&
      machine_->MayRepeat(attempt.index(), status)) {
    attempt.KeepRefusal();
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
  if (deps_.classifier != nullptr && IsRefusal(end)) ReadWords(attempt, &ended.end);
  ExplainEnd(attempt, ended.end);
  const int index = attempt.index();
  Drive(std::move(ended));
  ExplainRetryWait(index);
}

/// Reads what a refusal says of itself into `end`, the record and the ledger.
void CallState::ReadWords(Attempt& attempt, decide::AttemptEnd* end) {
  const WallTime wall = deps_.clock->WallNow();
  const RateLimitReading reading =
      ReadRefusal(*deps_.classifier, *deps_.breaker, attempt.candidate(),
                  {attempt.error_headers(), attempt.body(), wall}, deps_.loop->Now(), end);
  if (!reading.classified) return;
  attempt.record.rate_limit =
      RefusalClassName(end->refusal.saturated() ? RefusalClass::kSaturated : reading.refusal_class);
  attempt.record.phrase = reading.phrase;
  if (end->refusal.exhausted() && deps_.ledger != nullptr) {
    const Candidate& candidate = attempt.candidate();
    deps_.ledger->Note(candidate.provider->id,
                       {std::string(reading.phrase), candidate.model, reading.needs_payment, wall});
  }
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

}  // namespace hotel::route
