// The `server:` block.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "libhotel/base/strings.h"
#include "libhotel/settings/sections.h"
#include "libhotel/settings/units.h"

namespace hotel::settings {
namespace {

constexpr Duration kMaxDrain = std::chrono::hours(24);
constexpr std::uint64_t kMinRequestSize = 1 << 10;
constexpr std::uint64_t kMaxRequestSize = 1 << 30;

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

void ReadDrainTimeout(Reader* reader, const Node& node, const std::string& path,
                      ServerConfig* server) {
  const auto text = reader->Scalar(node, path, "a duration such as 10s");
  if (!text) return;
  const std::optional<Duration> value = ParseDuration(text->value);
  if (!value || *value > kMaxDrain) {
    reader->Error(node.line, path,
                  fmt::format("{} is not a duration up to {}; write a number with a unit, such as "
                              "500ms, 30s or 5m",
                              Quoted(text->source), FormatDuration(kMaxDrain)));
    return;
  }
  server->drain_timeout = *value;
}

void ReadRequestSize(Reader* reader, const Node& node, const std::string& path,
                     ServerConfig* server) {
  const auto text = reader->Scalar(node, path, "a size such as 50MiB");
  if (!text) return;
  const std::optional<std::uint64_t> value = ParseByteSize(text->value);
  if (!value || *value < kMinRequestSize || *value > kMaxRequestSize) {
    reader->Error(node.line, path,
                  fmt::format("{} is not a size from 1KiB to 1GiB; write bytes, or a number with a "
                              "unit, such as 50MiB",
                              Quoted(text->source)));
    return;
  }
  server->max_request_size = static_cast<std::size_t>(*value);
}

bool IsHostEntry(std::string_view text) noexcept {
  if (text.find("://") != std::string_view::npos || text.find('/') != std::string_view::npos) {
    return false;
  }
  for (const char c : text) {
    if (base::IsAsciiSpace(c) || static_cast<unsigned char>(c) <= 0x20 || c == '@') return false;
  }
  return !text.empty();
}

void ReadHosts(Reader* reader, const Node& node, const std::string& path, ServerConfig* server) {
  if (node.kind == Node::Kind::kNull) return;
  const auto items = reader->Items(node, path, "[\"127.0.0.1:9000\", llm.internal]");
  if (!items) return;
  for (std::size_t i = 0; i < items->size(); ++i) {
    const Node& item = *(*items)[i];
    const auto text = reader->Scalar(item, Join(path, i), "a host or HOST:PORT");
    if (!text) continue;
    if (!IsHostEntry(text->value)) {
      reader->Error(item.line, Join(path, i),
                    fmt::format("{} is not a host; write a host, HOST:PORT or an address, without "
                                "a scheme or path",
                                Quoted(text->source)));
      continue;
    }
    server->addresses.allowed_hosts.push_back(text->value);
  }
}

}  // namespace

void ReadServer(Reader* reader, const Node& node, ServerConfig* server) {
  static const std::vector<std::string> kKnown = {"listen",
                                                  "data_dir",
                                                  "require_virtual_key",
                                                  "allow_http_providers",
                                                  "allowed_provider_hosts",
                                                  "drain_timeout",
                                                  "max_request_size"};
  int keyless_line = 0;
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
    } else if (member->key == "allowed_provider_hosts") {
      ReadHosts(reader, value, path, server);
    } else if (member->key == "drain_timeout") {
      ReadDrainTimeout(reader, value, path, server);
    } else if (member->key == "max_request_size") {
      ReadRequestSize(reader, value, path, server);
    } else {
      reader->UnknownKey(*member, "server", kKnown);
    }
  }
  if (!server->require_virtual_key && !IsLoopbackHost(server->listen_host)) {
    reader->Error(keyless_line, "server.require_virtual_key",
                  "false would open every provider to the network; listen on a loopback address "
                  "such as 127.0.0.1, or leave it true");
  }
}

}  // namespace hotel::settings
