#include "libhotel/decide/terminal.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "fmt/format.h"
#include "libhotel/base/strings.h"
#include "libhotel/decide/error_codes.h"

namespace hotel::decide {
namespace {

using Reason = Finish::Reason;

// A model name comes from the client and may be of any length.
constexpr std::size_t kMaxNameBytes = 200;

std::string Clip(std::string_view name) {
  const std::string_view kept = base::TruncateUtf8(name, kMaxNameBytes);
  return std::string(kept) + (kept.size() < name.size() ? "..." : "");
}

TerminalAnswer Make(int status, ErrorCode code, ErrorKind kind, std::string message) {
  TerminalAnswer answer;
  answer.status = status;
  answer.code = std::string(ErrorCodeWord(code));
  answer.kind = kind;
  answer.message = std::move(message);
  return answer;
}

// 1..60 whole seconds, rounded up: a long wait never sends a client away for hours.
int RetryAfterSeconds(std::optional<TimePoint> retry_at, TimePoint now) noexcept {
  using std::chrono::seconds;
  if (!retry_at || *retry_at <= now) return 1;
  // Compared as instants first, so that a far one cannot overflow the rounding.
  if (*retry_at >= now + seconds(60)) return 60;
  return static_cast<int>(std::chrono::ceil<seconds>(*retry_at - now).count());
}

std::string_view ReasonPhrase(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::kProviderModelGone:
      return "the provider no longer serves this model";
    case ErrorKind::kProviderNotEntitled:
      return "the provider rejected this request for billing or plan reasons";
    case ErrorKind::kProviderBadRequest:
      return "the provider rejected the request payload";
    case ErrorKind::kProviderSaturated:
      return "the provider is at capacity; retry shortly";
    case ErrorKind::kProviderQuotaExhausted:
      return "the provider's usage quota is exhausted; retry after it resets";
    default:
      return "the provider failed to serve this request";
  }
}

ErrorCode CodeOf(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::kProviderModelGone:
      return ErrorCode::kProviderModelGone;
    case ErrorKind::kProviderNotEntitled:
      return ErrorCode::kProviderNotEntitled;
    case ErrorKind::kProviderBadRequest:
      return ErrorCode::kProviderBadRequest;
    case ErrorKind::kProviderSaturated:
      return ErrorCode::kProviderSaturated;
    case ErrorKind::kProviderQuotaExhausted:
      return ErrorCode::kProviderQuotaExhausted;
    default:
      return ErrorCode::kProviderError;
  }
}

// The wait that a refusal other than a 429 stated, as whole seconds. It is the provider's own and
// may be long.
int StatedSeconds(TimePoint retry_at, TimePoint now) noexcept {
  using std::chrono::seconds;
  if (retry_at <= now) return 1;
  const Duration wait = std::min<Duration>(retry_at - now, std::chrono::hours(24 * 90));
  return static_cast<int>(std::chrono::ceil<seconds>(wait).count());
}

TerminalAnswer UpstreamStatus(const Finish& finish, const TerminalNames& names, TimePoint now) {
  const int status = finish.status;
  const std::string who =
      names.provider.empty() ? std::string() : fmt::format("provider {}, ", names.provider);
  const bool unread_429 = status == 429 && finish.kind == ErrorKind::kProviderError;
  const ErrorCode code = unread_429 ? ErrorCode::kProviderRateLimited : CodeOf(finish.kind);
  const std::string_view reason =
      unread_429 ? "the provider refused this request for rate or quota reasons"
                 : ReasonPhrase(finish.kind);
  TerminalAnswer answer =
      Make(status, code, finish.kind, fmt::format("{} ({}upstream HTTP {})", reason, who, status));
  if (finish.retry_at) {
    // A spent window can be days long, and a circuit or a sibling may be back before (F097).
    answer.retry_after_seconds = status == 429 ? RetryAfterSeconds(finish.retry_at, now)
                                               : StatedSeconds(*finish.retry_at, now);
  }
  return answer;
}

TerminalAnswer AllBusy(const Finish& finish, const std::string& model, TimePoint now) {
  TerminalAnswer answer =
      Make(429, ErrorCode::kProviderSaturated, finish.kind,
           fmt::format("all providers busy for model {}, retry shortly", model));
  answer.retry_after_seconds = RetryAfterSeconds(finish.retry_at, now);
  return answer;
}

// R50. The provider is the one the client named.
TerminalAnswer CircuitOpen(const Finish& finish, const TerminalNames& names, TimePoint now) {
  TerminalAnswer answer = Make(
      503, ErrorCode::kCircuitOpen, finish.kind,
      fmt::format("circuit breaker is open - provider {} temporarily unavailable", names.provider));
  answer.retry_after_seconds = RetryAfterSeconds(finish.retry_at, now);
  return answer;
}

TerminalAnswer AllCircuitsOpen(const Finish& finish, const std::string& model, TimePoint now) {
  const int seconds = RetryAfterSeconds(finish.retry_at, now);
  TerminalAnswer answer =
      Make(429, ErrorCode::kNoAvailableProvider, finish.kind,
           fmt::format("no available provider for {}; earliest retry in {}s", model, seconds));
  answer.retry_after_seconds = seconds;
  return answer;
}

// The event that ends a stream that is not whole (decisions, 10). Whatever broke it, a client that
// looks for one word to tell a cut answer from a whole one finds this one.
TerminalAnswer BrokenStream(const Finish& finish, const std::string& model) {
  switch (finish.reason) {
    case Reason::kShutdown:
      return Make(503, ErrorCode::kGatewayShutdown, finish.kind, "gateway restarting");
    case Reason::kDeadline:
    case Reason::kAttemptTimeout:
      return Make(504, ErrorCode::kStreamIncomplete, finish.kind,
                  fmt::format("request timed out for model {}", model));
    default:
      return Make(502, ErrorCode::kStreamIncomplete, finish.kind,
                  "the provider's stream ended before it was complete");
  }
}

}  // namespace

TerminalAnswer MakeTerminal(const Finish& finish, const TerminalNames& names, TimePoint now) {
  const std::string model = Clip(names.requested_model);
  if (finish.how == Finish::How::kClientGone) {
    TerminalAnswer answer;
    answer.status = 499;
    answer.message = "client disconnected";
    answer.kind = finish.kind;
    return answer;
  }
  if (finish.how == Finish::How::kServedBroken) return BrokenStream(finish, model);
  if (finish.how == Finish::How::kServedError) return UpstreamStatus(finish, names, now);
  switch (finish.reason) {
    case Reason::kAllCircuitsOpen:
      return AllCircuitsOpen(finish, model, now);
    case Reason::kAllFailed:
      return Make(502, ErrorCode::kAllProvidersFailed, finish.kind,
                  finish.contacted > 1
                      ? fmt::format("all providers failed for model {}", model)
                      : fmt::format("provider request failed for model {}", model));
    case Reason::kUpstreamStatus:
      return UpstreamStatus(finish, names, now);
    case Reason::kAllBusy:
      return AllBusy(finish, model, now);
    case Reason::kCircuitOpen:
      return CircuitOpen(finish, names, now);
    case Reason::kCircuitCapacity:
      return Make(503, ErrorCode::kCircuitCapacity, finish.kind,
                  fmt::format("circuit breaker capacity exhausted for model {}", model));
    case Reason::kAnswerTooLarge:
      return Make(502, ErrorCode::kAnswerTooLarge, finish.kind,
                  fmt::format("the provider's answer exceeds the size limit for model {}", model));
    case Reason::kAttemptTimeout:
      return Make(504, ErrorCode::kProviderTimeout, finish.kind,
                  fmt::format("request timed out for model {}", model));
    case Reason::kDeadline:
      return Make(504, ErrorCode::kFailoverTimeout, finish.kind,
                  fmt::format("request timed out for model {}", model));
    case Reason::kShutdown:
      return Make(503, ErrorCode::kGatewayShutdown, finish.kind, "gateway restarting");
    case Reason::kUnsendable:
      return Make(500, ErrorCode::kProviderUnusable, finish.kind,
                  fmt::format("no provider for model {} has a usable key and base URL", model));
    case Reason::kNone:
    case Reason::kNoProvider:
    case Reason::kStreamIncomplete:
      break;
  }
  return Make(502, ErrorCode::kNoAvailableProvider, finish.kind,
              fmt::format("no available provider for {}", model));
}

TerminalAnswer ModelNotFound(std::string_view requested_model) {
  return Make(404, ErrorCode::kModelNotFound, ErrorKind::kValidation,
              fmt::format("model not found: {}", Clip(requested_model)));
}

TerminalAnswer GroupDisabled() {
  return Make(404, ErrorCode::kFailoverGroupDisabled, ErrorKind::kValidation,
              "failover group disabled");
}

TerminalAnswer GroupEmpty() {
  return Make(404, ErrorCode::kFailoverGroupEmpty, ErrorKind::kValidation,
              "no entries in failover group");
}

TerminalAnswer BadModelForm(std::string_view suggestion) {
  std::string message = R"(invalid model format: expected "provider/model" or "hotel/group")";
  if (!suggestion.empty()) message += fmt::format("; did you mean \"{}\"?", Clip(suggestion));
  return Make(400, ErrorCode::kInvalidModelFormat, ErrorKind::kValidation, std::move(message));
}

TerminalAnswer BadRequest(std::string_view message) {
  return Make(400, ErrorCode::kInvalidRequest, ErrorKind::kValidation, std::string(message));
}

TerminalAnswer EndpointNotSupported(std::string_view requested_model, std::string_view path) {
  return Make(400, ErrorCode::kEndpointNotSupported, ErrorKind::kValidation,
              fmt::format("no provider of {} serves {}", Clip(requested_model), path));
}

TerminalAnswer ProviderNotFound(std::string_view provider) {
  return Make(404, ErrorCode::kProviderNotFound, ErrorKind::kValidation,
              fmt::format("provider not found: {}", Clip(provider)));
}

TerminalAnswer ProviderNotAllowed() {
  return Make(403, ErrorCode::kProviderNotAllowed, ErrorKind::kAuth,
              "virtual key does not have access to any provider for this model");
}

TerminalAnswer KeysUndecryptable(int count) {
  return Make(500, ErrorCode::kKeysUndecryptable, ErrorKind::kInternal,
              fmt::format("all {} candidate(s) failed key decryption (wrong master key?)", count));
}

ErrorKind KindOfStatus(int status) noexcept {
  switch (status) {
    case 401:
    case 402:
    case 403:
      return ErrorKind::kProviderNotEntitled;
    case 404:
      return ErrorKind::kProviderModelGone;
    case 429:
      return ErrorKind::kProviderSaturated;
    case 407:  // about the way to the provider
    case 499:  // the provider's word for a caller that left; ours is still there (F011)
      return ErrorKind::kProviderError;
    default:
      break;
  }
  return status >= 400 && status < 500 ? ErrorKind::kProviderBadRequest : ErrorKind::kProviderError;
}

}  // namespace hotel::decide
