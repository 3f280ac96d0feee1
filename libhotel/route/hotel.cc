#include "hotel/hotel.h"

#include <future>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include <fmt/format.h>

#include "hotel/provider_check.h"

#include "libhotel/base/ids.h"
#include "libhotel/base/virtual_models.h"
#include "libhotel/base/worker_pool.h"
#include "libhotel/decide/terminal.h"
#include "libhotel/route/discovery.h"
#include "libhotel/route/version.h"
#include "libhotel/settings/config.h"
#include "libhotel/settings/layered_settings.h"
#include "libhotel/settings/reader.h"
#include "libhotel/wire/errors.h"

namespace hotel {
namespace {

/// Collects an answer for a thread that waits for it.
class WaitingSink final : public StreamSink {
 public:
  void OnHead(const AnswerHead& head) override {
    answer_.status = head.status;
    answer_.headers = head.headers;
  }
  Flow OnBody(std::string_view bytes) override {
    answer_.body.append(bytes);
    return Flow::kContinue;
  }
  void OnWholeBody(std::string bytes) override { answer_.body = std::move(bytes); }
  void OnEnd(const AnswerEnd& end) override {
    answer_.complete = end.complete;
    done_.set_value();
  }
  Answer Wait() {
    done_.get_future().wait();
    return std::move(answer_);
  }

 private:
  Answer answer_;
  std::promise<void> done_;
};

/// The handle of a request that was refused on the spot.
class EndedCall final : public Call {
 public:
  explicit EndedCall(std::string id) : id_(std::move(id)) {}
  void Resume() override {}
  void Cancel() override {}
  const std::string& request_id() const noexcept override { return id_; }

 private:
  std::string id_;
};

std::unique_ptr<Call> RefuseClosed(Endpoint endpoint, StreamSink& sink) {
  const std::string id = base::NewRequestId();
  decide::Finish closed;
  closed.reason = decide::Finish::Reason::kShutdown;
  closed.kind = ErrorKind::kInternal;
  const decide::TerminalAnswer answer = decide::MakeTerminal(closed, {}, TimePoint{});
  AnswerHead head;
  head.status = answer.status;
  head.headers = {
      {"content-type", "application/json"}, {"x-hotel-request-id", id}, {"x-hotel-attempts", "0"}};
  sink.OnHead(head);
  sink.OnBody(
      wire::ErrorBody(wire::DialectOf(endpoint), answer.status, answer.code, answer.message));
  sink.OnEnd({true, answer.kind});
  return std::make_unique<EndedCall>(id);
}

constexpr Duration kHousekeeping = std::chrono::seconds(10);

class StandardHotel final : public Hotel {
 public:
  ~StandardHotel() override { Close(); }

  std::unique_ptr<Call> Start(RouteRequest request, std::shared_ptr<StreamSink> sink) override {
    {
      // Shared among starts, exclusive to Close: what was started before Close is ended by it.
      const std::shared_lock<std::shared_mutex> lock(close_mutex_);
      if (!closed_) return router_->Start(std::move(request), std::move(sink));
    }
    return RefuseClosed(request.endpoint, *sink);
  }

  Answer Complete(RouteRequest request) override {
    auto sink = std::make_shared<WaitingSink>();
    const auto call = Start(std::move(request), sink);
    return sink->Wait();
  }

  Router& router() noexcept override { return *router_; }
  FailoverGroupStore& groups() noexcept override { return *store_; }
  ProviderStore& providers() noexcept override { return *store_; }
  CircuitBreaker& circuits() noexcept override { return *breaker_; }
  LiveSettings& settings() noexcept override { return *settings_; }
  InflightLimiter& inflight() noexcept override { return *limiter_; }
  CapLedger& caps() noexcept override { return *ledger_; }
  Discovery& discovery() noexcept override { return *discovery_; }

  void Close() override {
    {
      const std::lock_guard<std::shared_mutex> lock(close_mutex_);
      if (closed_) return;
      closed_ = true;
    }
    if (router_ != nullptr) {
      // EndAll finishes every call inside its own task; the task behind it tells that it has run,
      // and takes the transport apart where it lives.
      router_->EndAll();
      std::promise<void> ended;
      loop_->Post([this, &ended] {
        loop_->CancelTimer(housekeeping_);
        discovery_->Stop();
        dispatcher_.reset();
        ended.set_value();
      });
      ended.get_future().wait();
    }
    background_.Stop();
    if (own_loop_ != nullptr) own_loop_->Stop();
  }

  absl::Status Build(const Options& options, settings::Config config);

 private:
  /// In-flight windows are forgotten by time alone: who waits in line for one is told here. Loop
  /// thread.
  void KeepHouse() {
    limiter_->Refresh({}, loop_->Now());
    housekeeping_ = loop_->RunAt(loop_->Now() + kHousekeeping, [this] { KeepHouse(); });
  }

  absl::Status OpenStore(const Options& options, const settings::Config& config);
  absl::Status OpenSettings(const Options& options, settings::Layers layers);
  absl::Status Fill(const Options& options, const settings::Config& config);

  // In order of construction: each part may use those above it.
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<settings::LayeredSettings> settings_;
  std::unique_ptr<CircuitBreaker> breaker_;
  std::unique_ptr<RateLimitClassifier> classifier_;
  std::unique_ptr<InflightLimiter> limiter_;
  std::unique_ptr<CapLedger> ledger_;
  std::unique_ptr<LoopThread> own_loop_;
  Loop* loop_ = nullptr;
  Loop::TimerId housekeeping_ = 0;
  std::unique_ptr<Dispatcher> dispatcher_;
  base::WorkerPool background_;  // before what it works for goes
  std::shared_ptr<route::StandardDiscovery> discovery_;
  std::unique_ptr<Router> router_;

  std::shared_mutex close_mutex_;
  bool closed_ = false;
};

AddressPolicy Merge(const AddressPolicy& a, const AddressPolicy& b) {
  AddressPolicy merged = a;
  merged.allow_http |= b.allow_http;
  merged.allowed_hosts.insert(merged.allowed_hosts.end(), b.allowed_hosts.begin(),
                              b.allowed_hosts.end());
  return merged;
}

absl::Status StandardHotel::OpenStore(const Options& options, const settings::Config& config) {
  const bool has_config = !options.config_file.empty() || !options.config_text.empty();
  std::string dir = options.data_dir;
  if (dir.empty() && has_config) dir = config.server.data_dir;
  StoreOptions store;
  store.path = dir.empty() ? ":memory:" : dir + "/hotel.db";
  store.master_key = options.master_key;
  if (store.master_key.empty()) {
    if (auto from_env = settings::ProcessEnv()("MASTER_KEY")) {
      store.master_key = Secret(*std::move(from_env));
    } else if (dir.empty()) {
      store.master_key = Secret(base::NewUuid() + base::NewUuid());
    }
  }
  auto opened = OpenSqliteStore(store, clock_.get());
  if (!opened.ok()) return opened.status();
  store_ = *std::move(opened);
  return absl::OkStatus();
}

absl::Status StandardHotel::OpenSettings(const Options& options, settings::Layers layers) {
  std::vector<settings::IgnoredSetting> ignored;
  auto opened = settings::LayeredSettings::Open(std::move(layers), store_.get(), &ignored);
  if (!opened.ok()) return opened.status();
  settings_ = *std::move(opened);
  if (options.events == nullptr) return absl::OkStatus();
  for (const settings::IgnoredSetting& each : ignored) {
    Event event;
    event.type = "settings.ignored";
    event.severity = Event::Severity::kWarning;
    event.source = "settings";
    event.message = "A stored option is not used; set it again or reset it";
    event.metadata = {{"key", settings::Join("", each.key)}, {"reason", each.reason}};
    options.events->OnEvent(event);
  }
  return absl::OkStatus();
}

/// The provider of `<provider>/<model>`; null when the name has another form or nobody has it.
std::shared_ptr<const Provider> ProviderOf(std::string_view name, const GroupSnapshot& snapshot) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || slash + 1 == name.size()) return nullptr;
  return snapshot.FindProvider(name.substr(0, slash));
}

// The virtual models of file and code together; their real targets must be of stored providers.
absl::StatusOr<std::vector<VirtualModelSpec>> JoinVirtualModels(const Options& options,
                                                                const settings::Config& config,
                                                                const GroupSnapshot& snapshot) {
  std::vector<VirtualModelSpec> specs = config.virtual_models;
  specs.insert(specs.end(), options.virtual_models.begin(), options.virtual_models.end());
  if (const auto problems = base::CheckVirtualModels(specs); !problems.empty()) {
    const base::VirtualModelProblem& problem = problems.front();
    return absl::InvalidArgumentError(fmt::format("virtual_models[{}] \"{}\": {}", problem.model,
                                                  specs[problem.model].source, problem.message));
  }
  const base::VirtualModels models(specs);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    for (const VirtualTarget& target : specs[i].targets) {
      if (models.Next(specs[i], target) != nullptr) continue;
      const std::string name = base::TargetName(target);
      if (ProviderOf(name, snapshot) == nullptr) {
        return absl::InvalidArgumentError(fmt::format(
            "virtual_models[{}] \"{}\": \"{}\" is not <provider>/<model> of a known provider", i,
            specs[i].source, name));
      }
    }
  }
  return specs;
}

absl::Status StandardHotel::Fill(const Options& options, const settings::Config& config) {
  std::vector<ProviderSpec> providers = config.providers;
  providers.insert(providers.end(), options.providers.begin(), options.providers.end());
  const AddressPolicy policy = Merge(config.server.addresses, options.addresses);
  for (std::size_t i = 0; i < providers.size(); ++i) {
    const ProviderSpec& spec = providers[i];
    // Those of the configuration were judged when it was read.
    if (!options.dispatcher && i >= config.providers.size()) {
      for (const ProviderProblem& problem : CheckProvider(spec, policy)) {
        if (problem.warning) continue;
        return absl::InvalidArgumentError(
            fmt::format("providers.{}.{}: {}", spec.name, problem.field, problem.message));
      }
    }
    if (auto id = store_->UpsertProvider(spec); !id.ok()) {
      return absl::Status(id.status().code(), fmt::format("providers.{}: {}", spec.name,
                                                          std::string(id.status().message())));
    }
  }

  std::vector<GroupSpec> groups = config.groups;
  groups.insert(groups.end(), options.groups.begin(), options.groups.end());
  for (const GroupSpec& group : groups) {
    std::vector<std::string> ids;
    for (const std::string& member : group.members) {
      const auto provider = ProviderOf(member, *store_->Snapshot());
      if (provider == nullptr) {
        return absl::InvalidArgumentError(
            fmt::format("failover_groups.{}: \"{}\" is not <provider>/<model> of a known provider",
                        group.name, member));
      }
      auto id = store_->EnsureModel(provider->id, member.substr(member.find('/') + 1));
      if (!id.ok()) return id.status();
      ids.push_back(*std::move(id));
    }
    if (auto id = store_->UpsertGroup(group.name, ids); !id.ok()) {
      return absl::Status(id.status().code(), fmt::format("failover_groups.{}: {}", group.name,
                                                          std::string(id.status().message())));
    }
  }
  return absl::OkStatus();
}

absl::Status StandardHotel::Build(const Options& options, settings::Config config) {
  clock_ = MakeSystemClock();
  if (absl::Status status = OpenStore(options, config); !status.ok()) return status;
  if (absl::Status status = OpenSettings(options, config.layers); !status.ok()) return status;
  if (absl::Status status = Fill(options, config); !status.ok()) return status;
  auto virtual_models = JoinVirtualModels(options, config, *store_->Snapshot());
  if (!virtual_models.ok()) return virtual_models.status();
  CircuitBreakerOptions circuits;
  circuits.advisor = options.quota;
  circuits.clock = clock_.get();
  breaker_ = MakeCircuitBreaker(settings_.get(), options.events, circuits);
  classifier_ = MakeRateLimitClassifier();
  limiter_ = MakeInflightLimiter(settings_.get());
  settings_->OnChange([this] { limiter_->Refresh({}, clock_->Now()); });
  ledger_ = MakeCapLedger();

  loop_ = options.loop;
  if (loop_ == nullptr) {
    auto started = StartEventLoop();
    if (!started.ok()) return started.status();
    own_loop_ = *std::move(started);
    loop_ = own_loop_->loop();
  }
  if (options.dispatcher) {
    dispatcher_ = options.dispatcher(loop_);
  } else {
    CurlOptions curl;
    curl.max_connections = options.max_upstream_connections;
    curl.addresses = Merge(config.server.addresses, options.addresses);
    const std::size_t loops =
        options.event_loops != 0 ? options.event_loops : config.server.event_loops;
    auto dispatcher = MakeSpreadDispatcher(loop_, loops, curl);
    if (!dispatcher.ok()) return dispatcher.status();
    dispatcher_ = *std::move(dispatcher);
  }

  route::DiscoveryParts parts;
  parts.clock = clock_.get();
  parts.loop = loop_;
  parts.dispatcher = dispatcher_.get();
  parts.groups = store_.get();
  parts.store = store_.get();
  parts.settings = settings_.get();
  parts.events = options.events;
  parts.background = [this](std::function<void()> task) { background_.Run(std::move(task)); };
  auto discovery = route::StandardDiscovery::Open(std::move(parts));
  if (!discovery.ok()) return discovery.status();
  discovery_ = *std::move(discovery);

  RouterDeps deps;
  deps.inventory = discovery_.get();
  deps.clock = clock_.get();
  deps.loop = loop_;
  deps.dispatcher = dispatcher_.get();
  deps.groups = store_.get();
  deps.breaker = breaker_.get();
  deps.classifier = classifier_.get();
  deps.limiter = limiter_.get();
  deps.ledger = ledger_.get();
  deps.settings = settings_.get();
  deps.events = options.events;
  deps.log = options.log;
  deps.gate = options.gate;
  deps.virtual_models = *std::move(virtual_models);
  deps.seed = base::RandomSeed();
  router_ = MakeRouter(deps);
  loop_->Post([this, discover = options.discover_models] {
    KeepHouse();
    if (discover) discovery_->Start();
  });
  return absl::OkStatus();
}

absl::Status ConfigStatus(const std::vector<settings::ConfigError>& errors) {
  std::string text;
  for (const settings::ConfigError& error : errors) {
    if (!text.empty()) text += '\n';
    text += error.ToString();
  }
  return absl::InvalidArgumentError(text);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Hotel>> Hotel::Open(Options options) {
  settings::ReadResult read;
  const settings::EnvLookup env = settings::ProcessEnv();
  settings::ProviderCheck check;
  if (!options.dispatcher) {
    check = [&options](const ProviderSpec& spec, const AddressPolicy& policy) {
      return CheckProvider(spec, Merge(policy, options.addresses));
    };
  }
  if (!options.config_file.empty()) {
    read = settings::ReadConfigFile(options.config_file, env, check);
  } else {
    read = settings::ReadConfig(options.config_text, "<config>", env, check);
  }
  if (!read.errors.empty()) return ConfigStatus(read.errors);
  auto hotel = std::make_unique<StandardHotel>();
  if (absl::Status status = hotel->Build(options, std::move(read.config)); !status.ok()) {
    return status;
  }
  return hotel;
}

const char* Hotel::Version() noexcept { return route::kVersion; }

}  // namespace hotel
