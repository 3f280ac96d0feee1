#include "libhotel/decide/retry.h"

#include <algorithm>

#include "libhotel/base/random.h"

namespace hotel::decide {
namespace {

using Retry = RetrySettings;

bool RepeatableTransport(const AttemptEnd& end, Retry::OnTransport on_transport) noexcept {
  if (on_transport == Retry::OnTransport::kNone) return false;
  switch (end.transport) {
    case TransportError::kResolve:
    case TransportError::kConnect:
    case TransportError::kTls:
      return end.phase == TransportPhase::kNotSent || on_transport == Retry::OnTransport::kAny;
    case TransportError::kInterrupted:
      return true;
    case TransportError::kOther:
      return on_transport == Retry::OnTransport::kAny;
    case TransportError::kNone:
    case TransportError::kRefusedAddress:  // it would be refused again
    case TransportError::kConnectTimeout:  // a sibling is the faster way out
    case TransportError::kProtocol:
    case TransportError::kLocal:
    case TransportError::kTooLarge:
      break;
  }
  return false;
}

}  // namespace

bool Repeatable(const AttemptEnd& end, bool streaming, const RetrySettings& settings) noexcept {
  if (streaming && settings.streaming == Retry::Streaming::kNever) return false;
  if (end.kind == AttemptEnd::Kind::kTransport) {
    if (streaming && end.body_seen) return false;
    const bool any = settings.on_transport == Retry::OnTransport::kAny;
    return RepeatableTransport(
        end, streaming && any ? Retry::OnTransport::kReplaySafe : settings.on_transport);
  }
  if (end.kind != AttemptEnd::Kind::kHttpError && end.kind != AttemptEnd::Kind::kHiddenError) {
    return false;
  }
  if (streaming && settings.streaming != Retry::Streaming::kBeforeCommit) return false;
  return settings.retry_on_statuses.Contains(end.status) && !end.refusal.exhausted();
}

Duration RetryBackoff(const RetrySettings& settings, int n, std::uint64_t* random) noexcept {
  const auto max = static_cast<double>(settings.max_backoff.count());
  double wait = std::min(static_cast<double>(settings.initial_backoff.count()), max);
  // Stops at the ceiling, so that no number of tries overflows.
  for (int i = 1; i < n && wait < max && settings.backoff_factor > 1; ++i) {
    wait = std::min(wait * settings.backoff_factor, max);
  }
  if (settings.jitter_factor > 0) {
    constexpr std::uint64_t kSteps = std::uint64_t{1} << 32;
    const double draw = static_cast<double>(base::RandomBelow(random, kSteps)) / kSteps;  // [0, 1)
    wait = std::min(wait * (1 + settings.jitter_factor * (2 * draw - 1)), max);
  }
  if (!(wait > 0)) return Duration::zero();
  // Beyond a hundred years the conversion below could leave the clock's range.
  return Duration(static_cast<Duration::rep>(std::min(wait, 3.0e18)));
}

std::optional<Duration> RetryWait(const RetrySettings& settings, int n,
                                  std::optional<Duration> retry_after,
                                  std::uint64_t* random) noexcept {
  const Duration backoff = RetryBackoff(settings, n, random);
  if (settings.retry_after == Retry::RetryAfter::kIgnore || !retry_after) return backoff;
  if (*retry_after > settings.max_backoff) return std::nullopt;
  return std::max(backoff, *retry_after);
}

}  // namespace hotel::decide
