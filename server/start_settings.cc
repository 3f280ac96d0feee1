#include "server/start_settings.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>

#include "hotel/provider_check.h"

#include "libhotel/base/strings.h"
#include "server/api/handler.h"

namespace hotel::server {
namespace {

bool IsLoopback(const std::string& host) {
  return host == "::1" || host == "localhost" || base::StartsWith(host, "127.");
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

}  // namespace

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

FrontOptions MakeFrontOptions(const settings::ServerConfig& server) {
  FrontOptions options;
  options.workers = api::kWorkers;
  options.host = server.listen_host;
  options.port = server.listen_port;
  options.max_body_bytes = server.max_request_size;
  options.max_buffered_bytes = server.max_buffered_bytes;
  options.head.max_bytes = server.max_head_size;
  options.head.max_fields = server.max_headers;
  options.trusted_proxies = server.trusted_proxies;
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

}  // namespace hotel::server
