// A whole router with the outside world replaced: scripted upstreams, virtual time, recorders.
#ifndef HOTEL_TESTS_SCENARIO_HARNESS_H_
#define HOTEL_TESTS_SCENARIO_HARNESS_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/defaults.h"
#include "hotel/router.h"
#include "hotel/testing/fake_dispatcher.h"
#include "hotel/testing/manual_loop.h"
#include "hotel/testing/memory_store.h"
#include "hotel/testing/recorders.h"

#include "tests/scenario/permit_ledger.h"

namespace hotel::scenario {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Script;

/// Settings that a test changes as it goes.
class LiveSettings : public SettingsSource {
 public:
  explicit LiveSettings(Settings settings) { Set(std::move(settings)); }
  std::shared_ptr<const Settings> Current() const noexcept override { return current_; }
  void Set(Settings settings) { current_ = std::make_shared<const Settings>(std::move(settings)); }

 private:
  std::shared_ptr<const Settings> current_;
};

/// One request and what came of it.
struct Client {
  std::shared_ptr<testing::RecordingSink> sink;
  std::unique_ptr<Call> call;
  std::weak_ptr<const std::string> request_body;  ///< nobody but the router holds it
  Duration took{};                                ///< set by Harness::Wait

  int status() const { return sink->has_head ? sink->head.status : 0; }
  const std::string& body() const { return sink->body; }
  std::string header(std::string_view name) const { return sink->header(name); }
};

/// When it is destroyed it checks the books: every request has exactly one answer and one record,
/// every permit is back, no exchange is open.
class Harness {
 public:
  /// `own_store` null: an empty one in memory.
  explicit Harness(Settings with = Settings::Defaults(),
                   std::unique_ptr<Store> own_store = nullptr);
  ~Harness();

  /// Providers with these names and, over `<name>/m` of each in this order, `hotel/demo`.
  Harness& Demo(const std::vector<std::string>& providers);
  /// Names that stand for lists of targets. Before the first request.
  Harness& Virtual(std::vector<VirtualModelSpec> models);
  /// What stands in front of the routes. Before the first request.
  Harness& Gate(RequestGate* gate);
  /// The next script of a provider (the last one repeats).
  Harness& On(const std::string& provider, Script script);

  /// Starts a request with this body.
  Client Send(std::string body, std::string request_id = "",
              std::shared_ptr<testing::RecordingSink> sink = nullptr);
  Client Send(RouteRequest request, std::shared_ptr<testing::RecordingSink> sink = nullptr);
  /// Starts a small chat request.
  Client Chat(const std::string& model = "hotel/demo", bool stream = false);
  /// Runs the loop, moving time from timer to timer, until the answer is whole.
  void Wait(Client& client);
  /// Chat and Wait.
  Client Ask(const std::string& model = "hotel/demo", bool stream = false);
  /// Lets what lingers behind an answer come to its end.
  void Settle() { loop.Advance(seconds(2)); }

  std::size_t Calls(const std::string& provider) const;
  /// The n-th request that provider got, from 0.
  const testing::SeenRequest& Seen(const std::string& provider, std::size_t n = 0) const;
  /// "closed 2", "open 5", "half-open 5": state and consecutive failures; "none" when never
  /// touched.
  std::string Circuit(const std::string& provider, const std::string& model = "m") const;
  /// The attempts of the newest record, each as `<index> <provider> <status or -> <breaker>
  /// <error kind or ->`.
  std::vector<std::string> Trail() const;
  const RequestRecord& record() const { return log.records.back(); }
  std::size_t EventCount(std::string_view type) const;

  testing::ManualClock clock;
  testing::ManualLoop loop{&clock};
  testing::FakeDispatcher upstreams{&loop};
  testing::RecordingEvents events;
  testing::RecordingLog log;
  LiveSettings settings;
  std::unique_ptr<Store> store;

 private:
  void MakeRouterWith(std::vector<VirtualModelSpec> models, RequestGate* gate = nullptr);

  std::unique_ptr<CircuitBreaker> real_breaker_;
  std::vector<std::shared_ptr<testing::RecordingSink>> sinks_;

 public:
  PermitLedger breaker;
  std::unique_ptr<RateLimitClassifier> classifier = MakeRateLimitClassifier();
  std::unique_ptr<InflightLimiter> limiter = MakeInflightLimiter(&settings);
  std::unique_ptr<CapLedger> caps = MakeCapLedger();
  std::unique_ptr<Router> router;
};

/// A gateway-written error body, byte for byte.
std::string ErrorBody(std::string_view message, std::string_view type, std::string_view code);
/// The text between `"message":"` and the next quote; for bodies whose message holds no quote.
std::string Message(const std::string& body);
/// All bytes a script sends as the body.
std::string BytesOf(const Script& script);
std::string Url(const std::string& provider);

using Lines = std::vector<std::string>;

}  // namespace hotel::scenario

#endif  // HOTEL_TESTS_SCENARIO_HARNESS_H_
