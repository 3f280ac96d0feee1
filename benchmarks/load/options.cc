#include "benchmarks/load/options.h"

#include <cstring>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <netdb.h>

namespace hotel::load {
namespace {

/// http://HOST:PORT/PATH with a numeric host.
bool ReadUrl(std::string_view url, Options* options, std::string* host, std::string* path) {
  static constexpr std::string_view kScheme = "http://";
  if (url.substr(0, kScheme.size()) != kScheme) return false;
  url.remove_prefix(kScheme.size());
  const std::size_t slash = url.find('/');
  const std::string_view authority = url.substr(0, slash);
  const std::size_t colon = authority.rfind(':');
  if (slash == std::string_view::npos || colon == std::string_view::npos) return false;
  std::string name(authority.substr(0, colon));
  if (name.size() > 2 && name.front() == '[') name = name.substr(1, name.size() - 2);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port(authority.substr(colon + 1));
  if (getaddrinfo(name.c_str(), port.c_str(), &hints, &found) != 0) return false;
  std::memcpy(&options->address, found->ai_addr, found->ai_addrlen);
  options->address_size = found->ai_addrlen;
  freeaddrinfo(found);
  *host = authority;
  *path = url.substr(slash);
  return true;
}

}  // namespace

std::optional<Options> ParseOptions(int argc, char** argv, int* exit_status) {
  Options options;
  std::string url;
  std::string body = R"({"model":"ok","messages":[{"role":"user","content":"Hello"}]})";
  std::vector<std::string> headers;
  int frames = -1;
  CLI::App app(
      "Closed-loop load for chat endpoints: every connection asks again as soon as it has "
      "its answer. Prints one JSON object.",
      "hotel-load");
  app.get_formatter()->column_width(30);
  app.add_option("--url", url, "http://HOST:PORT/PATH, numeric host")->required();
  app.add_option("-c,--connections", options.connections, "connections (1)")
      ->check(CLI::Range(1, 100000));
  auto* requests = app.add_option("-n,--requests", options.requests, "requests in all")
                       ->check(CLI::PositiveNumber);
  auto* seconds = app.add_option("-t,--seconds", options.seconds, "start requests for this long")
                      ->check(CLI::PositiveNumber);
  app.add_option("--body", body, "the request's JSON");
  app.add_option("-H,--header", headers, "'Name: value', repeatable");
  app.add_option("--stream", frames, "answers are streams of this many frames with text and [DONE]")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--ramp", options.ramp_ms, "open the connections over this many ms")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--timeout", options.timeout, "seconds an answer may take (60)")
      ->check(CLI::PositiveNumber);
  app.add_option("--idle", options.idle,
                 "instead of load: hold this many answered connections open for -t seconds")
      ->check(CLI::Range(1, 100000))
      ->needs(seconds);
  app.add_option("--pid", options.pids, "measure this process, repeatable");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    *exit_status = app.exit(error) == 0 ? 0 : 2;
    return std::nullopt;
  }
  *exit_status = 2;
  if ((requests->count() == 0) == (seconds->count() == 0)) {
    fmt::print(stderr, "hotel-load: give one of -n and -t\n");
    return std::nullopt;
  }
  std::string host;
  std::string path;
  if (!ReadUrl(url, &options, &host, &path)) {
    fmt::print(stderr, "hotel-load: --url {}: expected http://HOST:PORT/PATH\n", url);
    return std::nullopt;
  }
  if (frames >= 0) options.frames = frames;
  std::string extra;
  for (const std::string& header : headers) extra += header + "\r\n";
  options.request = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n{}Content-Length: {}"
      "\r\n\r\n{}",
      path, host, extra, body.size(), body);
  return options;
}

}  // namespace hotel::load
