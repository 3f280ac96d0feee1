// The options the engine reads, as one immutable value.
//
// How a value comes about (built-in default, profile, file, environment) is the business of the
// settings registry in the library; the engine only ever sees a finished `Settings`. A running
// request keeps the snapshot it started with; a change applies to decisions made after it
// (decisions, section 3).
#ifndef HOTEL_SETTINGS_H_
#define HOTEL_SETTINGS_H_

#include <bitset>
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

/// When and how fast a request moves on to its next candidate (seed 000, "Transparent Failover").
struct FailoverSettings {
  /// Upstream statuses that send a request on. `failover.retry_on_statuses`
  StatusSet retry_on_statuses;
  /// Pause before the second contacted candidate, doubling with each further one; also the width of
  /// the additive jitter. 0 = no pause. `failover.backoff.initial`
  Duration backoff_initial{};
  /// Ceiling of the doubling, before jitter. `failover.backoff.max`
  Duration backoff_max{};
  /// True: a request whose candidates were all skipped by open circuits is answered 429 with
  /// Retry-After; false: 502. `failover.exhaustion` (honest_429, last_error)
  bool exhaustion_status_429 = true;
};

/// Repeats of one exchange at the same candidate, inside its attempt (decisions, section 4: the
/// last try decides, one failure is charged). Only transport failures that are safe to repeat are:
/// those before the request left (lookup, connect, TLS) and interruptions behind it (reset,
/// unexpected end, a kept connection that had closed). Timeouts and answers that break HTTP never
/// are.
///
/// One request makes at most (1 + max_retries) exchanges per candidate (F017).
struct RetrySettings {
  /// Further tries behind the first; 0 = one try. >= 0. `resilience.retry.max_retries`
  int max_retries = 0;
  /// Wait before the second try. 0 = none. `resilience.retry.initial_backoff`
  Duration initial_backoff{};
  /// Ceiling of every wait, jitter included. `resilience.retry.max_backoff`
  Duration max_backoff{};
  /// Multiplies the wait with each further try. >= 1. `resilience.retry.backoff_factor`
  double backoff_factor = 1;
  /// Share of the wait that is drawn at random, up and down. 0 to 1.
  /// `resilience.retry.jitter_factor`
  double jitter_factor = 0;
  /// True: as above; false: nothing is repeated. `resilience.retry.on_transport` (replay_safe,
  /// none)
  bool on_transport = true;
  /// True: streams as well, as long as no byte of the answer's body came; false: streams never.
  /// `resilience.retry.streaming` (transport, never)
  bool streaming = true;
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
  /// From a try's start to the end of the upstream's response head; 0 = not limited.
  /// `timeouts.upstream_header_timeout`
  Duration upstream_header_timeout{};
  /// Name lookup, TCP connect and TLS handshake together; > 0. `timeouts.connect_timeout`
  Duration connect_timeout{};
};

/// When a circuit opens and closes (seed 000, "Circuit Breaker").
struct CircuitBreakerSettings {
  /// The kill switch: off = nothing is skipped and nothing is charged.
  bool enabled = true;
  /// Consecutive failures that open a circuit, 1-100. 0 behaves as `enabled: false` (R47).
  int failure_threshold = 5;
  /// How long an open circuit refuses before it lets requests probe again. > 0. `timeout`
  Duration timeout{};
  /// Statuses charged as a failure.
  StatusSet failure_on_statuses;
  /// Statuses that open the circuit on one answer.
  StatusSet open_on_statuses;
  /// Statuses that neither charge nor credit.
  StatusSet neutral_on_statuses;
  /// False: open_on_statuses are charged as ordinary failures.
  bool open_on_exhaustion = true;
};

/// Everything that may differ from provider to provider.
struct EngineSettings {
  FailoverSettings failover;
  RetrySettings retry;
  TimeoutSettings timeouts;
  CircuitBreakerSettings circuit_breaker;
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
};

}  // namespace hotel

#endif  // HOTEL_SETTINGS_H_
