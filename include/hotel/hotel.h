// The facade: everything a program needs to put failover groups in front of its model calls.
//
//   auto hotel = hotel::Hotel::Open({.config_file = "hotel.yaml"});
//   auto answer = (*hotel)->Complete({.body = ...});
#ifndef HOTEL_HOTEL_H_
#define HOTEL_HOTEL_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hotel/circuit_breaker.h"
#include "hotel/defaults.h"
#include "hotel/discovery.h"
#include "hotel/events.h"
#include "hotel/failover_group.h"
#include "hotel/live_settings.h"
#include "hotel/request_log.h"
#include "hotel/router.h"
#include "hotel/types.h"
#include "hotel/virtual_model.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hotel {

/// A failover group by names, for options given in code.
struct GroupSpec {
  std::string name;                  ///< reached as `hotel/<name>`
  std::vector<std::string> members;  ///< `<provider>/<model>`, order is priority
};

struct Options {
  /// YAML file as in the documentation; empty = no file. Providers and groups in it are upserted.
  std::string config_file;
  /// YAML text used instead of a file (tests, embedding); errors name it `<config>`.
  std::string config_text;
  /// Providers and groups given in code, applied after the file.
  std::vector<ProviderSpec> providers;
  std::vector<GroupSpec> groups;
  /// Virtual models given in code, beside those of the file. Their providers must be known by then.
  std::vector<VirtualModelSpec> virtual_models;
  /// Directory of hotel.db; empty = `server.data_dir` of the configuration when one was given, and
  /// a store in memory when none was.
  std::string data_dir;
  /// Secret behind the encryption of provider keys; empty = $MASTER_KEY. A store in memory makes up
  /// its own when there is none.
  Secret master_key;
  /// Connections to providers that are kept, active and idle together; the expected peak.
  std::size_t max_upstream_connections = 1024;
  /// Loops that carry them, see MakeSpreadDispatcher; 0 = `server.event_loops` of the
  /// configuration, one when that says nothing. Without effect on a transport of your own.
  std::size_t event_loops = 0;
  /// Asks providers without a fixed list for their models, as the options under `discovery` say.
  /// Off, that is done only when Discovery::Refresh is called, and no provider is left out.
  bool discover_models = false;
  /// Address policy added to what the configuration file says.
  AddressPolicy addresses;

  // Parts to use instead of the standard ones; null = standard. They must outlive the hotel.
  EventSink* events = nullptr;
  RequestLog* log = nullptr;
  /// Limits and charges whoever asks; none when it is null.
  RequestGate* gate = nullptr;
  /// What is known about the quota of providers; asked when a circuit opens. Tell news to
  /// circuits().ApplyQuotaAdvice.
  const QuotaAdvisor* quota = nullptr;
  /// A loop to run on instead of one with a thread of its own. The standard transport needs one
  /// made by StartEventLoop. It must keep running until Close has returned, and outlive the hotel.
  Loop* loop = nullptr;
  /// A transport of your own; the URLs of providers are then yours to judge. The factory is called
  /// once, inside Open, with the hotel's loop; the dispatcher dies on the loop thread, inside
  /// Close.
  std::function<std::unique_ptr<Dispatcher>(Loop*)> dispatcher;
};

/// A whole answer, for calls that wait for one.
struct Answer {
  int status = 0;
  HeaderList headers;
  std::string body;
  bool complete = true;  ///< false: the stream ended with an error event
};

/// One running hotel: store, circuits, transport and router. Thread-safe.
class Hotel {
 public:
  /// Opens the store, reads the configuration, starts the loop thread. InvalidArgument lists every
  /// configuration error, one `FILE:LINE: path: what is wrong` a line.
  static absl::StatusOr<std::unique_ptr<Hotel>> Open(Options options);
  virtual ~Hotel() = default;  ///< closes

  /// Starts a request; see Router::Start.
  virtual std::unique_ptr<Call> Start(RouteRequest request, std::shared_ptr<StreamSink> sink) = 0;
  /// Runs a request and waits for its end. Not on the loop thread.
  virtual Answer Complete(RouteRequest request) = 0;

  virtual Router& router() noexcept = 0;
  virtual FailoverGroupStore& groups() noexcept = 0;
  virtual ProviderStore& providers() noexcept = 0;
  virtual CircuitBreaker& circuits() noexcept = 0;
  /// The options in force; set and taken back while the hotel runs, kept in its store.
  virtual LiveSettings& settings() noexcept = 0;
  virtual InflightLimiter& inflight() noexcept = 0;
  /// The last exhausted 429 of every provider.
  virtual CapLedger& caps() noexcept = 0;
  /// The models of providers as they list them themselves.
  virtual Discovery& discovery() noexcept = 0;

  /// Ends running calls (see Router::EndAll) and stops the loop; the store stays readable. Not on
  /// the loop thread. Idempotent. A request started after it is answered 503, inside Start.
  virtual void Close() = 0;

  /// The library's version, "0.1.0".
  static const char* Version() noexcept;
};

}  // namespace hotel

#endif  // HOTEL_HOTEL_H_
