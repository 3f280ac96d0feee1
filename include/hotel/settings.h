// The options the engine reads, as one immutable value.
//
// How a value comes about (built-in default, profile, file, environment) is the business of the
// settings registry in the library; the engine only ever sees a finished `Settings`. A running
// request keeps the snapshot it started with; a change applies to decisions made after it
// (decisions, section 3).
#ifndef HOTEL_SETTINGS_H_
#define HOTEL_SETTINGS_H_

#include <bitset>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/types.h"

namespace hotel {

/// A set of HTTP statuses written as exact codes (`429`) and classes (`5xx`), 100 to 599.
/// Class 5xx means every status of 500 and above, 600-999 included: a made-up server error is
/// still a server error (field report F009).
class StatusSet {
 public:
  StatusSet() = default;

  /// Adds one exact code. REQUIRES: 100 <= code <= 599.
  StatusSet& AddCode(int code);
  /// Adds a whole class: 4 for 4xx. REQUIRES: 1 <= hundreds <= 5.
  StatusSet& AddClass(int hundreds);

  bool Contains(int status) const noexcept;
  /// True when `status` was added by AddCode, whatever its class.
  bool ContainsExactly(int status) const noexcept;
  bool ContainsClass(int hundreds) const noexcept;
  bool empty() const noexcept { return codes_.none() && classes_.none(); }

  /// The set as it is written in a configuration: `{"401", "5xx"}`, codes first.
  std::vector<std::string> ToStrings() const;

  friend bool operator==(const StatusSet& a, const StatusSet& b) noexcept {
    return a.codes_ == b.codes_ && a.classes_ == b.classes_;
  }

 private:
  std::bitset<600> codes_;
  std::bitset<6> classes_;
};

/// A set of endpoints whose requests have candidates to choose from: the passthrough is in none.
class EndpointSet {
 public:
  EndpointSet() = default;
  static EndpointSet All() noexcept;

  /// The passthrough is ignored.
  EndpointSet& Add(Endpoint endpoint) noexcept;
  bool Contains(Endpoint endpoint) const noexcept;

  friend bool operator==(const EndpointSet& a, const EndpointSet& b) noexcept {
    return a.bits_ == b.bits_;
  }

 private:
  std::uint32_t bits_ = 0;
};

/// When and how fast a request moves on to its next candidate (seed 000, "Transparent Failover").
struct FailoverSettings {
  /// Whose error decides whether the request goes on: that of every candidate, or only that of the
  /// first contacted one (then every later failure goes on). `failover.judge` (every, first)
  enum class Judge { kEvery, kFirst };
  /// Whose words the client gets when the last candidate refused: the gateway's, or the provider's
  /// own body with credentials masked. A refused payload (400, 422) is always told in the
  /// provider's words. `failover.error_body` (gateway, provider)
  enum class ErrorBody { kGateway, kProvider };

  /// False: a request that failed at one candidate is not sent to another one. Open circuits are
  /// skipped all the same. `failover.enabled`
  bool enabled = true;
  /// Candidates a request may go on to behind the first contacted one; 0 = all (B8, B12).
  /// `failover.max_attempts`
  int max_attempts = 0;
  /// Upstream statuses that send a request on. `failover.retry_on_statuses`
  StatusSet retry_on_statuses;
  /// `failover.judge`
  Judge judge = Judge::kEvery;
  /// Pause before the second contacted candidate, doubling with each further one; also the width of
  /// the additive jitter. 0 = no pause. `failover.backoff.initial`
  Duration backoff_initial{};
  /// Ceiling of the doubling, before jitter. `failover.backoff.max`
  Duration backoff_max{};
  /// Statuses that the last candidate may answer once: it is asked again after 0.5 to 1 s when
  /// nobody else is left. `failover.last_candidate_retry.statuses`
  StatusSet last_candidate_statuses;
  /// True: a last candidate that is merely saturated is asked once more after the wait it stated.
  /// `failover.last_candidate_retry.wait_saturated`
  bool wait_saturated = true;
  /// True: a request whose candidates were all busy or all skipped by open circuits is answered 429
  /// with Retry-After; false: 502, or the last failure. `failover.exhaustion` (honest_429,
  /// last_error)
  bool exhaustion_status_429 = true;
  /// `failover.error_body`
  ErrorBody error_body = ErrorBody::kGateway;
  /// Endpoints whose requests go on to another candidate; of the others only the first candidate
  /// is asked. `failover.endpoints`
  EndpointSet endpoints = EndpointSet::All();
};

/// Repeats of one exchange at the same candidate, inside its attempt (decisions, section 4: the
/// last try decides, one failure is charged). Timeouts and answers that break HTTP are never
/// repeated, nor is anything behind the commit or at a half-open probe (R8, R13, R15).
///
/// One request makes at most (1 + max_retries) exchanges per attempt (F017).
struct RetrySettings {
  /// Which transport failures are repeated. `resilience.retry.on_transport`
  enum class OnTransport {
    kNone,        ///< none
    kReplaySafe,  ///< before the request left, and interruptions behind it
    kAny,         ///< every failure of the connection (R6)
  };
  /// What of a stream is repeated. `resilience.retry.streaming`
  enum class Streaming {
    kNever,         ///< nothing (R13)
    kTransport,     ///< a transport failure that is safe to repeat, before any byte of the body
    kBeforeCommit,  ///< the status list too, while nothing was forwarded
  };
  /// What a Retry-After does to the wait. `resilience.retry.retry_after`
  enum class RetryAfter {
    kIgnore,  ///< nothing (R17)
    kFloor,   ///< wait at least that long when it fits max_backoff; when not, repeat nothing
  };

  /// Further tries behind the first; 0 = one try. >= 0. `resilience.retry.max_retries`
  int max_retries = 0;
  /// Upstream statuses, real or hidden in a 200, that are repeated; an exhausted 429 never is.
  /// `resilience.retry.retry_on_statuses`
  StatusSet retry_on_statuses;
  /// Wait before the second try. 0 = none. `resilience.retry.initial_backoff`
  Duration initial_backoff{};
  /// Ceiling of every wait, jitter included. `resilience.retry.max_backoff`
  Duration max_backoff{};
  /// Multiplies the wait with each further try. >= 1. `resilience.retry.backoff_factor`
  double backoff_factor = 1;
  /// Share of the wait that is drawn at random, up and down. 0 to 1.
  /// `resilience.retry.jitter_factor`
  double jitter_factor = 0;
  OnTransport on_transport = OnTransport::kReplaySafe;
  Streaming streaming = Streaming::kTransport;
  RetryAfter retry_after = RetryAfter::kIgnore;
};

/// How long things may take. All are checked against the monotonic clock.
struct TimeoutSettings {
  /// One attempt at one candidate, from its start. > 0. `timeouts.request_timeout`
  Duration request_timeout{};
  /// Multiplies request_timeout for streams and long-running endpoints. >= 1.
  /// `timeouts.long_factor`
  int long_factor = 1;
  /// The whole request may take this many (multiplied) request timeouts, from arrival; 0 = no
  /// overall deadline. `timeouts.deadline_factor`
  int deadline_factor = 0;
  /// From a try's start to the first frame that carries model output, on streams; 0 = commit
  /// at once. `timeouts.ttft_timeout`
  Duration ttft_timeout{};
  /// Silence on a committed stream that ends it; 0 = not watched. Time in which the client takes
  /// nothing does not count. `timeouts.stream_stall_timeout`
  Duration stream_stall_timeout{};
  /// Multiplies stream_stall_timeout behind the 50th frame. >= 1. `timeouts.stream_stall_factor`
  int stream_stall_factor = 1;
  /// From a try's start to the end of the upstream's response head; 0 = not limited.
  /// `timeouts.upstream_header_timeout`
  Duration upstream_header_timeout{};
  /// Name lookup, TCP connect and TLS handshake together; > 0. `timeouts.connect_timeout`
  Duration connect_timeout{};
};

/// When a stream's answer begins to flow (decisions, section 5).
struct StreamSettings {
  enum class CommitOn {
    kFirstOutput,  ///< the first frame that carries model output
    kFirstEvent,   ///< the first data event of any kind that is no error
  };
  CommitOn commit_on = CommitOn::kFirstOutput;  ///< `stream.commit_on`
};

/// When a circuit opens and closes (seed 000, "Circuit Breaker"; seed 003, R46-R72).
struct CircuitBreakerSettings {
  /// What one circuit is about. `scope` (model, provider)
  enum class Scope { kModel, kProvider };
  /// What happens when a provider has `max_models` circuits and none of them may be forgotten.
  /// `on_capacity`
  enum class OnCapacity {
    kGrow,    ///< one more is kept
    kReject,  ///< the request is refused, as by an open circuit (R70)
  };
  /// When a stream's success is final. `stream_verdict`
  enum class StreamVerdict {
    kEnd,    ///< with its last byte: a stall or a cut behind the commit is charged
    kStart,  ///< at the commit; nothing behind it is charged
  };

  /// The kill switch: off = nothing is skipped and nothing is charged.
  bool enabled = true;
  Scope scope = Scope::kModel;
  /// Scope model: this many open circuits sideline the whole provider; 0 = never.
  int span_models = 2;
  /// Consecutive failures that open a circuit, 1-100. 0 behaves as `enabled: false` (R54).
  int failure_threshold = 5;
  /// Consecutive successes that close a half-open circuit. >= 1.
  int success_threshold = 1;
  /// Requests a half-open circuit admits at a time; 0 = every request until the first outcome.
  int half_open_max_in_flight = 0;
  /// How long an open circuit refuses before it lets requests probe again. > 0. `timeout`
  Duration timeout{};
  /// Ceiling of the doubling by failed probes; 0, or not above `timeout` = no doubling.
  Duration backoff_max{};
  /// Ceiling of a quota pin; 0 = no pins, and those in force are released.
  Duration quota_pin_max{};
  /// How often a circuit whose pin came from a refusal probes all the same; 0 = it serves the pin.
  Duration pin_probe_interval{};
  /// Statuses charged as a failure.
  StatusSet failure_on_statuses;
  /// Statuses that open the circuit on one answer.
  StatusSet open_on_statuses;
  /// Statuses that neither charge nor credit.
  StatusSet neutral_on_statuses;
  /// False: open_on_statuses and exhausted 429s are charged as ordinary failures.
  bool open_on_exhaustion = true;
  /// A good answer that took longer (streams: up to the first data event; repeats and their waits
  /// included) is charged as a failure; the client still gets it. 0 = off (R59-R63).
  Duration slow_call_threshold{};
  /// True: an open circuit refuses `<provider>/<model>` too, with 503 (R50).
  bool block_direct = false;
  StreamVerdict stream_verdict = StreamVerdict::kEnd;
  /// Circuits kept per provider under scope model; >= 1.
  int max_models = 256;
  OnCapacity on_capacity = OnCapacity::kGrow;
};

/// How a 429 is read (seed 000, "429s: saturated vs exhausted"; decisions, section 8).
struct RateLimitSettings {
  /// Off: every 429 is unknown, nothing is noted of it. `rate_limit.classify`
  bool classify = true;
  /// A stated wait at or below is saturation, above it a spent window; also the longest wait for a
  /// slot or for a saturated last candidate. > 0. `rate_limit.saturation_max_wait`
  Duration saturation_max_wait{};
  /// An unknown 429 of a (provider, model) that served within this time is saturation. 0 = off.
  /// `rate_limit.recent_success_window`
  Duration recent_success_window{};
};

/// The adaptive in-flight window per provider (seed 000, "Saturation happens because...").
struct InflightLimiterSettings {
  /// Off: admits everything and learns nothing; a provider's own `max_in_flight` still holds.
  /// `inflight_limiter.enabled`
  bool enabled = true;
  /// Clean completions that widen a learned window by one. >= 1. `inflight_limiter.grow_after`
  int grow_after = 20;
  /// Time without a cut behind which a learned window is forgotten. > 0.
  /// `inflight_limiter.forget_after`
  Duration forget_after{};
};

/// The race of streaming candidates (seed 000, "Request hedging").
struct HedgingSettings {
  bool enabled = false;  ///< `hedging.enabled`
  /// How long a candidate may stay without first output before the next one is sent as well; at
  /// least 100 ms are waited. `hedging.delay`
  Duration delay{};
};

/// What becomes of the request log.
struct LogSettings {
  /// Age at which its rows are deleted; 0 = never. `log.retention`
  Duration retention{};
};

/// When providers are asked for their models (facts l; R84).
struct DiscoverySettings {
  /// False: a provider is asked only when somebody wants that, and none is ever left out.
  /// `discovery.enabled`
  bool enabled = true;
  /// Time between two scans of all providers; 0 = none. `discovery.interval`
  Duration interval{};
  /// A scan at the start, unless the last one was less than five minutes ago.
  /// `discovery.on_startup`
  bool on_startup = true;
  /// A provider that was added or changed at run time is asked. `discovery.on_provider_create`
  bool on_provider_create = true;
  /// Time between two looks at providers whose last listing failed; 0 = none.
  /// `discovery.recheck_interval`
  Duration recheck_interval{};
  /// Days after which a model that listings left out is deleted; 0 = never.
  /// `discovery.prune_days`
  int prune_days = 0;
};

/// How much clients may ask for (facts b, o). What is 0 limits nothing.
struct ClientLimitSettings {
  /// Off: neither requests nor tokens are limited; budgets hold. `client_limits.enabled`
  bool enabled = true;
  bool ip_enabled = true;  ///< `client_limits.ip_enabled`
  int ip_rps = 0;          ///< requests a second from one address. `client_limits.ip_rps`
  int ip_burst = 60;       ///< of them at once. `client_limits.ip_burst`
  /// Requests a second of a virtual key without a limit of its own. `client_limits.rps`
  int rps = 0;
  int burst = 20;  ///< of them at once. `client_limits.burst`
  int tpm = 0;     ///< tokens a minute of such a key. `client_limits.tpm`
  /// How long a request of a key may wait for its turn before it is refused.
  /// `client_limits.max_wait_ms`
  int max_wait_ms = 200;
};

/// Everything that may differ from provider to provider.
struct EngineSettings {
  FailoverSettings failover;
  RetrySettings retry;
  TimeoutSettings timeouts;
  StreamSettings stream;
  CircuitBreakerSettings circuit_breaker;
  RateLimitSettings rate_limit;
  InflightLimiterSettings inflight_limiter;
  HedgingSettings hedging;
  LogSettings log;
  ClientLimitSettings client_limits;
  DiscoverySettings discovery;
};

/// One consistent set of options: the global ones, and for providers with own blocks theirs (each a
/// complete value: what a provider did not write it inherited at load).
struct Settings {
  EngineSettings global;
  /// By provider name in routing (hyphen) form.
  std::map<std::string, EngineSettings, std::less<>> providers;

  /// The options in force for one provider; the global ones when it has none of its own. The
  /// reference lives as long as this object.
  const EngineSettings& For(std::string_view provider_routing_name) const noexcept;

  /// The built-in defaults of the default profile (decisions, section 2, `failover_first`).
  static Settings Defaults();
};

/// Hands out the current snapshot. Thread-safe; never blocks on I/O; never null.
class SettingsSource {
 public:
  virtual ~SettingsSource() = default;
  virtual std::shared_ptr<const Settings> Current() const noexcept = 0;
  /// A number that changes with every new snapshot, so that who asks often need not take a
  /// reference each time; 0 = not counted. Once it is seen, Current() returns that snapshot or a
  /// newer one. Must be as cheap as reading an atomic.
  virtual std::uint64_t Generation() const noexcept { return 0; }
};

}  // namespace hotel

#endif  // HOTEL_SETTINGS_H_
