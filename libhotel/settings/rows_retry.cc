// The rows of `resilience.retry` (decisions 2; R4-R15).
#include "libhotel/settings/option_rows.h"

namespace hotel::settings {
namespace {

using R = RetrySettings;
template <auto kField>
using Retry = Field<&EngineSettings::retry, kField>;

}  // namespace

std::vector<Option> RetryRows() {
  return {
      Row::Of<Retry<&R::max_retries>>(
          "resilience.retry.max_retries", {"2", "3"},
          "How often an exchange is repeated at the same candidate before the request moves on. "
          "One request makes at most (1 + `max_retries`) upstream calls per candidate.")
          .Between(0, 10)
          .Env("RETRY_MAX_RETRIES"),
      Row::Of<Retry<&R::retry_on_statuses>>(
          "resilience.retry.retry_on_statuses", {"", "429,502,503,504,522,524"},
          "Upstream statuses that are repeated; a 429 that says a quota is spent never is.")
          .Env("RETRY_ON_STATUSES"),
      Row::Of<Retry<&R::initial_backoff>>("resilience.retry.initial_backoff", {"100ms", "1s"},
                                          "Wait before the first repeat. 0 = none.")
          .Between(0, kHour)
          .Env("RETRY_INITIAL_BACKOFF"),
      Row::Of<Retry<&R::max_backoff>>(
          "resilience.retry.max_backoff", {"500ms", "30s"},
          "Ceiling of the wait, jitter included. A wait that would not end inside the attempt's "
          "timeout is not begun.")
          .Between(0, kHour)
          .Env("RETRY_MAX_BACKOFF"),
      Row::Of<Retry<&R::backoff_factor>>("resilience.retry.backoff_factor", {"2", "2"},
                                         "Multiplies the wait with each further repeat.")
          .Between(1, 100)
          .Env("RETRY_BACKOFF_FACTOR"),
      Row::Of<Retry<&R::jitter_factor>>(
          "resilience.retry.jitter_factor", {"0.1", "0.1"},
          "Share of the wait that is drawn at random, in both directions.")
          .Between(0, 1)
          .Env("RETRY_JITTER_FACTOR"),
      Row::Of<Retry<&R::on_transport>>(
          "resilience.retry.on_transport", {"replay_safe", "any"},
          "`replay_safe` repeats failures before the request left (lookup, connect, TLS) and "
          "interruptions behind it (reset, unexpected end, a closed idle connection); `any` every "
          "failure of the connection; `none` repeats nothing. Timeouts and broken HTTP are never "
          "repeated.")
          .Words({"none", "replay_safe", "any"}),
      Row::Of<Retry<&R::streaming>>(
          "resilience.retry.streaming", {"transport", "never"},
          "`transport` repeats streams after a transport failure that is safe to repeat, while no "
          "byte of the answer's body has come; `before_commit` applies `retry_on_statuses` too, "
          "while nothing was forwarded; `never` repeats no stream.")
          .Words({"never", "transport", "before_commit"}),
      Row::Of<Retry<&R::retry_after>>(
          "resilience.retry.retry_after", {"ignore", "ignore"},
          "`floor` waits at least as long as a Retry-After says when that fits `max_backoff`, and "
          "repeats nothing when it does not; `ignore` does not look at it.")
          .Words({"ignore", "floor"}),
  };
}

}  // namespace hotel::settings
