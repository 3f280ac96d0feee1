#include "tests/model/random_inputs.h"

#include <chrono>
#include <functional>
#include <string>
#include <variant>

#include "libhotel/settings/registry.h"

namespace hotel::model {

using decide::AttemptEnd;
using decide::RefusalFacts;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

StatusSet RandomStatuses(Dice& dice) {
  StatusSet set;
  if (dice.OneIn(2)) set.AddClass(5);
  if (dice.OneIn(8)) set.AddClass(4);
  for (const int code : {402, 404, 429, 499, 503}) {
    if (dice.OneIn(3)) set.AddCode(code);
  }
  return set;
}

void RandomFailover(Dice& dice, FailoverSettings& s) {
  s.retry_on_statuses = dice.OneIn(4) ? RandomStatuses(dice) : StatusSet().AddClass(5);
  if (dice.OneIn(2)) {
    for (const int code : {401, 402, 403, 404, 429, 499}) s.retry_on_statuses.AddCode(code);
  }
  s.judge = dice.OneIn(3) ? FailoverSettings::Judge::kFirst : FailoverSettings::Judge::kEvery;
  s.error_body = dice.OneIn(3) ? FailoverSettings::ErrorBody::kProvider
                               : FailoverSettings::ErrorBody::kGateway;
  s.backoff_initial = milliseconds(dice.Pick<int, 3>({0, 10, 100}));
  s.backoff_max = milliseconds(dice.Pick<int, 3>({0, 50, 2000}));
  s.last_candidate_statuses = dice.OneIn(3) ? StatusSet() : StatusSet().AddClass(5);
  s.wait_saturated = !dice.OneIn(3);
  s.exhaustion_status_429 = !dice.OneIn(3);
}

void RandomRetry(Dice& dice, RetrySettings& s) {
  s.max_retries = dice.Pick<int, 4>({0, 1, 2, 3});
  s.retry_on_statuses = RandomStatuses(dice);
  s.initial_backoff = milliseconds(dice.Pick<int, 3>({0, 5, 100}));
  s.max_backoff = milliseconds(dice.Pick<int, 3>({0, 20, 500}));
  s.backoff_factor = dice.Pick<double, 3>({1, 2, 100});
  s.jitter_factor = dice.Pick<double, 3>({0, 0.1, 1});
  s.on_transport = static_cast<RetrySettings::OnTransport>(dice.Below(3));
  s.streaming = static_cast<RetrySettings::Streaming>(dice.Below(3));
  s.retry_after = static_cast<RetrySettings::RetryAfter>(dice.Below(2));
}

void RandomTimeouts(Dice& dice, TimeoutSettings& s) {
  s.request_timeout = milliseconds(dice.Pick<int, 3>({20, 200, 1000}));
  s.long_factor = dice.Pick<int, 2>({1, 10});
  s.deadline_factor = dice.Pick<int, 4>({0, 1, 2, 2});
  s.ttft_timeout = milliseconds(dice.Pick<int, 3>({0, 50, 500}));
  s.stream_stall_timeout = milliseconds(dice.Pick<int, 3>({0, 40, 400}));
  s.stream_stall_factor = dice.Pick<int, 2>({1, 3});
  s.upstream_header_timeout = milliseconds(dice.Pick<int, 3>({0, 30, 300}));
  s.connect_timeout = milliseconds(dice.Pick<int, 2>({10, 5000}));
}

void RandomBreaker(Dice& dice, CircuitBreakerSettings& s) {
  if (dice.OneIn(2)) {
    for (const int code : {401, 403, 429}) s.failure_on_statuses.AddCode(code);
    s.failure_on_statuses.AddClass(5);
    s.open_on_statuses.AddCode(402);
    s.neutral_on_statuses.AddCode(404).AddCode(499);
  } else {
    s.failure_on_statuses = RandomStatuses(dice);
    s.open_on_statuses = RandomStatuses(dice);
    s.neutral_on_statuses = RandomStatuses(dice);
  }
  s.open_on_exhaustion = !dice.OneIn(4);
  s.slow_call_threshold = milliseconds(dice.Pick<int, 3>({0, 0, 30}));
  s.block_direct = dice.OneIn(2);
  s.stream_verdict = static_cast<CircuitBreakerSettings::StreamVerdict>(dice.Below(2));
}

}  // namespace

EngineSettings RandomSettings(Dice& dice, Duration* unit) {
  static const std::array<EngineSettings, 2> profiles = {settings::ProfileDefaults(0),
                                                         settings::ProfileDefaults(1)};
  EngineSettings s;
  if (dice.OneIn(3)) {
    *unit = seconds(1);
    s = profiles[static_cast<std::size_t>(dice.Below(2))];
    if (dice.OneIn(2)) s.circuit_breaker.slow_call_threshold = seconds(5);
  } else {
    *unit = milliseconds(1);
    RandomFailover(dice, s.failover);
    RandomRetry(dice, s.retry);
    RandomTimeouts(dice, s.timeouts);
    RandomBreaker(dice, s.circuit_breaker);
    s.rate_limit.saturation_max_wait = milliseconds(dice.Pick<int, 3>({20, 200, 2000}));
  }
  s.hedging.enabled = dice.OneIn(2);
  s.hedging.delay = *unit * dice.Pick<int, 3>({0, 4, 150});
  return s;
}

AttemptEnd RandomEnd(Dice& dice, Duration unit) {
  AttemptEnd end;
  if (dice.OneIn(4)) return end;  // a good answer
  end.kind = static_cast<AttemptEnd::Kind>(dice.Below(13));
  if (dice.OneIn(4)) end.kind = AttemptEnd::Kind::kTransport;
  if (dice.OneIn(4)) end.kind = AttemptEnd::Kind::kHttpError;
  end.status =
      dice.Pick<int, 14>({0, 200, 302, 400, 401, 402, 404, 429, 429, 429, 499, 500, 503, 600});
  // Interruptions more often than the rest: they are what repeating is about.
  end.transport =
      dice.OneIn(4) ? TransportError::kInterrupted : static_cast<TransportError>(dice.Below(11));
  end.phase = static_cast<TransportPhase>(dice.Below(4));
  end.body_seen = dice.OneIn(2);
  if (dice.OneIn(3)) end.retry_after = unit * dice.Pick<int, 4>({0, 3, 40, 4000});
  if (end.status != 429) return end;
  if (const int read = dice.Below(4); read > 0) {
    end.refusal.read = static_cast<RefusalClass>(read - 1);
  }
  end.refusal.wait = unit * dice.Pick<int, 4>({1, 7, 60, 9000});
  end.refusal.stated = dice.OneIn(2);
  end.refusal.account_wide = dice.OneIn(2);
  end.refusal.needs_payment = dice.OneIn(4);
  end.refusal.recent_success = dice.OneIn(2);
  return end;
}

std::uint64_t Fingerprint(std::uint64_t seed, const decide::Action& action) {
  struct {
    std::uint64_t hash;
    void Add(std::uint64_t value) {
      hash ^= value;
      hash = base::NextRandom(&hash);
    }
    void Add(Duration value) { Add(static_cast<std::uint64_t>(value.count())); }
    void Add(int value) { Add(static_cast<std::uint64_t>(value)); }
    void Add(const CircuitReport& report) {
      Add(static_cast<int>(report.verdict));
      Add(std::hash<std::string>()(report.cause));
      Add(report.status);
      Add(report.rate_limited ? 1 : 0);
      if (report.pin) Add(report.pin->duration);
    }
    void operator()(const decide::AskAdmission& a) {
      Add(a.attempt);
      Add(a.candidate);
    }
    void operator()(const decide::StartAttempt& a) {
      Add(a.attempt);
      Add(a.candidate);
      Add(a.connect_timeout);
    }
    void operator()(const decide::CancelAttempt& a) { Add(a.attempt); }
    void operator()(const decide::Commit& a) { Add(a.attempt); }
    void operator()(const decide::SettleCircuit& a) {
      Add(a.attempt);
      Add(a.report);
    }
    void operator()(const decide::ReportVerdict& a) {
      Add(a.attempt);
      Add(a.report);
      Add(static_cast<int>(a.kind));
      Add((a.settled ? 1 : 0) + (a.clean ? 2 : 0) + (a.hedged ? 4 : 0));
      if (a.cut) Add(*a.cut);
    }
    void operator()(const decide::WaitForSlot& a) {
      for (const int candidate : a.candidates) Add(candidate);
    }
    void operator()(const decide::Finish& a) {
      Add(static_cast<int>(a.how));
      Add(static_cast<int>(a.reason));
      Add(a.attempt);
      Add(a.status);
      Add(a.contacted);
      Add(static_cast<int>(a.kind));
      if (a.retry_at) Add(a.retry_at->time_since_epoch());
    }
  } mix{seed};
  mix.Add(static_cast<int>(action.index()));
  std::visit(mix, action);
  return mix.hash;
}

}  // namespace hotel::model
