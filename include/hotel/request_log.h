// The record of a finished request and of every attempt it made (seed 000, "The per-attempt
// trail").
#ifndef HOTEL_REQUEST_LOG_H_
#define HOTEL_REQUEST_LOG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/circuit_breaker.h"
#include "hotel/types.h"

namespace hotel {

/// Tokens as the provider counted them, or as they were guessed where it did not.
struct TokenUsage {
  std::int64_t prompt = 0;      ///< all input tokens, cached ones included
  std::int64_t completion = 0;  ///< all output tokens, reasoning included
  std::int64_t cached = 0;      ///< of `prompt`, read from the provider's cache
  std::int64_t reasoning = 0;   ///< of `completion`
  /// Guessed from sizes (four bytes a token): the provider stated none, or nobody waited for it.
  bool estimated = false;
  friend bool operator==(const TokenUsage& a, const TokenUsage& b) {
    return a.prompt == b.prompt && a.completion == b.completion && a.cached == b.cached &&
           a.reasoning == b.reasoning && a.estimated == b.estimated;
  }
};

/// One visit to one candidate, or the decision not to visit it.
struct AttemptRecord {
  /// Index of the attempt, from 0 in order of start; -1 = skipped without contact.
  int attempt = 0;
  std::string provider_id;
  std::string provider;  ///< routing form
  std::string model;     ///< upstream model id
  int tries = 0;         ///< exchanges inside the attempt (resilience.retry); 0 = nothing was sent
  std::optional<int> status;  ///< upstream status of the last try, none when no head was seen
  ErrorKind error_kind = ErrorKind::kNone;
  /// Of the last try: up to 160 bytes of sanitized, credential-masked reason. Never prompt or
  /// answer text.
  std::string detail;
  Duration duration{};
  std::optional<Duration> ttft;  ///< first output frame, from the request's arrival; streams only
  BreakerEffect breaker = BreakerEffect::kNoop;
  /// What a 429 was read as: "saturated", "exhausted", "unknown"; "" for anything else. Static
  /// storage.
  std::string_view rate_limit;
  /// The wording that decided it, "" when headers or nothing did. Static storage.
  std::string_view phrase;
  bool hedged = false;  ///< it ran in a race
  /// What a 2xx of this attempt cost: read from the answer that was served, an estimate of the
  /// prompt for one that was thrown away (the loser of a race, a failed first-output probe), none
  /// when the provider refused or was not reached. For whoever charges (facts o).
  std::optional<TokenUsage> usage;
  /// The price of `usage` at this attempt's own model, in billionths of a dollar; none when there
  /// is no usage or no price is known.
  std::optional<std::int64_t> cost;
};

/// One finished request. No prompt, answer or secret is ever in it.
struct RequestRecord {
  std::string request_id;
  std::string requested_model;
  /// Upstream model id that served (or failed last); empty when no candidate was contacted or when
  /// it equals what was asked for after the provider prefix.
  std::string resolved_model;
  std::string provider_id;
  std::string provider;
  std::string key_name;   ///< the name of the virtual key, never the key
  std::string key_id;     ///< UUID of the virtual key, "" = none
  std::string client_ip;  ///< address the request came from, without port; "" = not known
  Endpoint endpoint = Endpoint::kChatCompletions;
  bool streaming = false;
  int status = 0;  ///< what the client got; 499 when it had left
  ErrorKind error_kind = ErrorKind::kNone;
  std::string error_message;
  WallTime created_at{};
  Duration duration{};
  std::optional<Duration> ttft;
  /// Of the answer that was served; estimated when it stated none or the client left before its
  /// end. None when nothing was served.
  std::optional<TokenUsage> usage;
  /// What the request cost, in billionths of a dollar: the sum of what its attempts cost, so of the
  /// answer that was served and of those that were thrown away, each at the price of its own model.
  /// None when no price is known.
  std::optional<std::int64_t> cost;
  /// Skips first, then attempts in order of their index.
  std::vector<AttemptRecord> attempts;
};

/// Receives one record per request that reached the router, after its end.
///
/// `Running` and `Record` are called on a loop thread with no lock held: they must return quickly,
/// must not throw and can not fail the request.
class RequestLog {
 public:
  virtual ~RequestLog() = default;
  /// A request with this id, model, key, endpoint and time has run for a while
  /// (RouterDeps::report_running_after) and goes on; the rest of its record is to come. At most
  /// once for a request, and followed by its Record.
  virtual void Running(const RequestRecord& record) { static_cast<void>(record); }
  virtual void Record(const RequestRecord& record) = 0;
};

}  // namespace hotel

#endif  // HOTEL_REQUEST_LOG_H_
