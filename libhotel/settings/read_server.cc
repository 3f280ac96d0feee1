// The `server:` block.
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "libhotel/base/ip_network.h"
#include "libhotel/base/strings.h"
#include "libhotel/settings/sections.h"
#include "libhotel/settings/units.h"

namespace hotel::settings {
namespace {

// Bounds of the numeric options. What lies outside is a slip of the pen, not a wish.
struct TimeOption {
  std::string_view key;
  Duration ServerConfig::*field;
  Duration least;
  Duration most;
};
constexpr TimeOption kTimes[] = {
    {"drain_delay", &ServerConfig::drain_delay, Duration::zero(), std::chrono::hours(1)},
    {"drain_timeout", &ServerConfig::drain_timeout, Duration::zero(), std::chrono::hours(24)},
    {"head_timeout", &ServerConfig::head_timeout, std::chrono::milliseconds(100),
     std::chrono::hours(1)},
    {"body_timeout", &ServerConfig::body_timeout, std::chrono::milliseconds(100),
     std::chrono::hours(1)},
    {"client_write_timeout", &ServerConfig::client_write_timeout, std::chrono::milliseconds(100),
     std::chrono::hours(24)},
    {"keep_alive_timeout", &ServerConfig::keep_alive_timeout, std::chrono::milliseconds(100),
     std::chrono::hours(24)},
};
struct SizeOption {
  std::string_view key;
  std::size_t ServerConfig::*field;
  std::uint64_t least;
  std::uint64_t most;
};
constexpr SizeOption kSizes[] = {
    {"max_request_size", &ServerConfig::max_request_size, 1 << 10, 1 << 30},
    {"max_buffered_bytes", &ServerConfig::max_buffered_bytes, 1 << 20, std::uint64_t{1} << 40},
    {"max_head_size", &ServerConfig::max_head_size, 1 << 10, 1 << 20},
};
struct CountOption {
  std::string_view key;
  std::size_t ServerConfig::*field;
  std::uint64_t least;
  std::uint64_t most;
};
constexpr CountOption kCounts[] = {
    {"max_headers", &ServerConfig::max_headers, 10, 10000},
    {"max_connections", &ServerConfig::max_connections, 1, 1000000},
    {"event_loops", &ServerConfig::event_loops, 1, kMostEventLoops},
};

template <typename Row, std::size_t N>
const Row* FindRow(const Row (&rows)[N], std::string_view key) {
  for (const Row& row : rows) {
    if (row.key == key) return &row;
  }
  return nullptr;
}

std::string SizeText(std::uint64_t bytes) {
  if (bytes % (1 << 30) == 0) return fmt::format("{}GiB", bytes >> 30);
  if (bytes % (1 << 20) == 0) return fmt::format("{}MiB", bytes >> 20);
  return fmt::format("{}KiB", bytes >> 10);
}

void ReadListen(Reader* reader, const Node& node, const std::string& path, ServerConfig* server) {
  const auto text = reader->Scalar(node, path, "an address such as 127.0.0.1:8081");
  if (!text) return;
  std::optional<HostPort> listen = ParseListen(text->value);
  if (!listen) {
    reader->Error(node.line, path,
                  fmt::format("{} is not an address to listen on; write HOST:PORT, such as "
                              "127.0.0.1:8081, [::1]:8081 or :8081",
                              Quoted(text->source)));
    return;
  }
  server->listen_host = std::move(listen->host);
  server->listen_port = listen->port;
}

void ReadTime(Reader* reader, const Node& node, const std::string& path, const TimeOption& option,
              ServerConfig* server) {
  const auto text = reader->Scalar(node, path, "a duration such as 10s");
  if (!text) return;
  const std::optional<Duration> value = ParseDuration(text->value);
  if (!value || *value < option.least || *value > option.most) {
    const std::string range = option.least == Duration::zero()
                                  ? fmt::format("up to {}", FormatDuration(option.most))
                                  : fmt::format("from {} to {}", FormatDuration(option.least),
                                                FormatDuration(option.most));
    reader->Error(node.line, path,
                  fmt::format("{} is not a duration {}; write a number with a unit, such as 500ms, "
                              "30s or 5m",
                              Quoted(text->source), range));
    return;
  }
  server->*option.field = *value;
}

void ReadSize(Reader* reader, const Node& node, const std::string& path, const SizeOption& option,
              ServerConfig* server) {
  const auto text = reader->Scalar(node, path, "a size such as 50MiB");
  if (!text) return;
  const std::optional<std::uint64_t> value = ParseByteSize(text->value);
  if (!value || *value < option.least || *value > option.most) {
    reader->Error(node.line, path,
                  fmt::format("{} is not a size from {} to {}; write bytes, or a number with a "
                              "unit, such as 50MiB",
                              Quoted(text->source), SizeText(option.least), SizeText(option.most)));
    return;
  }
  server->*option.field = static_cast<std::size_t>(*value);
}

void ReadCount(Reader* reader, const Node& node, const std::string& path, const CountOption& option,
               ServerConfig* server) {
  const auto text = reader->Scalar(node, path, "a number");
  if (!text) return;
  std::uint64_t value = 0;
  const char* const end = text->value.data() + text->value.size();
  const auto parsed = std::from_chars(text->value.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < option.least ||
      value > option.most) {
    reader->Error(node.line, path,
                  fmt::format("{} is not a whole number from {} to {}", Quoted(text->source),
                              option.least, option.most));
    return;
  }
  server->*option.field = static_cast<std::size_t>(value);
}

bool IsHostEntry(std::string_view text) noexcept {
  if (base::StartsWith(text, "unix:/")) return IsCleanText(text);
  if (text.find("://") != std::string_view::npos || text.find('/') != std::string_view::npos) {
    return false;
  }
  for (const char c : text) {
    if (base::IsAsciiSpace(c) || static_cast<unsigned char>(c) <= 0x20 || c == '@') return false;
  }
  return !text.empty();
}

/// A list of texts: `take` gets each and says whether it is one of what is wanted. `example` and
/// `what` are for the messages, `problem` for what is said behind a text that is none.
template <typename Take>
void ReadTexts(Reader* reader, const Node& node, const std::string& path, std::string_view example,
               std::string_view what, std::string_view problem, Take&& take) {
  if (node.kind == Node::Kind::kNull) return;
  const auto items = reader->Items(node, path, example);
  if (!items) return;
  for (std::size_t i = 0; i < items->size(); ++i) {
    const Node& item = *(*items)[i];
    const auto text = reader->Scalar(item, Join(path, i), what);
    if (!text || take(text->value)) continue;
    reader->Error(item.line, Join(path, i), fmt::format("{} {}", Quoted(text->source), problem));
  }
}

void ReadHosts(Reader* reader, const Node& node, const std::string& path, ServerConfig* server) {
  ReadTexts(reader, node, path, "[\"127.0.0.1:9000\", llm.internal]", "a host or HOST:PORT",
            "is not a host; write a host, HOST:PORT or an address, without a scheme or path, or a "
            "socket as in unix:/run/model.sock",
            [server](const std::string& text) {
              if (!IsHostEntry(text)) return false;
              server->addresses.allowed_hosts.push_back(text);
              return true;
            });
}

constexpr std::string_view kNoNetwork =
    "is not an address or a network; write 10.0.0.7, 10.1.0.0/16 or fd00::/8";

bool AddProxy(std::string_view text, ServerConfig* server) {
  const auto network = base::IpNetwork::Parse(text);
  if (network) server->trusted_proxies.push_back(*network);
  return network.has_value();
}

void ReadProxies(Reader* reader, const Node& node, const std::string& path, ServerConfig* server) {
  ReadTexts(reader, node, path, "[10.0.0.7, 10.1.0.0/16]", "an address or a network", kNoNetwork,
            [server](const std::string& text) { return AddProxy(text, server); });
}

/// The environment wins over the file, as for the options.
void ReadProxiesOfEnvironment(Reader* reader, ServerConfig* server) {
  constexpr std::string_view kVariable = "TRUSTED_PROXIES";
  const auto text = reader->env()(kVariable);
  if (!text || base::Trim(*text).empty()) return;
  server->trusted_proxies.clear();
  for (const std::string_view item : base::Split(*text, ',')) {
    if (AddProxy(base::Trim(item), server)) continue;
    reader->EnvError(kVariable,
                     fmt::format("{} {}, separated by commas", Quoted(item), kNoNetwork));
  }
}

}  // namespace

void ReadServer(Reader* reader, const Node& node, ServerConfig* server) {
  static const std::vector<std::string> kKnown = [] {
    std::vector<std::string> known = {"listen",
                                      "data_dir",
                                      "require_virtual_key",
                                      "allow_http_providers",
                                      "allowed_provider_hosts",
                                      "trusted_proxies",
                                      "log_requests",
                                      "store_requests"};
    for (const auto& row : kTimes) known.emplace_back(row.key);
    for (const auto& row : kSizes) known.emplace_back(row.key);
    for (const auto& row : kCounts) known.emplace_back(row.key);
    return known;
  }();
  int keyless_line = 0;
  int buffer_line = 0;
  for (const Member* member : reader->Members(node, "server")) {
    const Node& value = *member->value;
    const std::string path = Join("server", member->key);
    if (member->key == "listen") {
      ReadListen(reader, value, path, server);
    } else if (member->key == "data_dir") {
      const auto dir = reader->NonEmpty(value, path, "a directory");
      if (dir) server->data_dir = *dir;
    } else if (member->key == "require_virtual_key") {
      server->require_virtual_key = reader->Bool(value, path).value_or(true);
      keyless_line = value.line;
    } else if (member->key == "allow_http_providers") {
      server->addresses.allow_http = reader->Bool(value, path).value_or(false);
    } else if (member->key == "log_requests") {
      server->log_requests = reader->Bool(value, path).value_or(true);
    } else if (member->key == "store_requests") {
      server->store_requests = reader->Bool(value, path).value_or(true);
    } else if (member->key == "allowed_provider_hosts") {
      ReadHosts(reader, value, path, server);
    } else if (member->key == "trusted_proxies") {
      ReadProxies(reader, value, path, server);
    } else if (const TimeOption* time = FindRow(kTimes, member->key)) {
      ReadTime(reader, value, path, *time, server);
    } else if (const SizeOption* size = FindRow(kSizes, member->key)) {
      ReadSize(reader, value, path, *size, server);
      if (size->field == &ServerConfig::max_buffered_bytes) buffer_line = value.line;
    } else if (const CountOption* count = FindRow(kCounts, member->key)) {
      ReadCount(reader, value, path, *count, server);
    } else {
      reader->UnknownKey(*member, "server", kKnown);
    }
  }
  ReadProxiesOfEnvironment(reader, server);
  if (server->max_buffered_bytes < server->max_request_size) {
    reader->Error(buffer_line, "server.max_buffered_bytes",
                  "is less than server.max_request_size: the largest requests would always be "
                  "refused");
  }
  if (!server->require_virtual_key && !IsLoopbackHost(server->listen_host)) {
    reader->Error(keyless_line, "server.require_virtual_key",
                  "false would open every provider to the network; listen on a loopback address "
                  "such as 127.0.0.1, or leave it true");
  }
}

}  // namespace hotel::settings
