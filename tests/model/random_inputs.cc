#include "tests/model/random_inputs.h"

#include <chrono>
#include <variant>

namespace hotel::model {

using decide::AttemptEnd;
using std::chrono::milliseconds;

std::shared_ptr<const Settings> RandomSettings(Dice& dice) {
  auto settings = std::make_shared<Settings>();
  EngineSettings& s = settings->global;
  for (int code : {401, 402, 403, 404, 429, 499}) s.failover.retry_on_statuses.AddCode(code);
  s.failover.retry_on_statuses.AddClass(5);
  s.failover.backoff_initial = milliseconds(dice.Pick<int, 3>({0, 10, 100}));
  s.failover.backoff_max = milliseconds(dice.Pick<int, 3>({0, 50, 2000}));
  s.failover.exhaustion_status_429 = !dice.OneIn(4);
  s.retry.max_retries = dice.Pick<int, 4>({0, 1, 2, 2});
  s.retry.initial_backoff = milliseconds(dice.Pick<int, 3>({0, 5, 100}));
  s.retry.max_backoff = milliseconds(dice.Pick<int, 3>({0, 20, 500}));
  s.retry.backoff_factor = dice.Pick<double, 3>({1, 2, 100});
  s.retry.jitter_factor = dice.Pick<double, 3>({0, 0.1, 1});
  s.retry.on_transport =
      dice.OneIn(8) ? RetrySettings::OnTransport::kNone : RetrySettings::OnTransport::kReplaySafe;
  s.retry.streaming =
      dice.OneIn(4) ? RetrySettings::Streaming::kNever : RetrySettings::Streaming::kTransport;
  s.timeouts.request_timeout = milliseconds(dice.Pick<int, 3>({20, 200, 1000}));
  s.timeouts.long_factor = dice.Pick<int, 2>({1, 10});
  s.timeouts.deadline_factor = dice.Pick<int, 4>({0, 1, 2, 2});
  s.timeouts.ttft_timeout = milliseconds(dice.Pick<int, 3>({0, 50, 500}));
  s.timeouts.upstream_header_timeout = milliseconds(dice.Pick<int, 3>({0, 30, 300}));
  s.timeouts.connect_timeout = milliseconds(dice.Pick<int, 2>({10, 5000}));
  s.circuit_breaker.enabled = !dice.OneIn(16);
  s.circuit_breaker.failure_threshold = dice.Pick<int, 4>({1, 2, 3, 3});
  s.circuit_breaker.timeout = milliseconds(dice.Pick<int, 3>({5, 50, 500}));
  s.circuit_breaker.open_on_exhaustion = !dice.OneIn(4);
  for (int code : {401, 403, 429}) s.circuit_breaker.failure_on_statuses.AddCode(code);
  s.circuit_breaker.failure_on_statuses.AddClass(5);
  s.circuit_breaker.open_on_statuses.AddCode(402);
  s.circuit_breaker.neutral_on_statuses.AddCode(404).AddCode(499);
  return settings;
}

AttemptEnd RandomEnd(Dice& dice) {
  AttemptEnd end;
  if (dice.OneIn(3)) return end;  // a good answer
  end.kind =
      dice.OneIn(4) ? AttemptEnd::Kind::kTransport : static_cast<AttemptEnd::Kind>(dice.Below(11));
  end.status = dice.Pick<int, 12>({0, 200, 302, 400, 401, 402, 404, 429, 499, 500, 503, 600});
  // Interruptions more often than the rest: they are what repeating is about.
  end.transport =
      dice.OneIn(8) ? TransportError::kInterrupted : static_cast<TransportError>(dice.Below(11));
  end.phase = static_cast<TransportPhase>(dice.Below(4));
  end.body_seen = dice.OneIn(2);
  return end;
}

std::string Print(const decide::Action& action) {
  struct {
    std::string operator()(const decide::AskAdmission& a) {
      return "ask" + std::to_string(a.candidate);
    }
    std::string operator()(const decide::StartAttempt& a) {
      return "start" + std::to_string(a.attempt) + " " + std::to_string(a.connect_timeout.count());
    }
    std::string operator()(const decide::CancelAttempt& a) {
      return "cancel" + std::to_string(a.attempt);
    }
    std::string operator()(const decide::Commit& a) { return "commit" + std::to_string(a.attempt); }
    std::string operator()(const decide::SettleCircuit& a) const {
      return "settle " + std::to_string(a.attempt) + " " + a.report.cause;
    }
    std::string operator()(const decide::WaitForSlot& a) const {
      std::string text = "wait";
      for (const int candidate : a.candidates) text += " " + std::to_string(candidate);
      return text;
    }
    std::string operator()(const decide::ReportVerdict& a) {
      return "report" + std::to_string(static_cast<int>(a.report.verdict)) + a.report.cause;
    }
    std::string operator()(const decide::Finish& a) {
      return "finish" + std::to_string(static_cast<int>(a.how)) +
             std::to_string(static_cast<int>(a.reason)) + std::to_string(a.status);
    }
  } print;
  return std::visit(print, action);
}

}  // namespace hotel::model
