#include "server/sidecar.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

#include "hotel/defaults.h"
#include "hotel/hotel.h"
#include "hotel/log_store.h"
#include "hotel/provider_check.h"

#include "absl/status/status.h"
#include "libhotel/base/strings.h"
#include "libhotel/net/event_loop.h"
#include "libhotel/observe/fan_out.h"
#include "libhotel/observe/request_health.h"
#include "libhotel/settings/config.h"
#include "libhotel/store/backup.h"
#include "server/api/admin_token.h"
#include "server/api/handler.h"
#include "server/command_line.h"
#include "server/data_dir.h"
#include "server/front.h"
#include "server/keys.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/readiness.h"
#include "server/service.h"
#include "server/signals.h"

namespace hotel::server {
namespace {

constexpr const char* kScope = "server";
/// How long clients may take to read the last bytes after their answers were ended.
constexpr Duration kFlushTime = std::chrono::seconds(5);
constexpr std::size_t kWeakMasterKey = 32;

/// For everybody who forgot to make one: nothing else would tell why no key works.
constexpr const char* kNoVirtualKeys =
    "no virtual_keys are configured: every request under /v1 will be answered 401 until one is "
    "made "
    "with hotelctl keys";
/// What is lost then is what LogStoreOptions say; nothing else waits in memory.
constexpr const char* kLastRunCut =
    "the last run did not come to its end: nothing that was acknowledged is lost, but rows of the "
    "request log from its last second may be";

std::string Text(const absl::Status& status) { return std::string(status.message()); }

bool IsLoopback(const std::string& host) {
  return host == "::1" || host == "localhost" || base::StartsWith(host, "127.");
}

/// Reads the file and applies the command line. Problems are printed, one line each.
std::optional<settings::Config> ReadSettings(const CommandLine& line) {
  const auto env = settings::ProcessEnv();
  auto read = line.config.empty() ? settings::ReadConfig("", "<defaults>", env)
                                  : settings::ReadConfigFile(line.config, env, &CheckProvider);
  for (const auto& warning : read.warnings) {
    fmt::print(stderr, "{} (warning)\n", warning.ToString());
  }
  auto& server = read.config.server;
  for (const auto& error : read.errors) fmt::print(stderr, "{}\n", error.ToString());
  bool good = read.errors.empty();
  if (!line.data_dir.empty()) server.data_dir = line.data_dir;
  if (!line.listen.empty()) {
    const auto listen = settings::ParseListen(line.listen);
    if (listen) {
      server.listen_host = listen->host;
      server.listen_port = listen->port;
    } else {
      fmt::print(stderr, "--listen: \"{}\" is not HOST:PORT\n", line.listen);
      good = false;
    }
  }
  if (good && !server.require_virtual_key && !IsLoopback(server.listen_host)) {
    fmt::print(stderr,
               "--listen: {} is not a loopback address, so server.require_virtual_key must not be "
               "false\n",
               server.listen_host);
    good = false;
  }
  if (!good) return std::nullopt;
  return std::move(read.config);
}

/// Descriptors this process may have open, after asking for as many as the system allows.
std::size_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur, 1 << 20));
}

FrontOptions MakeFrontOptions(const settings::ServerConfig& server) {
  FrontOptions options;
  options.workers = api::kWorkers;
  options.host = server.listen_host;
  options.port = server.listen_port;
  options.max_body_bytes = server.max_request_size;
  options.max_buffered_bytes = server.max_buffered_bytes;
  options.head.max_bytes = server.max_head_size;
  options.head.max_fields = server.max_headers;
  options.head_timeout = server.head_timeout;
  options.body_stall_timeout = server.body_timeout;
  options.body_timeout = 10 * server.body_timeout;
  options.write_stall_timeout = server.client_write_timeout;
  options.keep_alive_timeout = server.keep_alive_timeout;
  options.max_connections = server.max_connections;
  // Clients must never use up what their requests need upstream: of the descriptors, a third is for
  // providers and the rest for clients, so that a connection is left for a health check.
  const std::size_t descriptors = RaiseDescriptorLimit();
  const std::size_t share = (std::max<std::size_t>(descriptors, 224) - 128) / 3;
  options.max_proxied = std::min(options.max_connections, share);
  options.max_connections = std::min(options.max_connections, 2 * share - share / 4);
  options.max_turned_away = std::min(options.max_turned_away, share / 4);
  return options;
}

class Sidecar {
 public:
  Sidecar(CommandLine line, settings::Config config)
      : line_(std::move(line)),
        config_(std::move(config)),
        log_(LogOptionsFrom(settings::ProcessEnv())),
        records_(&log_),
        events_(&log_),
        service_(config_.server.require_virtual_key) {
    api_context_.addresses = config_.server.addresses;
    api_context_.file.file = line_.config;
    for (const auto& provider : config_.providers) {
      api_context_.file.providers.insert(RoutingName(provider.name));
    }
    for (const auto& group : config_.groups) {
      api_context_.file.groups.insert(base::Lower(base::Trim(group.name)));
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
  absl::StatusOr<Secret> ReadMasterKey();
  absl::Status OpenApi();
  absl::Status OpenRequestLog();
  void Stop(int signal);

  const CommandLine line_;
  const settings::Config config_;
  Log log_;
  RecordLogger records_;
  EventLogger events_;
  api::EventFeed feed_;
  Metrics metrics_;
  observe::FanOut event_out_{{&events_, &feed_, &metrics_}};
  Service service_;
  Fd lock_;
  const std::unique_ptr<Clock> clock_ = MakeSystemClock();
  std::atomic<Hotel*> ready_{nullptr};
  std::unique_ptr<LogStore> log_store_;
  std::unique_ptr<Keys> keys_;
  std::unique_ptr<observe::LogFanOut> log_out_;
  observe::RequestHealth health_{clock_.get()};
  std::unique_ptr<Readiness> readiness_;
  api::Context api_context_;
  std::unique_ptr<api::Handler> api_;
  std::unique_ptr<LoopThread> loop_;  // carries clients and providers
  std::unique_ptr<Hotel> hotel_;
  std::unique_ptr<Front> front_;  // calls the service and through it the hotel
};

absl::StatusOr<Secret> Sidecar::ReadMasterKey() {
  auto from_env = settings::ProcessEnv()("MASTER_KEY").value_or("");
  if (!from_env.empty() && from_env.size() < kWeakMasterKey) {
    log_.Warn(kScope, fmt::format("MASTER_KEY is shorter than {} characters", kWeakMasterKey));
  }
  auto master = LoadMasterKey(config_.server.data_dir, std::move(from_env));
  if (!master.ok()) return master.status();
  if (!master->file.empty()) {
    log_.Warn(kScope,
              fmt::format("MASTER_KEY is not set: provider keys are sealed with the {} {}; keep it "
                          "with your backups or set MASTER_KEY",
                          master->created ? "new key in" : "key in", master->file));
  }
  return std::move(master->key);
}

absl::Status Sidecar::OpenApi() {
  auto token = api::LoadAdminToken(config_.server.data_dir,
                                   settings::ProcessEnv()("ADMIN_TOKEN").value_or(""));
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

absl::Status Sidecar::OpenRequestLog() {
  LogStoreOptions options;
  options.path = config_.server.data_dir + "/hotel.db";
  options.events = &event_out_;
  options.retention = [this]() -> std::optional<Duration> {
    Hotel* const hotel = ready_.load();
    if (hotel == nullptr) return std::nullopt;
    return hotel->settings().Current()->global.log.retention;
  };
  auto opened = OpenLogStore(std::move(options), clock_.get());
  if (!opened.ok()) return opened.status();
  log_store_ = std::move(*opened);
  readiness_ = std::make_unique<Readiness>(
      [file = config_.server.data_dir + "/hotel.db"] {
        return store::ProbeDatabase(file, Readiness::kLimit);
      },
      [this](const absl::Status& status) {
        status.ok() ? log_.Info(kScope, "the database can be read again")
                    : log_.Warn(kScope, "the database cannot be read", {{"reason", Text(status)}});
      },
      log_store_.get());
  service_.SetReadiness(readiness_.get());
  std::vector<RequestLog*> logs = {&metrics_, &health_};
  if (config_.server.store_requests) logs.push_back(log_store_.get());
  if (config_.server.log_requests) logs.push_back(&records_);
  log_out_ = std::make_unique<observe::LogFanOut>(logs);
  std::optional<api::AdminToken> scraper;
  if (const auto token = settings::ProcessEnv()("METRICS_TOKEN").value_or(""); !token.empty()) {
    scraper.emplace(token);
  }
  service_.SetMetrics(&metrics_, log_store_.get(), scraper);
  return absl::OkStatus();
}

absl::Status Sidecar::Start() {
  const auto& server = config_.server;
  auto lock = LockDataDir(server.data_dir);
  if (!lock.ok()) return lock.status();
  lock_ = std::move(*lock);
  if (HasRunMark(lock_)) log_.Warn(kScope, kLastRunCut);
  auto master_key = ReadMasterKey();
  if (!master_key.ok()) return master_key.status();
  if (auto opened = OpenApi(); !opened.ok()) return opened;
  if (auto opened = OpenRequestLog(); !opened.ok()) return opened;
  auto keys = Keys::Open(server.data_dir + "/hotel.db", clock_.get());
  if (!keys.ok()) return keys.status();
  keys_ = *std::move(keys);
  service_.SetKeys(keys_.get());

  auto loop = StartEventLoop();
  if (!loop.ok()) return loop.status();
  loop_ = std::move(*loop);
  const FrontOptions front_options = MakeFrontOptions(server);
  auto front = OpenFront(front_options, dynamic_cast<net::EventLoop*>(loop_->loop()));
  if (!front.ok()) return absl::UnavailableError(Text(front.status()));
  front_ = std::move(*front);
  feed_.SetLoop(loop_->loop());
  front_->Serve(&service_);

  Options options;
  options.config_file = line_.config;
  options.data_dir = server.data_dir;
  options.master_key = std::move(*master_key);
  options.events = &event_out_;
  options.log = log_out_.get();
  options.gate = &keys_->gate();
  options.loop = loop_->loop();
  options.discover_models = true;
  // The share of the descriptors that is not for clients.
  options.max_upstream_connections = front_options.max_proxied;
  auto hotel = Hotel::Open(std::move(options));
  if (!hotel.ok()) return hotel.status();
  hotel_ = std::move(*hotel);
  if (auto applied = keys_->ApplyFile(config_.virtual_keys, *hotel_->groups().Snapshot());
      !applied.ok()) {
    return applied;
  }
  if (server.require_virtual_key && keys_->store().Snapshot()->keys().empty()) {
    log_.Warn(kScope, kNoVirtualKeys);
  }
  SetRunMark(lock_);
  EndOfStart();
  ready_.store(hotel_.get());
  api_context_.hotel = hotel_.get();
  api_context_.log = log_store_.get();
  api_context_.keys = &keys_->store();
  api_context_.key_gate = &keys_->gate();
  api_context_.app_log = &log_.lines();
  api_context_.health = &health_;
  api_->Open(&api_context_);
  service_.Open(hotel_.get());
  log_.Info(
      kScope,
      fmt::format("ready; on SIGTERM running answers get {} to finish (server.drain_timeout), "
                  "then they end with an error event",
                  settings::FormatDuration(server.drain_timeout)),
      {{"version", Hotel::Version()},
       {"listen", front_->address()},
       {"data_dir", server.data_dir},
       {"providers", static_cast<std::int64_t>(config_.providers.size())},
       {"groups", static_cast<std::int64_t>(config_.groups.size())}});
  return absl::OkStatus();
}

void Sidecar::Stop(int signal) {
  const auto active = static_cast<std::int64_t>(hotel_->router().active_calls());
  log_.Info(kScope, "stopping", {{"signal", std::int64_t{signal}}, {"active", active}});
  service_.BeginStop();
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
  keys_->gate().Close();
  log_store_->Close();
  loop_->Stop();
  ClearRunMark(lock_);
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
