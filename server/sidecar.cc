#include "server/sidecar.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hotel/defaults.h"
#include "hotel/hotel.h"
#include "hotel/log_store.h"

#include "absl/status/status.h"
#include "libhotel/base/lower_case.h"
#include "libhotel/base/strings.h"
#include "libhotel/net/event_loop.h"
#include "libhotel/observe/fan_out.h"
#include "libhotel/observe/request_health.h"
#include "libhotel/settings/config.h"
#include "server/api/admin_token.h"
#include "server/api/handler.h"
#include "server/command_line.h"
#include "server/front.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/service.h"
#include "server/signals.h"
#include "server/start_settings.h"
#include "server/stores.h"

namespace hotel::server {
namespace {

constexpr const char* kScope = "server";
/// How long clients may take to read the last bytes after their answers were ended.
constexpr Duration kFlushTime = std::chrono::seconds(5);

/// For everybody who forgot to make one: nothing else would tell why no key works.
constexpr const char* kNoVirtualKeys =
    "no virtual_keys are configured: every request under /v1 will be answered 401 until one is "
    "made with hotelctl keys";

std::string Text(const absl::Status& status) { return std::string(status.message()); }

class Sidecar {
 public:
  Sidecar(CommandLine line, settings::Config config)
      : line_(std::move(line)),
        config_(std::move(config)),
        log_(LogOptionsFrom(settings::ProcessEnv())),
        records_(&log_),
        events_(&log_),
        stores_(config_.server.data_dir, &log_),
        service_(config_.server.require_virtual_key) {
    api_context_.addresses = config_.server.addresses;
    api_context_.file.file = line_.config;
    for (const auto& provider : config_.providers) {
      api_context_.file.providers.insert(RoutingName(provider.name));
    }
    for (const auto& group : config_.groups) {
      api_context_.file.groups.insert(base::LowerCase(base::Trim(group.name)));
    }
  }

  int Run() {
    WatchStopSignals([this](int signal) {
      log_.Info(kScope, "stopped before the start was done", {{"signal", std::int64_t{signal}}});
      log_.Flush();
    });
    if (const auto status = Start(); !status.ok()) {
      EndOfStart();  // what the watch would call is about to go
      log_.Error(kScope, Text(status));
      if (front_ != nullptr) front_->Stop();
      return status.code() == absl::StatusCode::kInvalidArgument ? 2 : 1;
    }
    fmt::print("hoteld listening on http://{}\n", front_->address());
    std::fflush(stdout);
    Stop(WaitForStopSignal());
    return 0;
  }

 private:
  absl::Status Start();
  absl::Status OpenApi();
  absl::Status OpenStores();
  absl::Status OpenFrontDoor();
  absl::Status OpenHotel(Secret master_key);
  /// From here on requests are served.
  void Serve();
  void Stop(int signal);
  /// Tells load balancers to send nothing more, while what they still send is served.
  void LetGo();

  const TimePoint started_ = std::chrono::steady_clock::now();
  const CommandLine line_;
  const settings::Config config_;
  Log log_;
  RecordLogger records_;
  EventLogger events_;
  api::EventFeed feed_;
  Metrics metrics_;
  observe::FanOut event_out_{{&events_, &feed_, &metrics_}};
  const std::unique_ptr<Clock> clock_ = MakeSystemClock();
  std::atomic<Hotel*> ready_{nullptr};
  Stores stores_;
  Service service_;
  std::unique_ptr<observe::LogFanOut> log_out_;
  observe::RequestHealth health_{clock_.get()};
  api::Context api_context_;
  std::unique_ptr<api::Handler> api_;
  std::unique_ptr<LoopThread> loop_;  // carries clients and providers
  std::unique_ptr<Hotel> hotel_;
  std::size_t max_proxied_ = 0;   // of the front
  std::unique_ptr<Front> front_;  // calls the service and through it the hotel
};

absl::Status Sidecar::OpenApi() {
  auto token =
      api::LoadAdminToken(stores_.dir(), settings::ProcessEnv()("ADMIN_TOKEN").value_or(""));
  if (!token.ok()) return token.status();
  if (!token->created.empty()) {
    // Not through the log, which masks what looks like a secret; and never again.
    fmt::print(stderr,
               "admin token, shown this once (set ADMIN_TOKEN to use one of your own): {}\n",
               token->created.Reveal());
  }
  api_ = std::make_unique<api::Handler>(token->token, &feed_);
  service_.SetApi(api_.get());
  return absl::OkStatus();
}

absl::Status Sidecar::OpenStores() {
  const auto retention = [this]() -> std::optional<Duration> {
    Hotel* const hotel = ready_.load();
    if (hotel == nullptr) return std::nullopt;
    return hotel->settings().Current()->global.log.retention;
  };
  if (auto opened = stores_.Open(&event_out_, retention, clock_.get()); !opened.ok()) return opened;
  std::vector<RequestLog*> logs = {&metrics_, &health_};
  if (config_.server.store_requests) logs.push_back(&stores_.request_log());
  if (config_.server.log_requests) logs.push_back(&records_);
  log_out_ = std::make_unique<observe::LogFanOut>(logs);
  std::optional<api::AdminToken> scraper;
  if (const auto token = settings::ProcessEnv()("METRICS_TOKEN").value_or(""); !token.empty()) {
    scraper.emplace(token);
  }
  service_.SetMetrics(&metrics_, &stores_.request_log(), scraper);
  service_.SetReadiness(&stores_.readiness());
  service_.SetKeys(&stores_.keys());
  return absl::OkStatus();
}

absl::Status Sidecar::OpenFrontDoor() {
  auto loop = StartEventLoop();
  if (!loop.ok()) return loop.status();
  loop_ = std::move(*loop);
  const FrontOptions options = MakeFrontOptions(config_.server);
  max_proxied_ = options.max_proxied;
  auto front = OpenFront(options, dynamic_cast<net::EventLoop*>(loop_->loop()));
  if (!front.ok()) return absl::UnavailableError(Text(front.status()));
  front_ = std::move(*front);
  feed_.SetLoop(loop_->loop());
  front_->Serve(&service_);
  return absl::OkStatus();
}

absl::Status Sidecar::OpenHotel(Secret master_key) {
  Options options;
  options.config_file = line_.config;
  options.data_dir = stores_.dir();
  options.master_key = std::move(master_key);
  options.events = &event_out_;
  options.log = log_out_.get();
  options.gate = &stores_.keys().gate();
  options.loop = loop_->loop();
  options.discover_models = true;
  // The share of the descriptors that is not for clients.
  options.max_upstream_connections = max_proxied_;
  auto hotel = Hotel::Open(std::move(options));
  if (!hotel.ok()) return hotel.status();
  hotel_ = std::move(*hotel);
  return stores_.keys().ApplyFile(config_.virtual_keys, *hotel_->groups().Snapshot());
}

absl::Status Sidecar::Start() {
  if (auto locked = stores_.Lock(); !locked.ok()) return locked;
  auto master_key = stores_.ReadMasterKey();
  if (!master_key.ok()) return master_key.status();
  if (auto opened = OpenApi(); !opened.ok()) return opened;
  if (auto opened = OpenStores(); !opened.ok()) return opened;
  if (auto opened = OpenFrontDoor(); !opened.ok()) return opened;
  if (auto opened = OpenHotel(*std::move(master_key)); !opened.ok()) return opened;
  if (config_.server.require_virtual_key && stores_.keys().store().Snapshot()->keys().empty()) {
    log_.Warn(kScope, kNoVirtualKeys);
  }
  stores_.MarkBegun();
  EndOfStart();
  Serve();
  return absl::OkStatus();
}

void Sidecar::Serve() {
  ready_.store(hotel_.get());
  api_context_.hotel = hotel_.get();
  api_context_.log = &stores_.request_log();
  api_context_.keys = &stores_.keys().store();
  api_context_.key_gate = &stores_.keys().gate();
  api_context_.app_log = &log_.lines();
  api_context_.health = &health_;
  std::error_code none;
  api_context_.system = {front_->address(),
                         std::filesystem::absolute(stores_.dir(), none).lexically_normal().string(),
                         started_};
  api_->Open(&api_context_);
  service_.Open(hotel_.get());
  log_.Info(
      kScope,
      fmt::format("ready; on SIGTERM running answers get {} to finish (server.drain_timeout), "
                  "then they end with an error event",
                  settings::FormatDuration(config_.server.drain_timeout)),
      {{"version", Hotel::Version()},
       {"listen", front_->address()},
       {"data_dir", stores_.dir()},
       {"providers", static_cast<std::int64_t>(config_.providers.size())},
       {"groups", static_cast<std::int64_t>(config_.groups.size())}});
}

void Sidecar::LetGo() {
  front_->StopKeeping();
  log_.Info(kScope, fmt::format("connections are accepted for another {} (server.drain_delay)",
                                settings::FormatDuration(config_.server.drain_delay)));
  // Whoever is in a hurry sends a second signal, which ends the process.
  std::this_thread::sleep_for(config_.server.drain_delay);
}

void Sidecar::Stop(int signal) {
  const auto active = static_cast<std::int64_t>(hotel_->router().active_calls());
  log_.Info(kScope, "stopping", {{"signal", std::int64_t{signal}}, {"active", active}});
  service_.BeginStop();
  if (config_.server.drain_delay > Duration::zero()) LetGo();
  feed_.Close();  // who listens would hold up the stop
  front_->StopAccepting();
  if (!front_->WaitIdle(config_.server.drain_timeout)) {
    const auto left = static_cast<std::int64_t>(hotel_->router().active_calls());
    log_.Warn(kScope, "drain timeout passed; ending running answers", {{"active", left}});
    hotel_->router().EndAll();
    front_->WaitIdle(kFlushTime);
  }
  front_->Stop();
  service_.Close();
  hotel_->Close();
  stores_.Close();
  loop_->Stop();
  stores_.MarkEnded();
  log_.Info(kScope, "stopped");
}

}  // namespace

int RunSidecar(int argc, char** argv) {
  int exit_status = 0;
  auto line = ParseCommandLine(argc, argv, &exit_status);
  if (!line) return exit_status;
  auto config = ReadSettings(*line);
  if (!config) return 2;
  if (line->check) {
    // A start says it in its log.
    if (config->server.require_virtual_key && config->virtual_keys.empty()) {
      fmt::print(stderr, "{}:0: virtual_keys: {} (warning)\n", line->config, kNoVirtualKeys);
    }
    return 0;
  }
  // Before the first thread is started: all of them inherit it.
  BlockStopSignals();
  return Sidecar(std::move(*line), std::move(*config)).Run();
}

}  // namespace hotel::server
