// Factories of the standard parts, for programs that put a router together themselves.
// (Most programs want the facade in hotel.h.)
#ifndef HOTEL_DEFAULTS_H_
#define HOTEL_DEFAULTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/cap_ledger.h"
#include "hotel/circuit_breaker.h"
#include "hotel/clock.h"
#include "hotel/discovery.h"
#include "hotel/dispatcher.h"
#include "hotel/events.h"
#include "hotel/failover_group.h"
#include "hotel/inflight_limiter.h"
#include "hotel/live_settings.h"
#include "hotel/loop.h"
#include "hotel/quota_advisor.h"
#include "hotel/rate_limit.h"
#include "hotel/settings.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hotel {

/// The system's monotonic and civil clocks.
std::unique_ptr<Clock> MakeSystemClock();

/// A loop with a thread of its own.
class LoopThread {
 public:
  virtual ~LoopThread() = default;  ///< stops and joins
  /// Valid until this object is destroyed.
  virtual Loop* loop() noexcept = 0;
  /// Ends the loop after the current turn and joins its thread; tasks still queued are destroyed on
  /// the caller's thread. Any thread but the loop's. Idempotent.
  virtual void Stop() = 0;
};
/// Starts an epoll loop. Fails with Unavailable when the system refuses descriptors or a thread.
absl::StatusOr<std::unique_ptr<LoopThread>> StartEventLoop();

/// Where upstream connections may lead.
struct AddressPolicy {
  /// False: only https URLs.
  bool allow_http = false;
  /// Hosts, `host:port`s or literal addresses that may be private, loopback, link-local or
  /// metadata; everything else must resolve to public addresses (decisions, section 10,
  /// "Addresses"). And `unix:/path` for a socket that providers may be reached through.
  std::vector<std::string> allowed_hosts;
};

/// Whether a provider may have this base URL: scheme, form, no user info, no fragment, no query but
/// `?api-version=<version>`, literal addresses in any spelling. Names are checked again on the
/// resolved address at connect. InvalidArgument with a sentence that says what to do.
absl::Status CheckProviderUrl(const std::string& base_url, const AddressPolicy& policy);

struct CurlOptions {
  AddressPolicy addresses;
  /// Idle and active connections kept; the expected peak.
  std::size_t max_connections = 1024;
  /// Bounds of an upstream response head.
  std::size_t max_head_bytes = 64 * 1024;
  std::size_t max_head_fields = 200;
  /// PEM file with the trusted roots; empty = the system's.
  std::string ca_file;
};
/// A dispatcher over libcurl's multi interface on `loop`, which must be one made by StartEventLoop.
/// HTTP/1.1, TLS verified, no redirects, no proxies from the environment, a request is never sent
/// twice. Destroy it after its loop has stopped, or on the loop thread with no exchange running.
absl::StatusOr<std::unique_ptr<Dispatcher>> MakeCurlDispatcher(Loop* loop,
                                                               const CurlOptions& options);

/// Loops that MakeSpreadDispatcher may use at most.
inline constexpr std::size_t kMostEventLoops = 16;
/// A dispatcher on `loop` that carries its exchanges out on `loops` loops, `loop` and further ones
/// with threads of their own; callers see `loop` only. The connections of one origin (scheme, host,
/// port, transport options) are all made on the same of them; which one is left to a hash.
/// `options.max_connections` is shared out evenly. With one loop it is MakeCurlDispatcher's. To be
/// destroyed as that one; it then waits for its threads. InvalidArgument when `loops` is not within
/// 1 to kMostEventLoops; Unavailable when the system refuses a thread.
absl::StatusOr<std::unique_ptr<Dispatcher>> MakeSpreadDispatcher(Loop* loop, std::size_t loops,
                                                                 const CurlOptions& options);

struct CircuitBreakerOptions {
  /// Asked when a circuit opens; may be null. Must outlive the breaker.
  const QuotaAdvisor* advisor = nullptr;
  /// Dates the retries in events; null = the system's. Must outlive the breaker.
  const Clock* clock = nullptr;
  /// Of the jitter of pins: the same seed and calls, the same cooldowns. None = drawn at random, so
  /// that the hotels of a fleet do not come back at the same instant.
  std::optional<std::uint64_t> seed{};
};
/// Circuits in memory. `settings` must outlive it; `events` may be null.
std::unique_ptr<CircuitBreaker> MakeCircuitBreaker(const SettingsSource* settings,
                                                   EventSink* events,
                                                   const CircuitBreakerOptions& options = {});

/// Readings as somebody writes them down: a poller, an operator, a test.
class QuotaBoard : public QuotaAdvisor {
 public:
  virtual void Set(std::string provider_id, QuotaReading reading) = 0;
  virtual void Clear(std::string_view provider_id) = 0;
};
std::unique_ptr<QuotaBoard> MakeQuotaAdvisor();

/// In-flight windows per provider in memory. `settings` must outlive it.
std::unique_ptr<InflightLimiter> MakeInflightLimiter(const SettingsSource* settings);

/// The last exhausted 429 per provider, in memory.
std::unique_ptr<CapLedger> MakeCapLedger();

/// The reader of refusals: wording table, codes, headers and stated waits.
std::unique_ptr<RateLimitClassifier> MakeRateLimitClassifier();

/// The SQLite store: groups, providers, models and values set at run time in one file.
class Store : public FailoverGroupStore,
              public ProviderStore,
              public SettingsStore,
              public InventoryStore {};
struct StoreOptions {
  /// The database file, created with mode 0600 when missing (its directories with 0700); or
  /// ":memory:" for a store that is gone when it is closed.
  std::string path;
  /// Opens and seals provider keys. Empty: providers with keys cannot be stored, stored keys are
  /// undecryptable. A store in memory needs none.
  Secret master_key;
  /// How long a write waits for another process's lock.
  Duration busy_timeout = std::chrono::seconds(5);
};
/// Opens or creates the database and brings its schema up to date. Unavailable when the file cannot
/// be opened or is locked; FailedPrecondition when it was written by a newer version.
absl::StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const StoreOptions& options,
                                                       const Clock* clock);

/// A source that always returns the same settings.
std::unique_ptr<SettingsSource> MakeFixedSettings(Settings settings);

}  // namespace hotel

#endif  // HOTEL_DEFAULTS_H_
