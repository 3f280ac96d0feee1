// What a call leaves behind: its record, with the trail of its attempts and what they cost.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "libhotel/base/redact.h"
#include "libhotel/decide/cost_guess.h"
#include "libhotel/decide/token_cost.h"
#include "libhotel/route/call.h"
#include "libhotel/route/listing.h"
#include "libhotel/route/usage_estimate.h"
#include "libhotel/wire/endpoints.h"

namespace hotel::route {

void CallState::AddSkip(const Candidate& candidate, std::string_view detail, BreakerEffect effect,
                        ErrorKind kind) {
  AttemptRecord skip;
  skip.attempt = -1;
  skip.provider_id = candidate.provider->id;
  skip.provider = candidate.provider->routing_name;
  skip.model = candidate.model;
  skip.detail = detail;
  skip.error_kind = kind;
  skip.breaker = effect;
  record_.attempts.push_back(std::move(skip));
}

void CallState::TellSkip(const Candidate& candidate, std::string_view why) {
  if (deps_.events == nullptr) return;
  deps_.events->OnNote({Event::Severity::kInfo,
                        "resolve",
                        "",
                        fmt::format("skipping candidate: {}", why),
                        {{"provider", candidate.provider->name},
                         {"provider_id", candidate.provider->id},
                         {"model", candidate.model}}});
}

/// Says that the request goes on behind a failure, when somebody else (or the last one once more)
/// is about to be asked.
void CallState::TellFailover() {
  if (!std::exchange(failure_untold_, false) || deps_.events == nullptr) return;
  const AttemptRecord& failed = record_.attempts.back();
  LogNote note{Event::Severity::kInfo, "proxy", "", "failover triggered", {}};
  note.attributes = {{"attempt", std::int64_t{failed.attempt + 1}},
                     {"provider", failed.provider},
                     {"provider_id", failed.provider_id}};
  if (failed.status) note.attributes.push_back({"status", std::int64_t{*failed.status}});
  note.attributes.push_back({"error_kind", std::string(ErrorKindName(failed.error_kind))});
  if (!failed.rate_limit.empty()) {
    note.attributes.push_back({"rate_limit_class", std::string(failed.rate_limit)});
  }
  deps_.events->OnNote(note);
  const Duration pause = deps_.loop->Now() - failed_at_;
  if (pause <= Duration::zero()) return;
  const auto span = std::chrono::duration_cast<std::chrono::milliseconds>(pause).count();
  deps_.events->OnNote(
      {Event::Severity::kInfo,
       "proxy",
       "",
       "failover backoff",
       {{"backoff", fmt::format("{}ms", span)}, {"attempt", std::int64_t{failed.attempt + 2}}}});
}

/// Some clients put their key where the name of a model belongs.
void CallState::NoteModel() {
  names_key_ = base::HoldsKey(peek_->model);
  record_.requested_model = names_key_ ? base::RedactKeys(peek_->model) : peek_->model;
}

/// What came of such a name is hidden like the name.
void CallState::HideKey() {
  record_.error_message = base::RedactKeys(record_.error_message);
  record_.resolved_model = base::RedactKeys(record_.resolved_model);
  for (AttemptRecord& attempt : record_.attempts) attempt.model = base::RedactKeys(attempt.model);
}

/// Guessed from the text in the request; forms hold no text to speak of.
std::int64_t CallState::PromptEstimate() {
  if (!prompt_estimate_) {
    const bool form = peek_.ok() && peek_->multipart;
    prompt_estimate_ = form ? 0 : EstimateTokens(*request_.body);
  }
  return *prompt_estimate_;
}

/// Guessed in front of the route: whoever the request ends at, it hardly costs more.
std::int64_t CallState::CostEstimate() {
  if (!peek_.ok()) return 0;
  decide::CostGuess guess;
  guess.prompt = PromptEstimate();
  guess.writes = wire::DialectOf(request_.endpoint) != wire::Dialect::kPlain;
  guess.max_output = peek_->max_output;
  guess.choices = peek_->choices;
  const auto snapshot = deps_.groups->Snapshot();
  const Wish wish{peek_->model, request_.endpoint, request_.allowed_providers.get()};
  std::int64_t most = 0;
  for (const Model* model : ReachableModels(wish, *snapshot, parts_->virtuals)) {
    most = std::max(most, decide::GuessCost(guess, *model));
  }
  return most;
}

/// What an attempt whose verdict has just been told cost. Who answered 2xx to a stream has read the
/// prompt, whether or not it served; its own error says that it did not (seed 000, "The losers are
/// still paid for").
std::optional<TokenUsage> CallState::UsageOf(const Attempt& attempt) {
  TokenUsage usage;
  usage.estimated = true;
  const bool text = wire::DialectOf(request_.endpoint) != wire::Dialect::kPlain;
  if (attempt.status() == 0 && attempt.record.error_kind == ErrorKind::kClientDisconnect &&
      attempt.tries() > 0 && text) {
    // Whoever leaves before the answer begins has had the prompt read all the same (F191).
    usage.prompt = PromptEstimate();
    return usage;
  }
  if (attempt.status() < 200 || attempt.status() > 299) return std::nullopt;
  if (!attempt.serves()) {
    if (!text || !peek_->stream || attempt.hidden_error()) return std::nullopt;
    usage.prompt = PromptEstimate();
    return usage;
  }
  const std::optional<TokenUsage>& stated = attempt.stated_usage();
  if (stated && attempt.ended_whole()) return stated;
  if (stated) {
    usage = *stated;
    usage.estimated = true;
  }
  if (usage.prompt == 0) usage.prompt = PromptEstimate();
  usage.completion = std::max(usage.completion, attempt.output_estimate());
  return usage;
}

/// What it cost at the prices of its own model, for the attempt and for the request.
void CallState::AddCost(AttemptRecord* record) {
  if (!record->usage) return;
  const Model* const model = snapshot_->FindModel(record->provider_id, record->model);
  if (model == nullptr) return;
  record->cost = decide::CostOf(*record->usage, model->prices);
  if (record->cost) record_.cost = record_.cost.value_or(0) + *record->cost;
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
    if (attempt->committed()) record_.usage = attempt->record.usage;
  }
  std::stable_sort(
      record_.attempts.begin(), record_.attempts.end(),
      [](const AttemptRecord& a, const AttemptRecord& b) { return a.attempt < b.attempt; });
  if (names_key_) HideKey();
  ExplainFinish();
  if (pass_ != nullptr) pass_->Settle(record_, deps_.loop->Now(), deps_.clock->WallNow());
  pass_.reset();
  if (deps_.log != nullptr) deps_.log->Record(record_);
  on_change_();
}

}  // namespace hotel::route
